import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { askPlainly, freePort, launch, newProject, type Server, startServer } from '../helpers/server/harness'
import { STATE } from '../helpers/server/local-state'
import { commandLine, descendants } from '../helpers/server/processes'

const hasCurl = spawnSync('curl', ['--version']).status === 0

/** Sends the demo's event as the printed line does. Returns the added points and the metric's new total. */
async function sendLesson({ ask }: Server): Promise<{ added: number; total: number }> {
  const event = { user: { id: 'demo-alan' }, value: 1 }
  return gained(JSON.stringify((await ask('POST', '/v1/metrics/demo-lessons/event', event)).body))
}

function gained(body: string): { added: number; total: number } {
  const { total, points } = JSON.parse(body)
  return { added: points['demo-xp'].added, total }
}

const health = async (url: string) => (await fetch(`${url}/health`)).status

// In order, because the last tests end both.
describe('two projects, started at the same time', { shuffle: false }, () => {
  // The first character is the byte order mark that editors of Windows write.
  const before = `\ufeffADMIN_API_KEY='adm_mine.Only$For-"tests"-of-npm-start'\n# mine\nexport DEMO="on" # see below`
  let plain: Server
  let custom: Server

  beforeAll(async () => {
    const [first, second] = await Promise.all([newProject(), newProject()])
    await writeFile(join(second, '.dev.vars'), before, { mode: 0o640 })
    const settings = join(second, 'wrangler.toml')
    await writeFile(settings, (await readFile(settings, 'utf8')).replace('# routes', 'routes'))
    const port = await freePort()
    ;[plain, custom] = await Promise.all([
      startServer({ folder: first, by: 'npm' }),
      startServer({
        folder: second,
        port,
        env: { DEMO: 'off', ADMIN_HOST: `localhost:${port}`, BODY_TIMEOUT: '1' },
      }),
    ])
  })

  test('the output of npm start fits a screen of 40 lines of 100 characters, and has no log line of its own requests', async () => {
    const answer = await fetch(`${plain.url}/health`)
    // Lines are in the order of the requests, so all lines before this one are about the start.
    const { index } = await plain.printed(new RegExp(`^\\{.*${answer.headers.get('x-request-id')}`, 'm'))
    const printed = plain.output().slice(0, index)
    expect(printed).not.toMatch(/^\{|"status":|warn/im)
    const lines = printed.split('\n').flatMap((line) => line.match(/.{1,100}/g) ?? [line])
    expect(lines.length).toBeLessThanOrEqual(40)
  })

  test('the base URLs and the key are printed', () => {
    for (const path of ['/v1', '/api', '/admin/v1']) expect(plain.output()).toContain(`${plain.url}${path}\n`)
    expect(plain.output()).toContain(plain.adminKey)
  })

  test('the first curl command in the output is one line that can be pasted', () => {
    const output = plain.output()
    expect(output.slice(output.indexOf('curl '))).toMatch(/^curl [^\n|#]+\n/)
    expect(output.at(output.indexOf('curl ') - 1)).toBe('\n')
    expect(plain.curl).toContain(`X-API-KEY: ${plain.adminKey}`)
  })

  test.skipIf(!hasCurl)('that line sends an event that gains points', () => {
    const answer = execFileSync('sh', ['-c', plain.curl], { encoding: 'utf8' })
    expect(gained(answer).added).toBeGreaterThan(0)
  })

  test('each request logs one line of JSON, and nothing else', async () => {
    const before = plain.output().length
    const id = (await fetch(`${plain.url}/health`)).headers.get('x-request-id')
    await plain.printed(new RegExp(`^\\{.*${id}.*/health.*\\}$`, 'm'))
    const lines = plain.output().slice(before).trim().split('\n')
    expect(lines.filter((line) => !line.startsWith('{"level":"info"'))).toEqual([])
    expect(lines.filter((line) => line.includes(String(id)))).toHaveLength(1)
  })

  test('a missing .dev.vars is created, readable only by its owner', async () => {
    const file = join(plain.folder, '.dev.vars')
    const lines = (await readFile(file, 'utf8')).split('\n')
    expect(lines).toEqual([
      `ADMIN_API_KEY=${plain.adminKey}`,
      expect.stringMatching(/^TOKEN_SECRET=[\w-]{43}$/),
      'TEST_CLOCK=on',
      'RATE_LIMITS=off',
      '',
    ])
    expect(plain.adminKey).toMatch(/^adm_[A-Za-z0-9]{12}\.[A-Za-z0-9_-]{22,}$/)
    if (process.platform !== 'win32') expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  test('an existing .dev.vars keeps its lines, and gets the missing ones', async () => {
    const lines = (await readFile(join(custom.folder, '.dev.vars'), 'utf8')).split('\n')
    expect(lines).toEqual([
      ...before.split('\n'),
      expect.stringMatching(/^TOKEN_SECRET=[\w-]{43}$/),
      'TEST_CLOCK=on',
      'RATE_LIMITS=off',
      '',
    ])
  })

  test('a quoted key reaches the Worker unchanged', async () => {
    expect(custom.adminKey).toBe('adm_mine.Only$For-"tests"-of-npm-start')
    expect((await custom.ask('GET', '/admin/v1/metrics')).status).toBe(200)
  })

  test('the key is on no command line', () => {
    const lines = descendants(plain.pid).map(commandLine).join('\n')
    expect(lines).toContain('workerd')
    expect(lines).not.toContain(plain.adminKey)
  })

  test.runIf(process.platform === 'linux')('[W4] a request of a webhook may take two seconds', () => {
    const workerd = descendants(plain.pid).find(({ command }) => command === 'workerd')
    const variables = readFileSync(`/proc/${workerd?.id}/environ`, 'latin1').split('\0')
    // A move of the test clock waits for it.
    expect(variables).toContain('WEBHOOK_TIMEOUT=2')
  })

  test('DEMO=off in the environment overrides .dev.vars: no demo, and no trace of the neighbour', async () => {
    expect(custom.curl).toContain('/admin/v1/metrics ')
    expect(custom.output()).not.toContain('demo-')
    const { body } = await custom.ask('GET', '/admin/v1/metrics')
    expect(JSON.stringify(body)).not.toContain('demo-')
  })

  test('a domain in wrangler.toml is only for the deployment: here the host is the host of the request', async () => {
    // The page of the admin host shows only the admin interface.
    const page = async (base: string) => (await fetch(`${base}/docs/start.js`)).text()
    expect(await page(custom.url)).not.toContain('"/v1/openapi.json"')
    expect(await page(`http://127.0.0.1:${custom.port}`)).toContain('"/v1/openapi.json"')
  })

  test('[G2] a body whose end does not arrive in time is 408', async () => {
    const headers = { 'X-API-KEY': custom.adminKey, 'Content-Length': 100 }
    const sent = request(`${custom.url}/admin/v1/metrics`, { method: 'POST', headers })
    sent.write('[{"key":')
    const [answer] = await once(sent, 'response')
    expect(answer.statusCode).toBe(408)
    sent.destroy()
  })

  test.each([
    ['without a key', 401, { 'x-api-key': '' }, 300_000],
    ['that is too large', 413, {}, 1_500_000],
    ['in chunks that is too large', 413, { 'transfer-encoding': 'chunked' }, 1_500_000],
  ])('[G2] a large body %s is %i, although nobody reads all of it', async (_, status, more, size) => {
    const headers = { 'x-api-key': plain.adminKey, ...more }
    const send = () => askPlainly(plain.url, 'POST', '/admin/v1/streaks/pauses', headers, ' '.repeat(size))
    const answers = await Promise.all(Array.from({ length: 20 }, send))
    expect(new Set(answers.map((one) => one.status))).toEqual(new Set([status]))
  })

  test('a second start in the same folder is refused, on any port: both would have their own rankings', async () => {
    const another = await launch({ folder: plain.folder })
    expect(await another.ended(), another.output()).toMatchObject({ code: 1, leftovers: [] })
    const data = join(plain.folder, STATE)
    expect(another.output()).toMatch(
      `Another server uses the data in ${data}. End it first, or set LAUREL_DATA to another folder.\n`,
    )
    expect(await health(plain.url)).toBe(200)
  })

  test('a call of the Worker that fails does not end the server', async () => {
    const call = request({
      socketPath: join(plain.folder, STATE, 'serve.sock'),
      path: '/network?origin=nowhere',
      method: 'POST',
    })
    const failed = once(call, 'response').catch((error) => error.code)
    call.end()
    expect(await failed).toBe('ECONNRESET')
    expect(await health(plain.url)).toBe(200)
  })

  test('no file is made that .gitignore does not name', async () => {
    const ignored = (await readFile(join(import.meta.dirname, '..', '..', '.gitignore'), 'utf8')).split('\n')
    const copied = await readdir(await newProject())
    const made = (await readdir(plain.folder)).filter((name) => !copied.includes(name))
    expect(made.filter((name) => !ignored.includes(name))).toEqual([])
  })

  test('SIGTERM ends everything', async () => {
    const ending = await custom.stop('SIGTERM')
    expect(ending).toMatchObject({ code: 0, leftovers: [] })
  })

  test('SIGINT, sent to npm, ends everything', async () => {
    const ending = await plain.stop('SIGINT')
    expect(ending).toMatchObject({ code: 0, leftovers: [] })
    expect(await readdir(join(plain.folder, STATE))).toEqual(['objects'])
  })

  test('data and the console are kept between starts; if workerd dies, the start ends with an error', async () => {
    const again = await startServer({ folder: plain.folder, port: plain.port })
    expect(again.adminKey).toBe(plain.adminKey)
    expect(again.output()).not.toContain('Building')
    const { added, total } = await sendLesson(again)
    expect(added).toBeGreaterThan(0)
    // The demo has one lesson of this user already.
    expect(total).toBe(hasCurl ? 3 : 2)

    const workerd = descendants(again.pid).find(({ command }) => command === 'workerd')
    expect(workerd).toBeDefined()
    const ended = again.ended()
    process.kill(workerd?.id ?? 0, 'SIGKILL')
    expect(await ended).toMatchObject({ code: 1, leftovers: [] })
    expect(again.output()).toContain('workerd has ended (SIGKILL)')
  })
})

test('an error names variables that the Worker would refuse, before anything starts and without their values', async () => {
  const env = {
    ADMIN_API_KEY: 'adm_other.a-key-of-thirty-one-c',
    WEBHOOK_ALLOW: 'nas.lan',
    BODY_TIMEOUT: '0.5',
    PORT: '70000',
    DATABASES: '101',
    APNS_KEY: '/etc/laurel/key.p8',
  }
  const folder = await newProject()
  const starting = await launch({ folder, env })
  expect(await starting.ended(), starting.output()).toMatchObject({ code: 1, leftovers: [] })
  expect(starting.output()).toContain('ADMIN_API_KEY must have at least 32 characters')
  expect(starting.output()).toContain('WEBHOOK_ALLOW must be host:port')
  expect(starting.output()).toContain('BODY_TIMEOUT must be a whole number from 1 to 300.')
  for (const name of ['PORT', 'DATABASES', 'APNS_KEY'])
    expect(starting.output()).toContain(`${name} must be `)
  expect(existsSync(join(folder, '.laurel'))).toBe(false)
  for (const value of Object.values(env)) expect(starting.output()).not.toContain(value)
})

test('a start whose output is closed ends, with all that it started', async () => {
  const starting = await startServer()
  const ended = starting.ended()
  starting.child.stdout?.destroy()
  await starting.ask('GET', '/admin/v1/metrics')
  expect(await ended).toMatchObject({ code: 0, leftovers: [] })
  expect(starting.output()).toContain('Laurel stops: its output was closed.')
})
