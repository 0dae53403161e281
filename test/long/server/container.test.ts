/**
 * The container: the stages of the Dockerfile, built by buildah. No registry of images is asked: the base is a Debian by
 * debootstrap, with the Node and the npm of this machine. It takes some minutes, and Debian's and npm's packages.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { nodeExecutable } from '../../../scripts/lib/tools.mjs'
import { ADMIN_KEY, freePort, newFolder, run, startCommand } from '../../helpers/server/harness'

const root = join(import.meta.dirname, '..', '..', '..')
const MINUTES = 1_200_000
const MOST_BYTES = 250_000_000
/** What only a build needs, or what would let somebody install more. */
const TOOLS =
  /^(npm|npx|corepack|yarn|apt|apt-get|dpkg|gcc|g\+\+|cc|c\+\+|cpp|make|as|ld|strip|perl|python\d?|curl|wget|git)$/

const lacks = ['buildah', 'debootstrap'].filter((name) => spawnSync(name, ['--version']).status !== 0)
const reasons = [
  ...lacks.map((name) => `${name} is not installed`),
  ...(process.getuid?.() === 0 ? [] : ['only root can run debootstrap']),
]

describe.skipIf(reasons.length > 0)(`the container (${reasons.join(', ') || 'by buildah'})`, () => {
  // On the disk: the folder for temporary files may be in memory.
  const folder = reasons.length > 0 ? '' : newFolder('laurel-container', '/var/tmp')
  /** Its images and containers are apart from those of this machine. */
  const command = (args: string[]) => [
    ...['buildah', '--root', join(folder, 'images'), '--runroot', join(folder, 'running')],
    ...args,
  ]
  const buildah = async (...args: string[]) => {
    const { code, said } = await run(root, command(args))
    expect(code, said).toBe(0)
    return said.trim()
  }
  let container: string
  let files: string
  /** What the image says of itself. */
  let config: { User: string; Entrypoint: string[]; Cmd: string[]; Healthcheck: { Test: string[] } }

  beforeAll(async () => {
    const base = join(folder, 'base')
    const options = ['--variant=minbase', '--include=binutils,ca-certificates']
    const { code, said } = await run(root, ['debootstrap', ...options, 'bookworm', base])
    expect(code, said).toBe(0)
    const local = join(base, 'usr', 'local')
    const modules = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim()
    cpSync(nodeExecutable(), join(local, 'bin', 'node'), { dereference: true })
    cpSync(join(modules, 'npm'), join(local, 'lib', 'node_modules', 'npm'), { recursive: true })
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin', 'npm'))
    const { NODE_EXTRA_CA_CERTS: certificates } = process.env
    if (certificates) cpSync(certificates, join(base, 'etc', 'more.crt'))
    const empty = await buildah('from', 'scratch')
    await buildah('add', '--quiet', empty, base, '/')
    if (certificates) await buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/more.crt', empty)
    await buildah('commit', '--quiet', empty, 'docker.io/library/node:22-bookworm-slim')
    await buildah('build', '--isolation=chroot', '--pull-never', '--format=docker', '--tag=laurel', '.')
    container = await buildah('from', '--pull-never', 'laurel')
    files = await buildah('mount', container)
    config = JSON.parse(await buildah('inspect', '--type=image', 'laurel')).Docker.config
  }, MINUTES)

  afterAll(async () => {
    await run(root, command(['umount', '--all']))
    await run(root, command(['rm', '--all']))
    await run(root, command(['rmi', '--all', '--force']))
  }, MINUTES)

  it('is small, and has no tool of the build', () => {
    const bytes = Number.parseInt(
      execFileSync('du', ['--bytes', '--summarize', files], { encoding: 'utf8' }),
      10,
    )
    expect(bytes).toBeGreaterThan(MOST_BYTES / 10)
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES)
    const names = readdirSync(files, { recursive: true, withFileTypes: true })
    expect(names.map(({ name }) => name)).toContain('workerd')
    expect(
      names.filter(({ name }) => TOOLS.test(name)).map(({ parentPath, name }) => join(parentPath, name)),
    ).toEqual([])
    const programs = ['bin', 'usr/bin', 'usr/local/bin'].flatMap((path) => readdirSync(join(files, path)))
    expect(programs).toEqual(['sh', 'env', 'node'])
  })

  it('serves as a user without rights, and its health check sees that', { timeout: MINUTES }, async () => {
    expect(config.User).toBe('1000:1000')
    const inside = (...words: string[]) =>
      command(['run', '--isolation=chroot', ...variables, container, '--', ...words])
    const port = await freePort()
    const set = { PORT: port, HOST: '127.0.0.1', ADMIN_API_KEY: ADMIN_KEY }
    const variables = Object.entries(set).flatMap(([name, value]) => ['--env', `${name}=${value}`])
    const [, ...check] = config.Healthcheck.Test
    expect((await run(root, inside(...check))).code).not.toBe(0)

    const server = startCommand(inside(...config.Entrypoint, ...config.Cmd), { cwd: root, env: process.env })
    onTestFinished(async () => void (await server.stop()))
    await server.printed(/Laurel serves/)
    const answer = await fetch(`http://127.0.0.1:${port}/health`)
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }])
    expect(await run(root, inside(...check))).toEqual({ code: 0, said: '' })
    expect((await run(root, inside('/usr/local/bin/node', '-p', 'process.getuid()'))).said).toBe('1000\n')
  })
})
