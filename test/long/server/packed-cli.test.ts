/** `@laurel/cli` as it is published, in an empty folder: no clone, no registry, and Node 20 if the machine has that. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { complaintsAbout, NODES, type PackedApp, packedApp } from '../../helpers/packed-app'
import { cloudflare } from '../../helpers/server/cloudflare'
import {
  environment,
  freePort,
  launch,
  newFolder,
  run,
  type Server,
  startServer,
} from '../../helpers/server/harness'

const root = join(import.meta.dirname, '..', '..', '..')
const manifestOf = (...path: string[]) => JSON.parse(readFileSync(join(...path, 'package.json'), 'utf8'))
const NODE = NODES[0]?.path ?? process.execPath

let app: PackedApp
/** The folder of the installed package. */
const installed = () => join(app.folder, 'node_modules', '@laurel', 'cli')
const laurel = () => join(installed(), 'bin', 'laurel.mjs')

beforeAll(async () => {
  app = await packedApp('cli')
})

/** A new, empty folder, in which a person calls `laurel`. */
const emptyFolder = () => newFolder('laurel-cli')

/** Calls a command until it ends. `script` is that of another package. */
const callOf = (script: string, folder: string, ...args: string[]) =>
  run(folder, [NODE, script, ...args], environment())
const call = (folder: string, ...args: string[]) => callOf(laurel(), folder, ...args)

/** How `start` or `serve` is called in a folder. */
const commandIn = (folder: string, port: number, by: 'start' | 'serve' = 'start', script = laurel()) => ({
  ...{ folder, port, by },
  command: [NODE, script, by],
})

/** Sends an event of a user. */
const sendEvent = ({ ask }: Server, key: string) =>
  ask('POST', '/v1/metrics/demo-lessons/event', { user: { id: 'ada' }, value: 1 }, { 'idempotency-key': key })

/** Opens the printed link to the console. */
async function signIn({ url, output }: Server) {
  const [, code] = /#code=(\S+)/.exec(output()) ?? []
  const answer = await fetch(`${url}/console/one-time-code`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: url },
    body: JSON.stringify({ code }),
  })
  return answer.status
}

describe('the package', () => {
  it('has what a user needs, in at most 6 MB, and no more', () => {
    const { unpackedSize, files } = app.contents['@laurel/cli'] ?? { unpackedSize: 0, files: [] }
    expect(unpackedSize).toBeGreaterThan(4_000_000)
    expect(unpackedSize).toBeLessThanOrEqual(6_000_000)
    const paths = files.map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'bin/laurel.mjs']))
    const known =
      /^(LICENSE|README\.md|package\.json|bin\/laurel\.mjs|dist\/serve\/.+|scripts\/(\w+|(lib|serve)\/[\w-]+)\.mjs|scripts\/tools\/(node|wrangler)\/package(-lock)?\.json)$/
    expect(paths.filter((path) => !known.test(path))).toEqual([])
    expect(paths.filter((path) => /\.(map|ts|toml)$|console\.mjs|start\.mjs/.test(path))).toEqual([])
  })

  it('says who made it, and needs what the project needs', () => {
    const [own, project] = [manifestOf(installed()), manifestOf(root)]
    expect(own).toMatchObject({
      version: manifestOf(root, 'clients', 'typescript').version,
      license: project.license,
      repository: { url: `git+${project.repository}.git`, directory: 'cli' },
      homepage: expect.stringContaining(project.repository),
      keywords: expect.arrayContaining(['gamification', 'cli']),
    })
    for (const [name, version] of Object.entries(own.dependencies))
      expect([name, version]).toEqual([name, project.dependencies[name]])
    expect(manifestOf(root, 'scripts', 'tools', 'wrangler').dependencies.wrangler).toBe(
      project.devDependencies.wrangler,
    )
    expect(readFileSync(join(installed(), 'README.md'), 'utf8')).toMatch(
      /^# .*\n\n.*\n\n<!--.*-->\n```sh\nnpx @laurel\/cli start\n/,
    )
  })

  it('passes publint without a finding', async () => {
    expect(await complaintsAbout(app, '@laurel/cli')).toBe('')
  })

  it('says what it can do, and what is not a command', async () => {
    const folder = emptyFolder()
    const { version } = manifestOf(installed())
    expect(await call(folder, '--version')).toEqual({ code: 0, said: `${version}\n` })
    const help = await call(folder, '--help')
    expect(help.code).toBe(0)
    const commands = [...help.said.matchAll(/^ {2}(\w+) /gm)].map(([, name = '']) => name)
    expect(commands).toEqual(
      expect.arrayContaining(['start', 'serve', 'deploy', 'undeploy', 'backup', 'restore']),
    )
    for (const name of commands.filter((one) => one !== 'wrangler'))
      expect(await call(folder, name, '--help')).toMatchObject({
        code: 0,
        said: expect.stringContaining(`npx @laurel/cli ${name}`),
      })
    expect(await call(folder, 'strat')).toEqual({
      code: 1,
      said: `There is no command strat.\n\n${help.said}`,
    })
    expect(existsSync(join(folder, '.laurel'))).toBe(false)
  })
})

describe('laurel start', () => {
  it('goes from an empty folder to the first event, a backup, another folder and the next version', async () => {
    const [folder, other] = [emptyFolder(), emptyFolder()]
    const port = await freePort()
    const first = await startServer(commandIn(folder, port))
    expect(first.output()).toMatch(
      /^Laurel serves \S+ with the data in \S+\.laurel\/data\.\n\nLaurel is ready\.\n[^{]*\/console#code=[^{]*\n\ncurl -sS .*demo-lessons/,
    )
    expect(readFileSync(join(folder, '.laurel', '.gitignore'), 'utf8')).toBe('*\n')
    expect(await sendEvent(first, 'one')).toMatchObject({
      status: 201,
      body: {
        total: 1,
        currentStreak: { length: 1, extended: true },
        points: { 'demo-xp': { total: 10, added: 10 } },
      },
    })
    const page = await fetch(`http://127.0.0.1:${port}/console`)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>')])
    expect(await signIn(first)).toBe(200)
    expect(await signIn(first)).not.toBe(200)
    const second = await launch(commandIn(other, port))
    expect((await second.ended()).code).toBe(1)
    expect(second.output()).toBe(
      `Port ${port} is in use. Choose another one: PORT=${port + 1} npx @laurel/cli start\n`,
    )

    const file = join(other, 'copy.backup')
    expect(await call(folder, 'backup', file)).toEqual({ code: 0, said: `The backup is in ${file}.\n` })
    expect(await first.stop('SIGINT')).toEqual({ code: 0, leftovers: [] })
    expect(first.output()).toMatch(/\nLaurel stops: SIGINT\.\n$/)
    rmSync(join(other, '.laurel'), { recursive: true, force: true })
    expect(await call(other, 'restore', 'copy.backup')).toMatchObject({ code: 0 })

    // The next version of the package, which is installed elsewhere.
    const next = join(app.folder, 'node_modules', '@laurel', 'next')
    cpSync(installed(), next, { recursive: true })
    writeFileSync(join(next, 'package.json'), JSON.stringify({ ...manifestOf(next), version: '99.0.0' }))
    for (const [place, total] of [
      [folder, 2],
      [other, 2],
    ] as const) {
      const again = await startServer(commandIn(place, port, 'start', join(next, 'bin', 'laurel.mjs')))
      expect(await sendEvent(again, 'two'), again.output()).toMatchObject({
        status: 201,
        body: { total },
      })
      expect(await sendEvent(again, 'one')).toMatchObject({ status: 202 })
      expect(await again.stop()).toEqual({ code: 0, leftovers: [] })
    }
  }, 120_000)

  it('says in one sentence that it cannot write to the folder', async () => {
    const folder = emptyFolder()
    writeFileSync(join(folder, '.laurel'), '')
    expect(await call(folder, 'start')).toEqual({
      code: 1,
      said: expect.stringMatching(/^Can't mkdir .*\.laurel: .*\n$/),
    })
  })

  it('does not serve with a part that npm has left out, and says so', async () => {
    const folder = emptyFolder()
    const alone = join(folder, 'node_modules', '@laurel', 'cli')
    mkdirSync(alone, { recursive: true })
    cpSync(installed(), alone, { recursive: true })
    expect(await callOf(join(alone, 'bin', 'laurel.mjs'), folder, 'serve')).toEqual({
      code: 1,
      said: 'workerd is not installed. Install @laurel/cli again, with its optional dependencies.\n',
    })
  })
})

describe('laurel serve', () => {
  it('serves without a demo and a test clock, with the key that it is given', async () => {
    const folder = emptyFolder()
    const server = await startServer(commandIn(folder, await freePort(), 'serve'))
    expect(await server.ask('GET', '/admin/v1/metrics')).toMatchObject({ status: 200, body: [] })
    expect((await server.ask('GET', '/admin/v1/test-clock')).status).toBe(404)
    expect(await call(folder, 'backup', 'laurel.backup')).toMatchObject({ code: 0 })
    expect(existsSync(join(folder, 'laurel.backup'))).toBe(true)
    expect((await server.stop()).code).toBe(0)
    expect(readFileSync(join(folder, '.laurel', '.gitignore'), 'utf8')).toBe('*\n')
  })
})

describe('laurel deploy', () => {
  const scene = cloudflare(laurel)

  it('says what it would make, and fetches nothing for that', async () => {
    const cache = emptyFolder()
    const { code, output } = await scene.run('deploy', ['--dry-run'], { XDG_CACHE_HOME: cache })
    expect(code, output).toBe(0)
    expect(output).toMatch(/D1 database +laurel +is made\n.*Nothing was changed/s)
    expect(output).not.toContain('npm fetches')
    expect((await scene.control()).databases).toEqual([])
  })

  it('makes all that an empty account lacks, deploys the next version, and deletes all of it', async () => {
    const { code, output } = await scene.deploy('--location', 'weur')
    expect(code, output).toBe(0)
    const wrangler = await scene.run('wrangler', ['--version'])
    expect(wrangler.output).toMatch(/^4\.\d+\.\d+$/m)
    const before = await scene.control()
    const { laurel: worker } = before.workers
    expect(before.databases).toMatchObject([{ name: 'laurel', place: 'weur' }])
    expect(Object.keys(worker?.secrets ?? {}).sort()).toEqual(['ADMIN_API_KEY', 'TOKEN_SECRET'])
    expect(worker?.crons).toEqual(['*/5 * * * *'])
    expect(worker?.assets).toEqual(expect.arrayContaining(['/console/page', '/admin.json']))
    expect(output).toContain(
      `  Admin key  ${worker?.secrets.ADMIN_API_KEY}  (it is shown only now: keep it)\n`,
    )
    expect(output).toContain('npx @laurel/cli deploy --domain laurel.example.com')
    expect(output).not.toMatch(/npm run|wrangler\.toml/)
    expect(readFileSync(scene.file('.laurel', '.gitignore'), 'utf8')).toBe('*\n')

    const again = await scene.deploy()
    expect(again.code, again.output).toBe(0)
    expect((await scene.control()).databases).toEqual(before.databases)
    expect(again.output).toContain('(also in .laurel/deployments.log)')

    const gone = await scene.run('undeploy', ['--confirm', 'laurel'])
    expect(gone.code, gone.output).toBe(0)
    expect(await scene.control()).toMatchObject({ databases: [], namespaces: [], queues: [], workers: {} })
  })
})
