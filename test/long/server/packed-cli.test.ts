/** `@laurel/cli` as it is published, in an empty folder: no clone, no registry, and Node 20 if the machine has that. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { complaintsAbout, NODES, type PackedApp, packedApp } from '../../helpers/packed-app'
import { cloudflare } from '../../helpers/server/cloudflare'
import { ADMIN_KEY, freePort } from '../../helpers/server/harness'

const root = join(import.meta.dirname, '..', '..', '..')
const manifestOf = (...path: string[]) => JSON.parse(readFileSync(join(...path, 'package.json'), 'utf8'))
const NODE = NODES[0]?.path ?? process.execPath

let app: PackedApp
/** The folder of the installed package. */
const installed = () => join(app.folder, 'node_modules', '@laurel', 'cli')
const laurel = () => join(installed(), 'bin', 'laurel.mjs')

beforeAll(async () => {
  app = await packedApp('cli')
  return () => app.remove()
})

/** A new, empty folder, in which a person calls `laurel`. */
function emptyFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The environment of a person's terminal. */
const environment = (env: Record<string, string> = {}) => ({
  PATH: process.env.PATH,
  HOME: tmpdir(),
  ...env,
})

/** Calls a command until it ends. */
const call = (folder: string, ...args: string[]) =>
  new Promise<{ code: number; output: string }>((resolve) => {
    const options = { cwd: folder, env: environment() }
    execFile(NODE, [laurel(), ...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` }),
    )
  })

/** Calls `start` or `serve`, and waits until it serves or ends. `script` is that of another version. */
async function start(folder: string, port: number, script = laurel(), command = 'start') {
  const env = environment({ PORT: `${port}`, ...(command === 'serve' && { ADMIN_API_KEY: ADMIN_KEY }) })
  const child = spawn(NODE, [script, command], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  const ended = once(child, 'close').then(([code]) => Number(code))
  await new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        output += part
        if (command === 'start' ? /\ncurl .*\n\n$/.test(output) : output.includes('Laurel serves ')) resolve()
      })
    void ended.then(() => resolve())
  })
  const end = (signal: 'SIGINT' | 'SIGTERM' = 'SIGINT') => {
    child.kill(signal)
    return ended
  }
  return { output: () => output, ended, end }
}

/** Sends an event of a user with the admin key that `start` has printed. */
async function sendEvent(port: number, printed: string, idempotencyKey: string) {
  const [, key = ''] = /Admin key +(\S+)/.exec(printed) ?? []
  const answer = await fetch(`http://127.0.0.1:${port}/v1/metrics/demo-lessons/event`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ user: { id: 'ada' }, value: 1 }),
  })
  return { status: answer.status, body: await answer.json() }
}

/** Opens the printed link to the console. */
async function signIn(port: number, printed: string) {
  const [, code] = /#code=(\S+)/.exec(printed) ?? []
  const answer = await fetch(`http://localhost:${port}/console/one-time-code`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: `http://localhost:${port}` },
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
    expect(await call(folder, '--version')).toEqual({ code: 0, output: `${version}\n` })
    const help = await call(folder, '--help')
    expect(help.code).toBe(0)
    const commands = [...help.output.matchAll(/^ {2}(\w+) /gm)].map(([, name = '']) => name)
    expect(commands).toEqual(
      expect.arrayContaining(['start', 'serve', 'deploy', 'undeploy', 'backup', 'restore']),
    )
    for (const name of commands.filter((one) => one !== 'wrangler'))
      expect(await call(folder, name, '--help')).toMatchObject({
        code: 0,
        output: expect.stringContaining(`npx @laurel/cli ${name}`),
      })
    expect(await call(folder, 'strat')).toEqual({
      code: 1,
      output: `There is no command strat.\n\n${help.output}`,
    })
    expect(existsSync(join(folder, '.laurel'))).toBe(false)
  })
})

describe('laurel start', () => {
  it('goes from an empty folder to the first event, a backup, another folder and the next version', async () => {
    const [folder, other] = [emptyFolder(), emptyFolder()]
    const port = await freePort()
    const first = await start(folder, port)
    expect(first.output()).toMatch(
      /^Laurel serves \S+ with the data in \S+\.laurel\/data\.\n\nLaurel is ready\.\n[^{]*\/console#code=[^{]*\n\ncurl -sS .*demo-lessons/,
    )
    expect(readFileSync(join(folder, '.laurel', '.gitignore'), 'utf8')).toBe('*\n')
    expect(await sendEvent(port, first.output(), 'one')).toMatchObject({
      status: 201,
      body: {
        total: 1,
        currentStreak: { length: 1, extended: true },
        points: { 'demo-xp': { total: 10, added: 10 } },
      },
    })
    const page = await fetch(`http://127.0.0.1:${port}/console`)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>')])
    expect(await signIn(port, first.output())).toBe(200)
    expect(await signIn(port, first.output())).not.toBe(200)

    const second = await start(folder, await freePort())
    expect([await second.ended, second.output()]).toEqual([
      1,
      expect.stringMatching(/^Another server uses the data in .*\n$/),
    ])
    const sameport = await start(other, port)
    expect([await sameport.ended, sameport.output()]).toEqual([
      1,
      `Port ${port} is in use. Choose another one: PORT=${port + 1} npx @laurel/cli start\n`,
    ])

    const file = join(other, 'copy.backup')
    expect(await call(folder, 'backup', file)).toEqual({ code: 0, output: `The backup is in ${file}.\n` })
    expect(await first.end()).toBe(0)
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
      const again = await start(place, port, join(next, 'bin', 'laurel.mjs'))
      expect(await sendEvent(port, again.output(), 'two'), again.output()).toMatchObject({
        status: 201,
        body: { total },
      })
      expect(await sendEvent(port, again.output(), 'one')).toMatchObject({ status: 202 })
      expect(await again.end('SIGTERM')).toBe(0)
    }
  }, 120_000)

  it('says in one sentence that it cannot write to the folder', async () => {
    const folder = emptyFolder()
    writeFileSync(join(folder, '.laurel'), '')
    const { code, output } = await call(folder, 'start')
    expect([code, output]).toEqual([1, expect.stringMatching(/^Can't mkdir .*\.laurel: .*\n$/)])
  })

  it('does not serve with a part that npm has left out, and says so', async () => {
    const folder = emptyFolder()
    const alone = join(folder, 'node_modules', '@laurel', 'cli')
    mkdirSync(alone, { recursive: true })
    cpSync(installed(), alone, { recursive: true })
    const { code, output } = await new Promise<{ code: number; output: string }>((resolve) =>
      execFile(
        NODE,
        [join(alone, 'bin', 'laurel.mjs'), 'serve'],
        { cwd: folder, env: environment() },
        (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}` }),
      ),
    )
    expect(code).toBe(1)
    expect(output).toBe(
      'workerd is not installed. Install @laurel/cli again, with its optional dependencies.\n',
    )
  })
})

describe('laurel serve', () => {
  it('serves without a demo and a test clock, with the key that it is given', async () => {
    const [folder, port] = [emptyFolder(), await freePort()]
    const server = await start(folder, port, laurel(), 'serve')
    const ask = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'x-api-key': ADMIN_KEY } })
      return { status: answer.status, body: await answer.json() }
    }
    expect(await ask('/admin/v1/metrics')).toMatchObject({ status: 200, body: [] })
    expect((await ask('/admin/v1/test-clock')).status).not.toBe(200)
    expect(await call(folder, 'backup', 'laurel.backup')).toMatchObject({ code: 0 })
    expect(existsSync(join(folder, 'laurel.backup'))).toBe(true)
    expect(await server.end('SIGTERM')).toBe(0)
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
