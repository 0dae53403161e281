/** The examples as somebody copies them: with the client as it is published, beside a running server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { delimiter, dirname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { nodeExecutable } from '../../../scripts/lib/tools.mjs'
import { type Example, installedExample, type Running } from '../../helpers/server/example'
import { freePort, type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'

let server: Server
beforeAll(async () => {
  server = await startServer({ clock: SERVER_START })
})
afterAll(() => server.stop())

/** Sends a request to an example. Not by `fetch`, whose answers have to be those of Laurel in these tests. */
async function ask(port: number, method: string, path: string, headers = {}, body = '') {
  const call = request({ host: '127.0.0.1', port, path, method, headers })
  const [answer]: IncomingMessage[] = await once(call.end(body), 'response')
  if (answer === undefined) throw new Error('There is no answer.')
  return answer
}

describe('webhooks', () => {
  let app: Example
  let port: number
  let child: ChildProcess | undefined
  /** All that the receiver has printed. */
  let printed = ''

  beforeAll(async () => {
    app = await installedExample('webhooks')
    port = await freePort()
  })
  afterEach(async () => {
    child?.kill()
    if (child !== undefined) await once(child, 'exit')
    printed = ''
  })
  afterAll(() => app.remove())

  /** Starts the receiver, and waits until it is ready. */
  async function start(env: Record<string, string>) {
    const environment = { ...process.env, PORT: String(port), ...env }
    const started = spawn(process.execPath, ['server.js'], { cwd: app.folder, env: environment })
    child = started
    for (const stream of [started.stdout, started.stderr])
      stream.setEncoding('utf8').on('data', (part) => {
        printed += part
        started.emit('printed')
      })
    await until('Waiting for webhooks')
  }

  /** Waits until the receiver has printed a text so many times. */
  async function until(text: string, times = 1) {
    while (printed.split(text).length <= times && child !== undefined) await once(child, 'printed')
  }

  it('receives what an event changed, by a webhook that it makes itself', async () => {
    await start({ LAUREL_URL: server.url, LAUREL_ADMIN_KEY: server.adminKey })
    const user = { id: 'ada', name: 'Ada' }
    await server.ask('POST', '/v1/metrics/demo-lessons/event', { user, value: 1 })
    for (const type of ['points.changed', 'streak.started', 'achievement.completed'])
      await until(`${type} of Ada`)
  })

  it('does the work for an event once, however often it comes, and refuses what Laurel has not signed', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    // The process ended while it stored an event.
    appendFileSync(join(app.folder, 'received.jsonl'), '{"id":"half","event":{"ty')
    await start({ WEBHOOK_SECRET: secret })
    const body = JSON.stringify({ type: 'streak.lost', user: { id: 'bob', name: 'Bob' }, length: 2 })
    const send = async (id: string, signer: string) => {
      const now = new Date()
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': new Webhook(signer).sign(id, now, body),
      }
      const answer = await ask(port, 'POST', '/laurel', headers, body)
      return answer.resume().statusCode
    }
    expect(await send('one', secret)).toBe(204)
    expect(await send('one', secret)).toBe(204)
    expect(await send('two', `whsec_${Buffer.alloc(32, 8).toString('base64')}`)).toBe(401)
    expect(await send('three', secret)).toBe(204)
    // Those of the repeat would have come before.
    await until('streak.lost of Bob', 2)
    expect(printed.match(/streak\.lost|Refused/g)).toEqual(['streak.lost', 'Refused', 'streak.lost'])
  })
})

describe('worker', () => {
  let example: Example
  let worker: Running
  let port: number

  beforeAll(async () => {
    example = await installedExample('worker')
    port = await freePort()
    // Wrangler does not run on the oldest Node of the project.
    const PATH = [dirname(nodeExecutable()), process.env.PATH].join(delimiter)
    const offline = { WRANGLER_HIDE_BANNER: 'true', CLOUDFLARE_CF_FETCH_ENABLED: 'false' }
    const laurel = { LAUREL_URL: server.url, LAUREL_ADMIN_KEY: server.adminKey }
    const env = { ...offline, ...laurel, PATH, PORT: String(port) }
    worker = await example.start(['npm', 'start'], env, /Ready on/)
  })
  afterAll(async () => {
    await worker?.stop()
    await example?.remove()
  })

  it('has no errors of types', () => example.run('npm', 'run', 'types'))

  it('sends an event and reads a board by the service binding, and says what is wrong with a request', async () => {
    const told = async (method: string, path: string, headers = {}) => {
      const answer = await ask(port, method, path, headers)
      return [answer.statusCode, await json(answer)]
    }
    const user = { 'x-user': 'bea' }
    expect(await told('POST', '/lessons/moon', user)).toEqual([200, { xp: 10, streak: 1 }])
    expect(await told('POST', '/lessons/moon', user)).toEqual([200, { xp: 0, streak: 1 }])
    const place = { rank: expect.any(Number), user: 'bea', xp: 10 }
    expect(await told('GET', '/board')).toEqual([200, expect.arrayContaining([place])])
    for (const headers of [{}, { 'x-user': '' }, { 'x-user': 'a'.repeat(65) }])
      expect(await told('POST', '/lessons/moon', headers)).toEqual([
        401,
        { error: expect.stringContaining('X-User') },
      ])
    for (const path of ['/lessons/', `/lessons/${'a'.repeat(65)}`, '/lessons/%'])
      expect(await told('POST', path, user)).toEqual([404, { error: expect.stringContaining('/board') }])
    // The binding has led there: Laurel knows the user.
    expect((await server.ask('GET', '/v1/users/bea')).status).toBe(200)
  })
})
