/** `npm run deploy` in a project of its own, with a wrangler that only notes its calls and answers. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from './harness'

const root = join(import.meta.dirname, '..', '..')
const BOOKMARK = '00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683'
const BUILD = 'deploy --minify --dry-run --outdir dist'
const INFO = 'd1 time-travel info laurel --json'
const MIGRATE = 'd1 migrations apply laurel --remote'
const DEPLOY = 'deploy --minify'
const SECRETS = 'secret list --format json'
const PUT_SECRET = 'secret put TOKEN_SECRET'
/** The calls of a deployment that succeeds. */
const ALL = [BUILD, INFO, MIGRATE, DEPLOY, SECRETS]
const RESTORE = `npx wrangler d1 time-travel restore laurel --bookmark=${BOOKMARK}`

/**
 * Notes its arguments, fails if they are those of `fail`, and tells the bookmark and the secrets as wrangler
 * does.
 */
const CLI = `
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
const call = process.argv.slice(2).join(' ')
appendFileSync('calls', call + '\\n')
if (existsSync('fail') && readFileSync('fail', 'utf8') === call) {
  console.error('wrangler says no')
  process.exit(1)
}
const secret = existsSync('bare') ? 'ADMIN_API_KEY' : 'TOKEN_SECRET'
if (call === '${SECRETS}') console.log(JSON.stringify([{ name: secret }]))
if (call === '${PUT_SECRET}') appendFileSync('secret', readFileSync(0, 'utf8'))
if (call === '${INFO}') console.log(JSON.stringify({ bookmark: '${BOOKMARK}' }, null, 2))
`

let folder: string
let server: Server
let url: string
/** The answers of /health: the last one stays. */
let answers: [status: number, body: object][]
/** The calls of wrangler before each question for /health. */
let asked: string[][]

const file = (...path: string[]) => join(folder, ...path)
const calls = () => (existsSync(file('calls')) ? readFileSync(file('calls'), 'utf8').trim().split('\n') : [])
const OK: [number, object] = [200, { status: 'ok' }]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'laurel-deploy-'))
  for (const name of ['package.json', 'tsconfig.json', 'src', 'scripts'])
    cpSync(join(root, name), file(name), { recursive: true })
  mkdirSync(file('node_modules'))
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== 'wrangler') symlinkSync(join(root, 'node_modules', name), file('node_modules', name))
  mkdirSync(file('node_modules', 'wrangler', 'bin'), { recursive: true })
  const real = pathToFileURL(join(root, 'node_modules', 'wrangler', 'wrangler-dist', 'cli.js')).href
  const about = { name: 'wrangler', type: 'module', exports: './index.js' }
  writeFileSync(file('node_modules', 'wrangler', 'package.json'), JSON.stringify(about))
  writeFileSync(
    file('node_modules', 'wrangler', 'index.js'),
    `import wrangler from ${JSON.stringify(real)}\nexport const { unstable_readConfig } = wrangler\n`,
  )
  writeFileSync(file('node_modules', 'wrangler', 'bin', 'wrangler.js'), CLI)
  server = createServer((request, response) => {
    asked.push(calls())
    const [status, body] = (answers.length > 1 ? answers.shift() : answers[0]) ?? OK
    response.writeHead(request.url === '/health' ? status : 404).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(() => {
  answers = [OK]
  asked = []
  configure((text) => text)
})
afterEach(() => {
  for (const name of ['calls', 'fail', 'bare', 'secret', '.wrangler'])
    rmSync(file(name), { recursive: true, force: true })
})

/** Writes wrangler.toml with ids of resources, and changed. */
function configure(change: (text: string) => string): void {
  const text = readFileSync(join(root, 'wrangler.toml'), 'utf8').replaceAll(/(?<=id = ")0{8}/g, '12345678')
  writeFileSync(file('wrangler.toml'), change(text))
}

/** Runs the script. */
async function deploy(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: folder }
    const script = ['scripts/deploy.mjs', ...args]
    execFile(process.execPath, script, { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` })
    })
  })
}

describe('npm run deploy', () => {
  it('builds, notes the bookmark, migrates, deploys and asks /health, in this order', async () => {
    const { code, output } = await deploy('--url', url)
    expect([code, calls()], output).toEqual([0, ALL])
    expect(asked).toEqual(Array(3).fill(ALL))
    expect(output).toContain(BOOKMARK)
    expect(readFileSync(file('.wrangler', 'deployments.log'), 'utf8')).toMatch(
      new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\S+Z ${BOOKMARK}\\n$`),
    )
    expect(output).toContain('Laurel is deployed, and healthy.')
  })

  it.each([
    [BUILD, [BUILD], 'The build failed. Nothing was changed.', false],
    [INFO, [BUILD, INFO], 'bookmark could not be read. Nothing was changed.', false],
    [MIGRATE, [BUILD, INFO, MIGRATE], 'The migrations failed. The Worker was not deployed.', true],
    [DEPLOY, [BUILD, INFO, MIGRATE, DEPLOY], 'The deployment failed. The migrations are already', true],
  ])('stops if `wrangler %s` fails, and says what to do', async (step, done, reason, isChanged) => {
    writeFileSync(file('fail'), step)
    const { code, output } = await deploy('--url', url)
    expect([code, calls()], output).toEqual([1, done])
    expect(asked).toEqual([])
    expect(output).toContain('wrangler says no')
    expect(output).toContain(reason)
    expect(output.includes(RESTORE)).toBe(isChanged)
    expect(output).not.toContain('Laurel is deployed')
  })

  it('[K6] makes the secret of tokens if the Worker has none, on no command line', async () => {
    writeFileSync(file('bare'), '')
    const { code, output } = await deploy('--url', url)
    expect([code, calls()], output).toEqual([0, [...ALL, PUT_SECRET]])
    const secret = readFileSync(file('secret'), 'utf8')
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(output).not.toContain(secret)
  })

  it('[K6] makes no secret of tokens if wrangler.toml has one', async () => {
    writeFileSync(file('bare'), '')
    configure((text) => `vars = { TOKEN_SECRET = "${'x'.repeat(32)}" }\n${text}`)
    expect(await deploy('--url', url)).toMatchObject({ code: 0 })
    expect(calls()).toEqual([BUILD, INFO, MIGRATE, DEPLOY])
  })

  it.each([SECRETS, PUT_SECRET])(
    '[K6] says what is missing if `wrangler %s` fails, and goes on',
    async (step) => {
      writeFileSync(file('bare'), '')
      writeFileSync(file('fail'), step)
      const { code, output } = await deploy('--url', url)
      expect([code, asked.length], output).toEqual([0, 3])
      expect(output).toContain('The secret of user tokens could not be made')
      expect(output).toContain('Laurel is deployed, and healthy.')
    },
  )

  it('waits while /health is 503', async () => {
    answers = [[503, { error: 'The service is starting.' }], OK, [503, { error: 'old' }], OK]
    const { code, output } = await deploy('--url', url)
    expect([code, asked.length], output).toEqual([0, 6])
  })

  it('names the reason of a 503 and the way back', async () => {
    answers = [[503, { error: 'Missing bindings: OUTBOX.' }]]
    const { code, output } = await deploy('--url', url, '--wait', '1')
    expect([code, calls()], output).toEqual([1, ALL])
    expect(asked).not.toEqual([])
    expect(output).toContain('503 {"error":"Missing bindings: OUTBOX."}')
    expect(output).toContain('npx wrangler rollback')
    expect(output).toContain(RESTORE)
    expect(output).not.toContain('healthy.')
  })

  it('does not take the 200 of another site for health', async () => {
    answers = [[200, { parked: true }]]
    expect(await deploy('--url', url, '--wait', '0')).toMatchObject({
      code: 1,
      output: expect.stringContaining('200 {"parked":true}'),
    })
  })

  it('names the reason and the way back if nothing answers', async () => {
    const { code, output } = await deploy('--url', `http://127.0.0.1:${await freePort()}`, '--wait', '0')
    expect(code).toBe(1)
    expect(output).toMatch(/is not healthy after 0 seconds.*fetch failed: connect ECONNREFUSED/s)
    expect(output).toContain(RESTORE)
  })

  it('deploys without an address, says that /health was not asked, and adds the bookmark to the log', async () => {
    mkdirSync(file('.wrangler'))
    appendFileSync(file('.wrangler', 'deployments.log'), '2026-01-01T00:00:00.000Z earlier\n')
    const { code, output } = await deploy()
    expect([code, asked, calls()], output).toEqual([0, [], ALL])
    expect(output).toContain('/health was not asked')
    expect(readFileSync(file('.wrangler', 'deployments.log'), 'utf8')).toMatch(/ earlier\n.* 00000085-/)
  })

  it('calls nothing while wrangler.toml has placeholders', async () => {
    writeFileSync(file('wrangler.toml'), readFileSync(join(root, 'wrangler.toml')))
    const { code, output } = await deploy('--url', url)
    expect([code, calls()]).toEqual([1, []])
    expect(output).toMatch(/still has placeholder ids.*database_id/s)
  })

  it('calls nothing while wrangler.toml lacks something that the Worker needs, and names all of it', async () => {
    const parts: [lack: string, part: RegExp][] = [
      ['the binding DB', /\[\[d1_databases\]\][^[]*/],
      ['the binding KEYS', /\[\[kv_namespaces\]\][^[]*/],
      ['the binding ASSETS', /binding = "ASSETS"\n/],
      ['the binding ADMIN_LIMIT', /\[\[ratelimits\]\]\nname = "ADMIN_LIMIT"\n.*\n.*\n/],
      ['the binding TIMEKEEPER', /\[\[durable_objects\.bindings\]\]\nname = "TIMEKEEPER"\n.*\n/],
      ['the binding OUTBOX', /\[\[queues\.producers\]\]\nbinding = "OUTBOX"\n.*\n/],
      ['a [[queues.consumers]] for the queue laurel-repairs', /\[\[queues\.consumers\]\][^[]*/],
      ['the cron trigger: crons in [triggers]', /\[triggers\]\n.*\n/],
    ]
    configure((text) => {
      for (const [, part] of parts) expect(text).toMatch(part)
      return parts.reduce((rest, [, part]) => rest.replace(part, ''), text)
    })
    const { code, output } = await deploy('--url', url)
    expect([code, calls()], output).toEqual([1, []])
    expect(output).toContain(`wrangler.toml lacks:\n${parts.map(([lack]) => `  ${lack}\n`).join('')}Add`)
  })

  it.each([
    ['route = { pattern = "laurel.example.com", custom_domain = true }', 'https://laurel.example.com'],
    ['routes = ["*.example.com/*", "b.example.com/v1/*", "c.example.com/*"]', 'https://c.example.com'],
    [
      'routes = ["*.example.com/*"]\nvars = { PUBLIC_URL = "https://p.example.com/" }',
      'https://p.example.com',
    ],
  ])('a dry run only builds, and prints the rest, with the address of %s', async (routes, address) => {
    configure((text) => `${routes}\n${text}`)
    const { code, output } = await deploy('--dry-run')
    expect([code, calls(), asked], output).toEqual([0, [BUILD], []])
    const steps = [INFO, MIGRATE, DEPLOY, SECRETS, `${PUT_SECRET}, if it is not in that list`]
    const rest = [...steps.map((step) => `wrangler ${step}`), `GET ${address}/health`]
    expect(output).toContain(rest.map((line) => `  ${line}\n`).join(''))
    expect(existsSync(file('.wrangler', 'deployments.log'))).toBe(false)
  })

  it.each([
    [['--url', 'laurel.example.com'], 'begins with https://'],
    [['--wait', '2m'], '--wait must be a whole number of seconds'],
    [['--dryrun'], 'npm run deploy -- --dry-run'],
  ])('calls nothing with the options %j', async (options, reason) => {
    const { code, output } = await deploy(...options)
    expect([code, calls()]).toEqual([1, []])
    expect(output).toContain(reason)
  })
})
