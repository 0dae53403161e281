/** `npm run serve`: its data, its listeners, and its end. */
import { once } from 'node:events'
import { globSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accepts } from '../../helpers/listening'
import { Receiver } from '../../helpers/receiver'
import {
  ADMIN_KEY,
  type Ask,
  askPlainly,
  freePort,
  launch,
  newProject,
  run,
  type Server,
  type StartOptions,
  serveEnv,
  startServer,
} from '../../helpers/server/harness'
import { inFile } from '../../helpers/server/local-state'
import { commandLine, descendants } from '../../helpers/server/processes'
import { until } from '../../helpers/until'

let folder: string
let server: Server
const receiver = new Receiver()
let allowed: string

const start = (env: Record<string, string> = {}) =>
  startServer({ folder, by: 'serve', env: { DEMO: 'on', WEBHOOK_ALLOW: allowed, ...env } })

beforeAll(async () => {
  folder = await newProject()
  allowed = new URL(await receiver.start()).host
  server = await start()
})
afterAll(() => receiver.stop())

const send: Ask = (...request) => server.ask(...request)
const sendLesson = async (user: string) =>
  (await send('POST', '/v1/metrics/demo-lessons/event', { user: { id: user, tz: 'UTC' }, value: 1 })).body
    .total

/** All files below a folder. */
const filesIn = (path: string) =>
  readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )

test('[K6] the folder keeps the secret of tokens for its owner only; a variable wins over it', async () => {
  await send('PUT', '/v1/users/ada', {})
  const made = await send('POST', '/admin/v1/user-tokens', { userId: 'ada' })
  expect(made.status).toBe(201)
  const readBy = async (token: string) =>
    (await send('GET', '/v1/users/ada', undefined, { 'x-api-key': token })).status
  expect(await readBy(made.body.token)).toBe(200)
  const file = join(folder, 'data', 'token-secret')
  const secret = readFileSync(file, 'utf8').trim()
  expect(secret).toMatch(/^[\w-]{43}$/)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  await server.stop()
  server = await start({ TOKEN_SECRET: 'x'.repeat(32), TOKEN_SECRET_PREVIOUS: secret })
  expect(await readBy(made.body.token)).toBe(200)
  await server.stop()
  server = await start({ TOKEN_SECRET: 'x'.repeat(32) })
  expect(await readBy(made.body.token)).toBe(401)
  await server.stop()
  server = await start()
  expect(await readBy(made.body.token)).toBe(200)
  expect(readFileSync(file, 'utf8').trim()).toBe(secret)
})

test('[G12] the status has the size of the database', async () => {
  const { status, body } = await send('GET', '/admin/v1/status')
  expect([status, body.databases]).toEqual([200, [{ name: 'DB', bytes: expect.any(Number) }]])
})

test('the data is for its owner only, and the admin key is in no file and no command line', async () => {
  const data = join(folder, 'data')
  expect(statSync(data).mode & 0o777).toBe(0o700)
  const files = [...filesIn(data), ...filesIn(join(folder, 'dist'))]
  expect(files.length).toBeGreaterThan(10)
  expect(files.filter((file) => readFileSync(file, 'latin1').includes(ADMIN_KEY))).toEqual([])
  const open = filesIn(data).filter((file) => (statSync(file).mode & 0o077) !== 0)
  expect(open).toEqual([])
  const processes = descendants(server.pid)
  expect(processes.map(({ command }) => command)).toContain('workerd')
  expect(processes.map(commandLine).filter((line) => line.includes(ADMIN_KEY))).toEqual([])
  // Only the server and workerd have it in their environment, which other users can't read.
  if (process.platform !== 'linux') return
  const informed = processes.filter(({ id }) =>
    readFileSync(`/proc/${id}/environ`, 'latin1').includes(ADMIN_KEY),
  )
  expect(informed.filter(({ command }) => command !== 'workerd').map(({ id }) => id)).toEqual([server.pid])
})

test('it listens on loopback only, unless HOST says otherwise', async () => {
  const addresses = Object.values(networkInterfaces()).flat()
  const outer = addresses.find((one) => one !== undefined && !one.internal && one.family === 'IPv4')?.address
  expect(await accepts('127.0.0.1', server.port)).toBe(true)
  if (outer === undefined) return
  expect(await accepts(outer, server.port)).toBe(false)
  await server.stop()
  server = await start({ HOST: '0.0.0.0' })
  expect(await accepts(outer, server.port)).toBe(true)
})

test('a proxy for requests to others is not used, and the start says so', async () => {
  await server.stop()
  server = await start({ https_proxy: 'http://user:secret@127.0.0.1:9' })
  expect(server.output()).toContain(
    'HTTPS_PROXY is not used: webhooks, emails and push messages are sent directly.',
  )
  expect(server.output()).not.toContain('secret@')
})

/**
 * How many of 130 requests with unknown keys are let through; a window has 60, and they take part in two
 * windows at most.
 */
async function strangers(headers: (n: number) => Record<string, string>): Promise<number> {
  const statuses: number[] = []
  for (let n = 0; n < 130; n += 10) {
    const part = Array.from({ length: 10 }, (_, index) =>
      send('GET', '/v1/users/ada', undefined, {
        'x-api-key': 'nobody.knows-this-key',
        ...headers(n + index),
      }),
    )
    statuses.push(...(await Promise.all(part)).map(({ status }) => status))
  }
  expect(statuses.filter((status) => status !== 401 && status !== 429)).toEqual([])
  return statuses.filter((status) => status === 401).length
}

test('[G2] a body that breaks off, or whose chunks are malformed, is no fault in the log', async () => {
  const before = server.output().length
  const bodies = [
    ['Content-Length: 100', '{"user"'],
    ['Transfer-Encoding: chunked', '4\r\n{"us'],
    ['Transfer-Encoding: chunked', '4\r\n{"us\r\nzz\r\n'],
  ]
  // To the Worker itself too: on Cloudflare, no server of ours is in front of it.
  const places = [{ port: server.port, host: '127.0.0.1' }, { path: join(folder, 'data', 'public.sock') }]
  for (const place of places)
    for (const [length, part] of bodies)
      for (const leave of ['end', 'destroy'] as const) {
        const client = connect({ ...place, allowHalfOpen: true }).on('error', () => undefined)
        client.write(`POST /v1/metrics/demo-lessons/event HTTP/1.1\r\nHost: a\r\nX-API-KEY: ${ADMIN_KEY}\r\n`)
        client.write(`${length}\r\nExpect: 100-continue\r\n\r\n`)
        // The body is being read.
        expect(String((await once(client, 'data'))[0])).toMatch(/^HTTP\/1\.1 100 /)
        client.write(`${part}`, () => client[leave]())
        const answer = await text(client).catch(() => '')
        client.destroy()
        if (leave === 'end') expect(answer).toMatch(/^HTTP\/1\.1 400 (?:.+\r\n)+\r\n\{"error":/)
      }
  await send('GET', '/health')
  await until(async () => server.output().slice(before).includes('GET /health'))
  expect(server.output().slice(before)).not.toMatch(/"level":"(?:warn|error)"|"status":5/)
})

test('[G2] the header of a proxy is read if TRUST_PROXY names it: the last address in it', async () => {
  await server.stop()
  server = await start({ TRUST_PROXY: 'X-Forwarded-For' })
  const address = (n: number) => `198.51.100.${n}`
  expect(await strangers((n) => ({ 'x-forwarded-for': `192.0.2.1, ${address(n)}` }))).toBe(130)
  expect(await strangers((n) => ({ 'x-forwarded-for': `${address(n)}, 192.0.2.1` }))).toBeLessThanOrEqual(120)

  const linkFor = async (protocol: string) => {
    const headers = { 'x-forwarded-proto': protocol }
    return (await send('GET', '/admin/v1/users?limit=1', undefined, headers)).headers.get('link')
  }
  for (const protocol of ['https', 'http']) expect(await linkFor(protocol)).toMatch(`<${protocol}://`)
})

test('[W2] a webhook arrives by the queue, and a message whose last retry failed is logged and holds up no other', async () => {
  const hook = { url: `http://${allowed}/hooks/all`, events: ['points.changed'] }
  expect(await send('POST', '/admin/v1/webhooks', [hook])).toMatchObject({
    status: 201,
    body: { issues: [] },
  })
  await sendLesson('bea')
  const [seen] = await receiver.seen('all', 1)
  expect(seen?.body).toContain('"points.changed"')

  await server.stop()
  for (const file of globSync(join(folder, 'data/objects/laurel-MessageQueue/*[0-9]*.sqlite')))
    inFile(file, (database) => {
      // No version of Laurel has sent such a message, so each attempt fails. It has two attempts left.
      const message = "INSERT INTO messages (body, sent, due, attempts) SELECT '{}', 0, 0, 9"
      database.exec(`${message} FROM queue WHERE name = 'laurel-outbox'`)
    })
  const settings = join(folder, 'wrangler.toml')
  writeFileSync(settings, readFileSync(settings, 'utf8').replaceAll('retry_delay = 30', 'retry_delay = 0'))
  await rm(join(folder, 'dist'), { recursive: true })
  server = await start()
  await sendLesson('eve')
  await server.printed(/"deadLetter":"unknown"/)
  // Each new user of the demo gets experience and gems: two messages about bea came before.
  const bodies = await receiver.seen('all', 4)
  expect(bodies.at(-1)?.body).toContain('"eve"')
})

/** Gives a user 4,000 events with a long attribute, unless it has them. */
async function sendManyEvents(id: string): Promise<void> {
  const countOf = async () => {
    const { status, body } = await send('GET', `/admin/v1/users/${id}/export`)
    return status === 200 ? body.events.length : 0
  }
  if ((await countOf()) > 0) return
  await send('POST', '/admin/v1/attributes', [{ key: 'long-note', name: 'Long note', type: 'event' }])
  const event = { key: 'demo-lessons', user: { id }, value: 1, attributes: { 'long-note': 'x'.repeat(1000) } }
  for (let part = 0; part < 4; part += 1) {
    const { status } = await send('POST', '/admin/v1/metrics/events', Array(1000).fill(event))
    expect(status).toBe(202)
  }
  await until(async () => (await countOf()) === 4000)
}

/**
 * An event whose head the server has read, or, while its workerd is stopped, has only connected. `finish` sends the
 * body; `status` is that of the answer.
 */
async function slowEvent(until: 'read' | 'connected' = 'read') {
  const body = JSON.stringify({ user: { id: 'cyd' }, value: 1 })
  const call = request(`${server.url}/v1/metrics/demo-lessons/event`, {
    method: 'POST',
    headers: {
      ...{ 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      ...{ 'content-length': body.length, expect: '100-continue' },
    },
  })
  call.on('error', () => undefined)
  const status = once(call, 'response').then(([answer]) => answer.resume().statusCode)
  call.flushHeaders()
  if (until === 'read') await once(call, 'continue')
  else await once((await once(call, 'socket'))[0], 'connect')
  return { finish: () => call.end(body), status }
}

test('[G2] while it starts with an empty folder, requests are answered 503 with Retry-After', async () => {
  const starting = await launch({ folder, by: 'serve', env: { LAUREL_DATA: join(folder, 'fresh') } })
  const url = `http://127.0.0.1:${starting.port}`
  const answers: [number, string | null][] = []
  while (starting.child.exitCode === null && (answers.at(-1)?.[0] ?? 503) === 503) {
    const asked = askPlainly(url, 'GET', '/v1/users/nobody', { 'x-api-key': ADMIN_KEY })
    // It may not listen yet.
    const answer = await asked.catch(() => null)
    if (answer !== null) answers.push([answer.status, answer.headers.get('retry-after')])
  }
  expect(await starting.stop()).toEqual({ code: 0, leftovers: [] })
  expect(answers.pop()).toEqual([404, null])
  expect(answers).not.toEqual([])
  expect(answers.filter(([status, retryAfter]) => status !== 503 || retryAfter !== '5')).toEqual([])
})

test('whatever its end waits for, it takes less than five seconds', () => {
  const source = readFileSync(join(folder, 'scripts/serve.mjs'), 'utf8')
  const [, milliseconds] = /^const END_PATIENCE = (\d+)$/m.exec(source) ?? []
  expect(Number(milliseconds)).toBeLessThan(5000)
})

test('SIGTERM while a backup has stopped workerd: requests that wait are answered', async () => {
  const workerds = descendants(server.pid).filter(({ command }) => command === 'workerd')
  expect(workerds).not.toEqual([])
  for (const { id } of workerds) process.kill(id, 'SIGSTOP')
  const call = await slowEvent('connected')
  const ending = server.stop()
  call.finish()
  expect([201, 503]).toContain(await call.status)
  expect(await ending).toEqual({ code: 0, leftovers: [] })
  server = await start()
})

/** An export of a user with many events, of which the client reads the rest after `signal`. */
async function longExport(signal: () => void): Promise<{ isComplete: boolean; bytes: number }> {
  const call = request(`${server.url}/admin/v1/users/fay/export`, { headers: { 'x-api-key': ADMIN_KEY } })
  call.end()
  const [answer] = await once(call, 'response')
  signal()
  await sleep(1000)
  let text = ''
  try {
    for await (const part of answer.setEncoding('utf8')) text += part
  } catch {
    return { isComplete: false, bytes: text.length }
  }
  return { isComplete: JSON.parse(text).events.length === 4000, bytes: text.length }
}

test.each(['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGTERM'] as const)(
  '%s to all processes of a terminal: requests under way are answered, those that take too long with 503, and long answers end',
  async (signal) => {
    await server.stop()
    server = await startServer({
      folder,
      by: 'serve',
      ownGroup: true,
      inTerminal: true,
      env: { DEMO: 'on', WEBHOOK_ALLOW: allowed, RATE_LIMITS: 'off' },
    })
    await sendManyEvents('fay')
    const [call, endless] = [await slowEvent(), await slowEvent()]
    const ending = server.ended()
    const exported = await longExport(() => {
      process.kill(-server.pid, signal)
      call.finish()
    })
    expect(await Promise.all([call.status, endless.status])).toEqual([201, 503])
    expect(exported).toEqual({ isComplete: true, bytes: expect.any(Number) })
    // More than the buffers of a connection hold, so it was not sent at once.
    expect(exported.bytes).toBeGreaterThan(6_000_000)
    expect(await ending).toEqual({ code: 0, leftovers: [] })
    server = await start()
  },
)

test('SIGHUP without a terminal, SIGUSR1 and SIGUSR2 neither end it nor open the debugger', async () => {
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) server.child.kill(signal)
  await sendLesson('gus')
  expect((await send('GET', '/health')).status).toBe(200)
  expect(await accepts('127.0.0.1', 9229)).toBe(false)
})

/** Opens 2,000 connections that send a text and nothing more. Resolves once each is taken or closed. */
async function crowd(text: string) {
  const sockets = Array.from({ length: 2000 }, () => connect({ port: server.port, host: '127.0.0.1' }))
  for (const socket of sockets) socket.on('error', () => undefined).write(text)
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

test('with 1,024 descriptors and 2,000 connections that ask nothing, it serves, and says so once', async () => {
  await server.stop()
  server = await startServer({ folder, by: 'serve', descriptors: 1024, env: { DEMO: 'on' } })
  expect(server.output()).toContain('the server takes 180 connections at once')
  const body = 'POST /v1/metrics/demo-lessons/event HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{'
  for (const [nth, text] of ['', 'GET /health HTTP/1.1\r\n', body].entries()) {
    const leave = await crowd(text)
    if (text !== body) expect((await send('GET', '/health')).status).toBe(200)
    leave()
    await until(async () => await sendLesson('hal').catch(() => 0))
    expect(server.output().match(/All 180 connections are taken/g)).toHaveLength(nth + 1)
  }
  expect(await server.stop()).toEqual({ code: 0, leftovers: [] })
  const [, log = ''] = /^Laurel serves [^\n]*\n(.*)^Laurel stops/ms.exec(server.output()) ?? []
  expect(
    log
      .trim()
      .split('\n')
      .map((line) => typeof JSON.parse(line)),
  ).toContain('object')
  server = await start()
})

test('it ends, with the right code, even if it cannot remove its files', async () => {
  for (const [end, code] of [
    [() => server.child.kill('SIGTERM'), 0],
    [() => descendants(server.pid).map(({ id, command }) => command === 'workerd' && process.kill(id, 9)), 1],
  ] as const) {
    const ending = server.ended()
    // A folder in its place cannot be removed as a file.
    await rename(join(folder, 'data/control.sock'), join(folder, 'data/aside'))
    await mkdir(join(folder, 'data/control.sock/full'), { recursive: true })
    end()
    expect(await ending).toEqual({ code, leftovers: [] })
    expect(server.output()).toMatch(/could not be removed: .*control\.sock/)
    await rm(join(folder, 'data/control.sock'), { recursive: true })
    await rm(join(folder, 'data/aside'))
    expect(readdirSync(join(folder, 'data')).filter((name) => name.endsWith('.sock'))).toEqual([])
    server = await start()
  }
})

test.runIf(process.getuid?.() === 0)(
  'it ends, and does not start, if its files belong to another user',
  async () => {
    const data = join(folder, 'shared')
    await Promise.all([chmod(folder, 0o755), mkdir(data)])
    await chown(data, 65534, 65534)
    const asOther: StartOptions = { folder, by: 'serve', uid: 65534, env: { LAUREL_DATA: data } }
    const low = await launch({ ...asOther, port: 80 })
    expect((await low.ended()).code).toBe(1)
    expect(low.output()).toContain('port 80 (EACCES). Choose another one: PORT=8787 npm run serve\n')
    // Its socket is there before all of its files are open. By now, they are.
    const first = await startServer(asOther)
    for (const name of readdirSync(data)) await chown(join(data, name), 0, 0)
    await Promise.all([chown(data, 0, 0), chmod(data, 0o1777)])
    expect(await first.stop()).toEqual({ code: 0, leftovers: [] })
    expect(first.output()).toMatch(/not permitted/)
    const again = await launch(asOther)
    expect(await again.ended()).toEqual({ code: 1, leftovers: [] })
    expect(again.output()).toMatch(/^Can't /)
  },
)

test('[G1] a port is in use only at the addresses at which another process listens', async () => {
  const other = createServer().listen(await freePort(), '127.0.0.2')
  await once(other, 'listening')
  const { port } = Object(other.address())
  const env = { LAUREL_DATA: join(folder, 'ports') }
  const second = await startServer({ folder, by: 'serve', port, env })
  await second.stop()
  const third = await launch({ folder, by: 'serve', port, env: { ...env, HOST: '127.0.0.2' } })
  expect(await third.ended()).toEqual({ code: 1, leftovers: [] })
  expect(third.output()).toContain(`Port ${port} is in use. Choose another one: PORT=`)
  other.close()
})

const IS_ELSEWHERE = /^HOST must be an address of this machine: .*"(192\.0\.2\.7|a b)"/m
const IS_NO_FOLDER = /^Can't mkdir \/.*objects: /m
/** What is not what it should be, and what says so. */
const WRONG: [
  what: string,
  change: (data: string, built: string) => unknown,
  sentence: RegExp,
  env?: Record<string, string>,
][] = [
  [
    'the secret of tokens is short',
    (data) => writeFile(join(data, 'token-secret'), 'short'),
    /^The file \S+\/wrong\/token-secret can't be used: .*must have at least 32 characters/m,
  ],
  [
    'the secret of tokens is a folder',
    (data) => mkdir(join(data, 'token-secret')),
    /^The file \S+\/wrong\/token-secret can't be used: EISDIR/m,
  ],
  ['HOST is elsewhere', () => undefined, IS_ELSEWHERE, { HOST: '192.0.2.7' }],
  ['HOST is no host', () => undefined, IS_ELSEWHERE, { HOST: 'a b' }],
  [
    'the data is a file',
    (data) => rm(data, { recursive: true }).then(() => writeFile(data, '')),
    /^LAUREL_DATA can't/,
  ],
  ['the objects are a file', (data) => writeFile(join(data, 'objects'), ''), IS_NO_FOLDER],
  ['the objects are nowhere', (data) => symlink('nowhere', join(data, 'objects')), IS_NO_FOLDER],
  [
    'the lock is a folder',
    (data) => mkdir(join(data, 'serve.sock/full'), { recursive: true }),
    /serve\.sock/,
  ],
  ['nothing was built', (_, built) => rm(join(built, 'settings.json')), /^Nothing was built\. Run /],
  [
    'the build is damaged',
    (_, built) => writeFile(join(built, 'settings.json'), '{'),
    /can't be used: .*JSON/,
  ],
  [
    'the build is not whole',
    (_, built) => rm(join(built, 'variables.mjs')),
    /can't be used: .*variables\.mjs/,
  ],
]

test.each(WRONG)('if %s, it says so in a sentence, and does not start', async (_, change, sentence, more) => {
  const [data, built, kept] = [join(folder, 'wrong'), join(folder, 'dist/serve'), join(folder, 'kept')]
  await Promise.all([cp(built, kept, { recursive: true }), mkdir(data)])
  await change(data, built)
  const common = { ...serveEnv(folder, 'wrong'), ADMIN_API_KEY: ADMIN_KEY, PORT: String(await freePort()) }
  const env = { ...common, ...more }
  const { code, said } = await run(folder, [process.execPath, 'scripts/serve.mjs', '--built'], env)
  await Promise.all([data, built].map((path) => rm(path, { recursive: true, force: true })))
  await rename(kept, built)
  expect([code, said]).toEqual([1, expect.stringMatching(sentence)])
  expect(said).not.toMatch(/^ +at /m)
})

test.runIf(process.getuid?.() === 0)('what another user has built is not taken for nothing', async () => {
  expect((await run(folder, [process.execPath, 'scripts/serve.mjs', 'build'])).code).toBe(0)
  await Promise.all([chmod(folder, 0o755), chmod(join(folder, 'dist/serve/settings.json'), 0o600)])
  const wrong = await launch({ folder, by: 'serve', uid: 65534 })
  expect((await wrong.ended()).code).toBe(1)
  expect(wrong.output()).toMatch(/can't be used: EACCES.* as the user of the server\.\n$/)
})

test('workerd ends with a server that is killed after a signal to its group', async () => {
  await server.stop()
  server = await startServer({ folder, by: 'serve', ownGroup: true, env: { DEMO: 'on' } })
  const ending = server.ended()
  process.kill(-server.pid, 'SIGSTOP')
  process.kill(-server.pid, 'SIGINT')
  process.kill(server.pid, 'SIGKILL')
  expect((await ending).leftovers).toEqual([])
  server = await start()
})

test.runIf(process.platform === 'linux')(
  'all addresses up to 100,000 bytes above the stack of workerd can be read',
  () => {
    const workerd = descendants(server.pid).find(({ command }) => command === 'workerd')
    const readProc = (name: string) => readFileSync(`/proc/${workerd?.id}/${name}`, 'utf8')
    const [, end = ''] = /-([0-9a-f]+) .*\[stack\]/.exec(readProc('maps')) ?? []
    // The 28th field is where the stack begins. The second field is in parentheses.
    const begin =
      readProc('stat')
        .replace(/^.*\) /s, '')
        .split(' ')[25] ?? ''
    expect(BigInt(`0x${end}`) - BigInt(begin)).toBeGreaterThan(100_000n)
  },
)

test('npm run serve ends with npm', async () => {
  await server.stop()
  const npm = await launch({ folder, by: 'serve', command: ['npm', 'run', 'serve', '--', '--built'] })
  await until(() => accepts('127.0.0.1', npm.port))
  expect((await npm.stop()).leftovers).toEqual([])
  expect(await accepts('127.0.0.1', npm.port)).toBe(false)
  server = await start()
})
