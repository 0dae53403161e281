import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { present } from '../../helpers/time'
import {
  agrees,
  DAY,
  dateAt,
  events,
  forgetTime,
  HOUR,
  moveTo,
  NOON,
  ranking,
  type Setup,
  withBoard,
} from '../../helpers/worker/boards'
import { hand, log, message, withHook } from '../../helpers/worker/delivery-queues'
import { dueWork } from '../../helpers/worker/due-work'
import { cron } from '../../helpers/worker/handlers'
import { at, newTenant, rowsEverywhere, toApp, untilHeld } from '../../helpers/worker/harness'
import { Hook } from '../../helpers/worker/receiver'
import { backup, bringBack, restored } from '../../helpers/worker/restore'

afterEach(forgetTime)

const DAILY = { runUnit: 'day', runInterval: 1 }
/** The moment at which the run of the first day becomes final (L8). */
const FINAL = NOON - (NOON % DAY) + DAY + 12 * HOUR
const TODAY = dateAt(NOON)

/** A user's places at the ends of days: date and value. */
async function historyOf({ tenant }: Setup, user: string, query = ''): Promise<string[]> {
  const { body } = await tenant.app('GET', `/users/${user}/leaderboards/board?numEvents=100${query}`)
  const history = at(body, 'history')
  return Array.isArray(history)
    ? history.map((one) => `${String(at(one, 'timestamp')).slice(0, 10)}: ${at(one, 'value')}`)
    : [JSON.stringify(body)]
}

describe('[M1, M2] after a restore, a leaderboard', () => {
  beforeEach(() => moveTo(NOON))

  it('keeps runs that were final before, and makes later ones final again', async () => {
    const setup = await withBoard(DAILY)
    const { tenant } = setup
    await events(tenant, ['ada', 5], ['bob', 3])
    await moveTo(NOON + DAY)
    await events(tenant, ['ada', 1], ['bob', 2])
    await moveTo(FINAL + HOUR)
    const before = await backup()
    // A user who is erased leaves the final run without a change of the others' places.
    await tenant.admin('DELETE', '/users/ada')
    await events(tenant, ['bob', 50], ['cai', 9])
    await moveTo(FINAL + 2 * DAY)
    expect((await ranking(setup, { run: dateAt(NOON + DAY) })).map(({ value }) => value)).toEqual([52, 9])
    await bringBack(before)
    await restored()
    // Its place is still empty: the run was final.
    expect(await ranking(setup, { run: TODAY })).toEqual([{ userId: 'bob', rank: 2, value: 3 }])
    const [from, to] = [dateAt(NOON + DAY), dateAt(NOON + DAY)]
    expect(await agrees(setup, { from, to, query: { run: from } })).toEqual(['bob 2', 'ada 1'])
    await moveTo(FINAL + 2 * DAY + HOUR)
    expect(await agrees(setup, { from, to, query: { run: from } })).toEqual(['bob 2', 'ada 1'])
    await runInDurableObject(env.LEADERBOARD.getByName(setup.board), (_, { storage }) => {
      expect(storage.sql.exec('SELECT run FROM finals GROUP BY run').toArray()).toHaveLength(2)
    })
  })

  it('keeps the days of its history from before, and no later ones', async () => {
    const setup = await withBoard()
    const { tenant } = setup
    await events(tenant, ['ada', 5])
    await moveTo(NOON + DAY)
    await events(tenant, ['ada', 2])
    await moveTo(NOON + DAY + HOUR)
    const before = await backup()
    await events(tenant, ['ada', 100])
    await moveTo(NOON + 2 * DAY)
    await events(tenant, ['ada', 100])
    await moveTo(NOON + 3 * DAY)
    expect(await historyOf(setup, 'ada')).toEqual([
      `${TODAY}: 5`,
      `${dateAt(NOON + DAY)}: 107`,
      `${dateAt(NOON + 2 * DAY)}: 207`,
    ])
    await bringBack(before)
    await restored()
    await moveTo(NOON + 3 * DAY + HOUR)
    expect(await historyOf(setup, 'ada')).toEqual([`${TODAY}: 5`, `${dateAt(NOON + DAY)}: 7`])
    await agrees(setup)
  })
})

describe('[M2] after a restore, webhooks', () => {
  it('get what was pending, also retries of which the database knows nothing; a deleted one works again', async () => {
    const setup = await withHook()
    const now = present()
    const before = await backup()
    await setup.hook.plan({ status: 500 })
    const failed = message(now)
    await hand(setup.destination, now, failed)
    await setup.hook.seen(1)
    await untilHeld(async () =>
      expect((await log(setup))[0]).toMatchObject({ status: 'pending', attempts: 1 }),
    )
    await bringBack(before)
    await restored()
    // The retry is due in some seconds, or minutes; the queue asks to be called for it.
    await cron()
    await untilHeld(async () => {
      const subject = `webhook:${setup.webhookId}`
      const found = await dueWork({ tenant: setup.tenant, kind: 'delivery', subject })
      expect(found).toHaveLength(1)
      expect(found[0]?.dueAt).toBeGreaterThan(now)
    })
    await setup.tenant.admin('DELETE', `/webhooks?ids=${setup.webhookId}`)
    await untilHeld(async () => expect(await log(setup)).toEqual([]))
    await bringBack(before)
    await restored()
    const sample = await setup.tenant.admin('POST', `/webhooks/${setup.webhookId}/test`, {
      type: 'streak.lost',
    })
    expect([sample.status, sample.body]).toMatchObject([202, {}])
    await setup.hook.seen(2)
  })

  it('get the end of a run under one id, if the run is made final again', async () => {
    await moveTo(NOON)
    const setup = await withBoard(DAILY)
    const hook = new Hook()
    const { tenant } = setup
    await tenant.create('/webhooks', { url: hook.url, events: ['leaderboard.finished'] })
    const ends = async () =>
      (await hook.seen())
        .map(({ headers, body }) => ({
          id: headers['webhook-id'],
          board: at(JSON.parse(body), 'leaderboard'),
        }))
        .map(({ id, board }) => [id, at(board, 'start'), at(board, 'rankings', 0, 'value')])
    await events(tenant, ['ada', 5])
    const before = await backup()
    await events(tenant, ['ada', 9])
    await moveTo(FINAL)
    const [first] = await ends()
    expect(first?.slice(1)).toEqual([TODAY, 14])
    await bringBack(before)
    await restored()
    await moveTo(FINAL + HOUR)
    expect(await agrees(setup, { to: TODAY, query: { run: TODAY } })).toEqual(['ada 5'])
    // The delivery queue knows the id, and sends it once.
    expect(await ends()).toEqual([first])
    const { body } = await tenant.admin('GET', '/webhooks')
    const webhookId = String(at(body, 0, 'id'))
    await tenant.admin('DELETE', `/webhooks?ids=${webhookId}`)
  })
})

describe('[M3] after a restore, deletions are done again', () => {
  it('of admin keys, also of replaced ones', async () => {
    const scope = await newTenant()
    const { body } = await scope.admin('POST', '/admin-api-keys', [{ name: 'one' }, { name: 'two' }])
    const [one, two] = [0, 1].map((n) => ({
      id: String(at(body, 'created', n, 'id')),
      key: String(at(body, 'created', n, 'key')),
    }))
    if (one === undefined || two === undefined) throw new Error('no keys')
    const statusOf = async (key: string) =>
      (
        await toApp(
          new Request('http://laurel.test/admin/v1/metrics', {
            headers: { 'x-api-key': key, 'tenant-id': scope.id },
          }),
        )
      ).status
    expect([await statusOf(one.key), await statusOf(two.key)]).toEqual([200, 200])
    const before = await backup()
    expect((await scope.admin('DELETE', `/admin-api-keys?ids=${one.id}`)).status).toBe(200)
    expect((await scope.admin('POST', `/admin-api-keys/${two.id}/rotate`)).status).toBe(200)
    await bringBack(before)
    await restored()
    expect([await statusOf(one.key), await statusOf(two.key)]).toEqual([200, 200])
    await cron()
    expect([await statusOf(one.key), await statusOf(two.key)]).toEqual([401, 401])
  })

  it('in parts that continue, once, and not with --undelete', async () => {
    const tenant = await newTenant()
    await tenant.metric('steps')
    for (let n = 0; n < 5; n += 1) await tenant.event('steps', `user-${n}`, 1)
    const before = await backup()
    for (let n = 0; n < 5; n += 1) await tenant.admin('DELETE', `/users/user-${n}`)
    const count = async () =>
      (await rowsEverywhere('SELECT id FROM users WHERE tenant_id = ?1', tenant.id)).length
    await bringBack(before)
    await restored({ undelete: true })
    await cron()
    expect(await count()).toBe(5)
    await restored()
    // A run that was interrupted after the first deletions has stored its progress.
    const stub = env.DELETIONS.getByName('account')
    const { last } = await stub.page({ after: null, limit: 1 })
    await env.DB.prepare('UPDATE restores SET progress = ?1').bind(JSON.stringify(last)).run()
    await cron()
    expect(await count()).toBeLessThanOrEqual(1)
    expect(await env.DB.prepare('SELECT progress FROM restores').first('progress')).toBeNull()
  })
})
