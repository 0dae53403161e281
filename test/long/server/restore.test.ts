/**
 * A backup of `npm run serve` is restored. In between are changes of leaderboards, a webhook that waits, an erasure and
 * a deleted key.
 */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Receiver } from '../../helpers/receiver'
import { type Ask, newProject, runServe, type Server, startServer } from '../../helpers/server/harness'
import { inDatabase } from '../../helpers/server/local-state'
import { until } from '../../helpers/until'

type Place = { userId: string; value: number }

let server: Server
const call: Ask = (...request) => server.ask(...request)

async function sendEvent(user: string, value: number) {
  const { status } = await call('POST', '/v1/metrics/demo-lessons/event', { user: { id: user }, value })
  expect(status).toBe(201)
}

/** The ranking of all time, without the users of the demo. */
const readRanking = async (): Promise<[string, number][]> =>
  (await call('GET', '/v1/leaderboards/demo-all-time?limit=100')).body.rankings
    .filter(({ userId }: Place) => !userId.startsWith('demo-'))
    .map(({ userId, value }: Place) => [userId, value])

/** Makes a webhook, and events before and after the moment to which the database goes back. */
async function begin(url: string) {
  await call('POST', '/admin/v1/webhooks', [{ url, events: ['streak.started'] }])
  const created = await call('POST', '/admin/v1/application-api-keys', [{ userId: 'bob' }])
  const { id, key } = created.body.created[0]
  await sendEvent('ada', 20)
  await sendEvent('bob', 5)
  return { keyId: String(id), key: String(key) }
}

async function proceed(keyId: string) {
  await sendEvent('bob', 500)
  await sendEvent('cai', 9)
  expect((await call('DELETE', '/admin/v1/users/ada')).status).toBe(200)
  expect((await call('DELETE', `/admin/v1/application-api-keys?ids=${keyId}`)).status).toBe(200)
  expect(await readRanking()).toEqual([
    ['bob', 505],
    ['cai', 9],
  ])
}

test('[B3, M1, M2, M3] a backup of npm run serve with three databases is restored, with the deletions since then', async () => {
  const folder = await newProject()
  const receiver = new Receiver()
  onTestFinished(() => receiver.stop())
  const origin = await receiver.start()
  /** The receiver accepts deliveries if this is true. Otherwise it answers 500. */
  let works = false
  /** The user of each delivery that came. */
  const seen: string[] = []
  /** The user of each delivery that was accepted. */
  const accepted: string[] = []
  receiver.decide('all', ({ body }) => {
    const user = String(Object(JSON.parse(body)).user?.id)
    seen.push(user)
    if (works) accepted.push(user)
    return { status: works ? 204 : 500 }
  })
  const envOf = (data: string) => ({
    LAUREL_DATA: join(folder, data),
    WEBHOOK_ALLOW: new URL(origin).host,
    ...{ DEMO: 'on', RATE_LIMITS: 'off', DATABASES: '3' },
  })
  const start = async (data: string) => {
    server = await startServer({ folder, by: 'serve', env: envOf(data) })
  }
  const run = async (data: string, ...args: string[]) => (await runServe(folder, data, ...args)).said
  await start('data')
  const { keyId, key } = await begin(`${origin}/hooks/all`)
  await until(() => seen.includes('ada') && seen.includes('bob'))
  expect(await run('data', 'backup', 'first.backup')).toContain('The backup is in')
  await proceed(keyId)
  expect(await run('data', 'backup', 'second.backup')).toContain('The backup is in')
  expect(await run('restored', 'restore', 'first.backup', 'data')).toContain('End it first')
  await server.stop()
  expect(await run('restored', 'restore', 'first.backup', 'none')).toContain('There is no')
  expect(await run('restored', 'restore', 'first.backup', 'src')).toContain('is no folder with the data')

  works = true
  for (const [data, later] of [
    ['restored', 'data'],
    ['again', 'second.backup'],
  ] as const) {
    accepted.length = 0
    expect(await run(data, 'restore', 'first.backup', later)).toContain('The data is in')
    await start(data)
    expect((await call('GET', '/v1/users/ada')).status).toBe(404)
    expect((await call('GET', '/v1/users/bob', undefined, { 'x-api-key': key })).status).toBe(401)
    expect(await readRanking()).toEqual([['bob', 5]])
    await sendEvent('cai', 7)
    expect(await readRanking()).toEqual([
      ['cai', 7],
      ['bob', 5],
    ])
    await until(() => accepted.includes('bob') && accepted.includes('cai'))
    // In the second round, the message about the erased user is due when the server starts.
    expect(accepted).not.toContain('ada')
    expect(server.output()).not.toContain('"level":"error"')
    await server.stop()
    // A second start is no second restore.
    await start(data)
    expect(await readRanking()).toHaveLength(2)
    await server.stop()
    // All databases were told, with one epoch.
    const epochs = [1, 2, 3].flatMap((number) =>
      inDatabase(join(folder, data), number, 'SELECT epoch FROM restores WHERE epoch > 0'),
    )
    expect(epochs).toEqual(Array(3).fill(epochs[0]))
  }

  // Without a later list, the erased user is there again.
  expect(await run('alone', 'restore', 'first.backup')).toContain('The data is in')
  await start('alone')
  expect((await call('GET', '/v1/users/ada')).status).toBe(200)
})
