/** The examples as somebody copies them: with the client as it is published, beside a running server. */
import { appendFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { nodeExecutable } from '../../../scripts/lib/tools.mjs'
import { type Example, installedExample } from '../../helpers/server/example'
import { askPlainly, freePort, type Running, type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'

let server: Server
beforeAll(async () => {
  server = await startServer({ clock: SERVER_START })
})

describe('webhooks', () => {
  let app: Example
  let port: number
  let receiver: Running

  beforeAll(async () => {
    app = await installedExample('webhooks')
    port = await freePort()
  })
  afterEach(() => receiver.stop())

  /** Starts the receiver, and waits until it is ready. */
  async function start(env: Record<string, string>) {
    const command = [process.execPath, 'server.js']
    receiver = await app.start(command, { PORT: String(port), ...env }, /Waiting for webhooks/)
  }

  it('receives what an event changed, by a webhook that it makes itself', async () => {
    await start({ LAUREL_URL: server.url, LAUREL_ADMIN_KEY: server.adminKey })
    const user = { id: 'ada', name: 'Ada' }
    await server.ask('POST', '/v1/metrics/demo-lessons/event', { user, value: 1 })
    for (const type of ['points.changed', 'streak.started', 'achievement.completed'])
      await receiver.printed(new RegExp(`${type} of Ada`))
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
      return (await askPlainly(`http://127.0.0.1:${port}`, 'POST', '/laurel', headers, body)).status
    }
    expect(await send('one', secret)).toBe(204)
    expect(await send('one', secret)).toBe(204)
    expect(await send('two', `whsec_${Buffer.alloc(32, 8).toString('base64')}`)).toBe(401)
    expect(await send('three', secret)).toBe(204)
    // Those of the repeat would have come before.
    await receiver.printed(/streak\.lost of Bob.*streak\.lost of Bob/s)
    expect(receiver.output().match(/streak\.lost|Refused/g)).toEqual([
      'streak.lost',
      'Refused',
      'streak.lost',
    ])
  })
})

describe('worker', () => {
  let example: Example
  let port: number

  beforeAll(async () => {
    example = await installedExample('worker')
    port = await freePort()
    // Wrangler does not run on the oldest Node of the project.
    const PATH = [dirname(nodeExecutable()), process.env.PATH].join(delimiter)
    const offline = { WRANGLER_HIDE_BANNER: 'true', CLOUDFLARE_CF_FETCH_ENABLED: 'false' }
    const laurel = { LAUREL_URL: server.url, LAUREL_ADMIN_KEY: server.adminKey }
    const env = { ...offline, ...laurel, PATH, PORT: String(port) }
    await example.start(['npm', 'start'], env, /Ready on/)
  })

  it('has no errors of types', () => example.run('npm', 'run', 'types'))

  it('sends an event and reads a board by the service binding, and says what is wrong with a request', async () => {
    const told = async (method: string, path: string, headers = {}) => {
      const { status, body } = await askPlainly(`http://127.0.0.1:${port}`, method, path, headers)
      return [status, body]
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
