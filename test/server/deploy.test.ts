/** `npm run deploy` in a project of its own, with a wrangler that only notes its calls and answers. */
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BOOKMARK, bookmarkOf, databaseBlock, FakeProject, INFO, PUT_SECRET, SECRETS } from './fake-wrangler'
import { freePort } from './harness'

const root = join(import.meta.dirname, '..', '..')
const BUILD = 'deploy --minify --dry-run --outdir dist'
const MIGRATE = 'd1 migrations apply laurel --remote'
const DEPLOY = 'deploy --minify'
/** The calls of a deployment that succeeds. */
const ALL = [BUILD, INFO, MIGRATE, DEPLOY, SECRETS]
const RESTORE = `npx wrangler d1 time-travel restore laurel --bookmark=${BOOKMARK}`

let project: FakeProject
let server: Server
let url: string
/** The answers of /health: the last one stays. */
let answers: [status: number, body: object][]
/** The calls of wrangler before each question for /health. */
let asked: string[][]

const OK: [number, object] = [200, { status: 'ok' }]

beforeAll(async () => {
  project = new FakeProject()
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
  project.remove()
})

beforeEach(() => {
  answers = [OK]
  asked = []
  project.configure((text) => text)
})
afterEach(() => project.reset())

const file = (...path: string[]) => project.file(...path)
const calls = () => project.calls()
const configure = (change: (text: string) => string) => project.configure(change)
const deploy = (...args: string[]) => project.run('deploy', ...args)

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
    [INFO, [BUILD, INFO], 'bookmark of laurel could not be read. Nothing was changed.', false],
    [MIGRATE, [BUILD, INFO, MIGRATE], 'The migrations of laurel failed. The Worker was not deployed.', true],
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

  describe('with three databases', () => {
    const names = ['laurel', 'laurel-2', 'laurel-3']
    const migrate = (name: string) => `d1 migrations apply ${name} --remote`
    const infos = names.map((name) => `d1 time-travel info ${name} --json`)
    beforeEach(() =>
      configure((text) => `${text}\n${databaseBlock(3, 'laurel-3')}\n${databaseBlock(2, 'laurel-2')}`),
    )

    it('[B3] notes the bookmark of each, and migrates each before it deploys', async () => {
      const { code, output } = await deploy('--url', url)
      expect([code, calls()], output).toEqual([0, [BUILD, ...infos, ...names.map(migrate), DEPLOY, SECRETS]])
      expect(readFileSync(file('.wrangler', 'deployments.log'), 'utf8')).toMatch(
        new RegExp(
          `^\\S+Z ${BOOKMARK} laurel\\n\\S+Z ${bookmarkOf('laurel-2')} laurel-2\\n\\S+Z \\S+ laurel-3\\n$`,
        ),
      )
    })

    it('[B3] stops if one cannot be migrated, names it, and says how to bring all back', async () => {
      writeFileSync(file('fail'), migrate('laurel-2'))
      const { code, output } = await deploy('--url', url)
      expect([code, calls()], output).toEqual([1, [BUILD, ...infos, migrate('laurel'), migrate('laurel-2')]])
      expect(output).toContain('The migrations of laurel-2 failed. The Worker was not deployed.')
      expect(output).toContain('laurel-3 was not migrated.')
      expect(output).toContain(`${RESTORE}\n  npx wrangler d1 time-travel restore laurel-2 --bookmark=`)
    })

    it('[B3] calls nothing if one between them is missing', async () => {
      configure((text) => `${text}\n${databaseBlock(3, 'laurel-3')}`)
      const { code, output } = await deploy('--url', url)
      expect([code, calls()], output).toEqual([1, []])
      expect(output).toContain('the binding DB_2')
    })

    it('[B3] a dry run prints the calls for each', async () => {
      const { code, output } = await deploy('--dry-run')
      expect([code, calls()], output).toEqual([0, [BUILD]])
      const steps = [...infos, ...names.map(migrate), DEPLOY]
      expect(output).toContain(steps.map((step) => `  wrangler ${step}\n`).join(''))
    })
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
