import { afterEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { loadConfiguration } from '../../src/configuration/configuration'
import { instant } from '../../src/lib/clock'
import { usersAsRead } from '../../src/platform/guard'
import { ERASURES } from '../../src/store/users/counters.sql'
import { keepRuns } from '../../src/store/users/streaks.sql.ts'
import { parseStored, storeUsers, userOf, usersStatement } from '../../src/store/users/users.sql.ts'
import { insertOutboxEntries } from '../../src/webhooks/outbox/outbox.sql'
import { insertPendingNotifications } from '../../src/webhooks/outbox/pending.sql'
import { readable } from '../helpers/readable'
import { forgetTime, HOUR, moveTo, NOON } from '../helpers/worker/boards'
import { contextOfUsers } from '../helpers/worker/contexts'
import { beforeEachCall, beforeFirst, faultyLast, losing } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  at,
  newApp,
  newTenantInLast,
  rowsEverywhere,
  type TestTenant,
} from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'

/*
 * Events of different users that arrive at the same time in one isolate share batches of D1, and nothing
 * else. With several databases, all users of these tests are in the last one.
 */

afterEach(forgetTime)

const USERS = 12
const names = Array.from({ length: USERS }, (_, n) => `user ${n}`)

/** A tenant with points, an achievement, a leaderboard and streaks. An event stores a row of each kind. */
async function withAll() {
  const tenant = await newTenantInLast()
  const metricId = await tenant.metric('words')
  const trigger = { type: 'metric', points: 2, status: 'active', metricId, metricThreshold: 1 }
  await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
  await tenant.create('/achievements', {
    key: 'first',
    name: 'First',
    status: 'active',
    trigger: 'metric',
    metricId,
    metricValue: 1,
  })
  await tenant.create('/leaderboards', {
    key: 'board',
    name: 'Board',
    status: 'active',
    rankBy: 'metric',
    metricId,
  })
  return tenant
}

type Sent = { status: number; body: unknown }

/** Sends an event with a key. Unlike `call` of the harness, it accepts a 500. */
async function send(tenant: TestTenant, user: string, key: string, value: unknown = 1): Promise<Sent> {
  const response = await tenant.send(
    new Request('http://laurel.test/v1/metrics/words/event', {
      method: 'POST',
      headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id, 'idempotency-key': key },
      body: JSON.stringify({ user: { id: user }, value }),
    }),
  )
  return { status: response.status, body: await response.json() }
}

const sendAll = (tenant: TestTenant, key: string) => Promise.all(names.map((name) => send(tenant, name, key)))

/** The stored state of each user: number of changes, total, points, and number of rows of each kind. */
async function stored(tenant: TestTenant) {
  const results = await rowsEverywhere(
    `SELECT id, seq, metrics ->> '$[0][1]' AS total, points,
       (SELECT count(*) FROM ${readable.events} WHERE user_iid = iid) AS events,
       (SELECT count(*) FROM ${readable.awards} WHERE user_iid = iid) AS awards,
       (SELECT count(*) FROM ${readable.idempotency_keys} WHERE user_iid = iid) AS keys
     FROM users WHERE tenant_id = ?1 ORDER BY id`,
    tenant.id,
  )
  const number = z.number()
  const rows = z.array(
    z.object({
      id: z.string(),
      seq: number,
      total: number,
      points: z.string(),
      events: number,
      awards: number,
      keys: number,
    }),
  )
  return rows.parse(results).map(({ points, ...row }) => ({
    ...row,
    points: Object.values(z.record(z.string(), number).parse(JSON.parse(points)))[0],
  }))
}

/** The stored state of a user after a number of events of value 1. */
const storedOf = (id: string, events: number) => ({
  id,
  seq: events,
  total: events * 1_000_000,
  points: 2 * events,
  events,
  awards: events,
  keys: events,
})

async function tenantCounters(tenant: TestTenant): Promise<number[]> {
  const sql = `SELECT count FROM tenant_counters WHERE tenant_id = ?1 AND name <> '${ERASURES}'`
  const results = await rowsEverywhere(sql, tenant.id)
  return z
    .array(z.object({ count: z.number() }))
    .parse(results)
    .map(({ count }) => count)
}

const sorted = names.toSorted()
const allAfter = (events: number) => sorted.map((name) => storedOf(name, events))
const statuses = (responses: readonly Sent[]) => responses.map(({ status }) => status)

describe('events of different users at once', () => {
  it('share write batches, and each event is stored completely and once, also of new users', async () => {
    const tenant = await withAll()
    const { bindings, seen } = faultyLast(({ run }) => run())
    const app = tenant.through(newApp(bindings))
    const first = await sendAll(app, 'one')
    expect(statuses(first)).toEqual(names.map(() => 201))
    // The first two are committed alone, all others together. Each commit is one batch.
    expect(seen.writes).toBeLessThanOrEqual(4)
    expect(await stored(tenant)).toEqual(allAfter(1))
    expect(await tenantCounters(tenant)).toEqual([USERS, USERS])
    const board = await tenant.app('GET', `/leaderboards/board?limit=${USERS}`)
    expect(at(board.body, 'rankings')).toHaveLength(USERS)
    for (const { body } of first) {
      expect(at(body, 'total')).toBe(1)
      expect(at(body, 'points', 'xp', 'added')).toBe(2)
      expect(at(body, 'achievements')).toHaveLength(1)
      expect(at(body, 'leaderboards', 'board', 'rank')).toBeGreaterThan(0)
    }
    expect(statuses(await sendAll(app, 'two'))).toEqual(names.map(() => 201))
    expect(await stored(tenant)).toEqual(allAfter(2))
    expect(statuses(await sendAll(app, 'two'))).toEqual(names.map(() => 202))
    expect(await stored(tenant)).toEqual(allAfter(2))
  })

  it('a user who changes in between does not affect the others, and still counts', async () => {
    const tenant = await withAll()
    await sendAll(tenant, 'before')
    const other = tenant.through(newApp())
    // The third batch has the events of ten users. Another isolate commits events of two of them first.
    const commit = () => Promise.all(['user 4', 'user 7'].map((name) => send(other, name, 'other')))
    const { bindings, seen } = faultyLast(beforeEachCall((n) => n === 2 && commit()))
    const responses = await sendAll(tenant.through(newApp(bindings)), 'one')
    expect(statuses(responses)).toEqual(names.map(() => 201))
    // Only these two users are committed again.
    expect(seen.writes).toBe(5)
    expect(await stored(tenant)).toEqual(
      sorted.map((name) => storedOf(name, name === 'user 4' || name === 'user 7' ? 3 : 2)),
    )
    expect(await tenantCounters(tenant)).toEqual([USERS, USERS])
  })

  it('a conflict of the only new event does not affect the replays in its group', async () => {
    const tenant = await withAll()
    await sendAll(tenant, 'one')
    const other = tenant.through(newApp())
    const { bindings } = faultyLast(beforeFirst(() => send(other, 'user 4', 'other')))
    forgetLines()
    const app = tenant.through(newApp(bindings))
    const responses = await Promise.all(
      names.map((name) => send(app, name, name === 'user 4' ? 'two' : 'one')),
    )
    const alone = linesSoFar().filter((line) => line.includes('"alone":true'))
    expect(statuses(responses)).toEqual(names.map((name) => (name === 'user 4' ? 201 : 202)))
    expect(alone).toHaveLength(1)
    expect(await stored(tenant)).toEqual(sorted.map((name) => storedOf(name, name === 'user 4' ? 3 : 1)))
  })

  it('a user who is created or erased in between is stored as a new user, and no event is stored twice', async () => {
    const tenant = await withAll()
    await send(tenant, 'user 5', 'before')
    const other = tenant.through(newApp())
    const change = async () => {
      await send(other, 'user 9', 'other')
      await other.admin('DELETE', '/users/user%205')
    }
    const { bindings } = faultyLast(beforeEachCall((n) => n === 2 && change()))
    expect(statuses(await sendAll(tenant.through(newApp(bindings)), 'one'))).toEqual(names.map(() => 201))
    expect(await stored(tenant)).toEqual(sorted.map((name) => storedOf(name, name === 'user 9' ? 2 : 1)))
    expect(await tenantCounters(tenant)).toEqual([USERS, USERS])
  })

  it('a refused event or an unreadable user does not affect the others', async () => {
    const tenant = await withAll()
    await send(tenant, 'user 3', 'before')
    await rowsEverywhere(
      "UPDATE users SET points = 'spoilt' WHERE tenant_id = ?1 AND id = 'user 3'",
      tenant.id,
    )
    const app = tenant.through(newApp())
    const responses = await Promise.all([
      ...names.map((name) => send(app, name, 'one')),
      send(app, 'user 6', 'huge', 1e300),
    ])
    expect(statuses(responses)).toEqual([...names.map((name) => (name === 'user 3' ? 500 : 201)), 422])
  })

  it('if the configuration changes in between, all events count by the new one', async () => {
    const tenant = await withAll()
    await sendAll(tenant, 'before')
    const change = async () => {
      const metricId = await tenant.metric('others')
      const trigger = { type: 'metric', points: 9, status: 'active', metricId, metricThreshold: 1 }
      await tenant.create('/points', { key: 'more', name: 'More', triggers: [trigger] })
    }
    const { bindings, seen } = faultyLast(beforeEachCall((n) => n === 2 && change()))
    const responses = await sendAll(tenant.through(newApp(bindings)), 'one')
    expect(statuses(responses)).toEqual(names.map(() => 201))
    expect(await stored(tenant)).toEqual(allAfter(2))
    // One batch each for the first two, one that stores nothing, and one each for the ten others.
    expect(seen.writes).toBe(3 + USERS - 2)
  })

  it('if the clock moves in between, all events are at the new time', async () => {
    await moveTo(NOON)
    const tenant = await withAll()
    await sendAll(tenant, 'before')
    const { bindings } = faultyLast(beforeEachCall((n) => n === 2 && moveTo(NOON + HOUR)))
    expect(statuses(await sendAll(tenant.through(newApp(bindings)), 'one'))).toEqual(names.map(() => 201))
    const results = await rowsEverywhere(
      `SELECT e.at FROM ${readable.events} e JOIN users u ON u.iid = e.user_iid WHERE u.tenant_id = ?1 AND e.seq = 2 ORDER BY e.at`,
      tenant.id,
    )
    expect(results).toEqual(names.map((_, n) => ({ at: n < 2 ? NOON : NOON + HOUR })))
  })
})

describe('the writes of a group', () => {
  it('skip users who have changed, in each kind of row', async () => {
    const tenant = await withAll()
    for (const name of ['still', 'moved']) await send(tenant, name, 'before')
    const { db } = contextOfUsers(tenant.id)
    const [read] = await db.batch([usersStatement(db, ['still', 'moved'])])
    const users = (read?.results ?? []).map(userOf)
    const { instance } = contextOfUsers(tenant.id)
    const { version } = await loadConfiguration({ db, instance })
    await send(tenant, 'moved', 'meanwhile')
    const at = instant(0)
    const outboxEntries = users.map(({ iid, id }) => ({ at, seq: 1, id, userIid: iid, messages: [] }))
    const notices = users.map(({ iid, id }) => ({
      dueAt: at,
      id,
      userId: id,
      userIid: iid,
      achievementId: id,
    }))
    const run = { first: 1, last: 2, started: 1, history: '', length: 2 }
    const changes = users.map((after) => ({ after, ended: [run] }))
    const among = usersAsRead(
      db,
      { version, clock: null },
      users.map((was) => ({ iid: was.iid, id: was.id, was })),
    )
    const results = await db.batch([
      ...insertOutboxEntries(db, outboxEntries, among),
      ...insertPendingNotifications(db, notices, among),
      ...keepRuns(db, changes, among),
      ...storeUsers(
        db,
        users.map((was) => ({ was, after: was })),
        among,
      ),
    ])
    expect(results.map(({ meta }) => meta.changes)).toEqual([1, 1, 1, 1])
    const still = users.filter(({ id }) => id === 'still').map(({ iid }) => iid)
    expect([...parseStored(results.slice(-1))]).toEqual(still)
    for (const table of ['outbox', 'pending_notifications', 'streak_runs']) {
      const rows = await rowsEverywhere(
        `SELECT user_iid FROM ${table} WHERE user_iid IN (?1, ?2)`,
        users[0]?.iid,
        users[1]?.iid,
      )
      expect([table, rows]).toEqual([table, [{ user_iid: still[0] }]])
    }
  })
})

describe('a group that fails', () => {
  const cases = [0, 1, 2].flatMap((nth) => [['before', nth] as const, ['after', nth] as const])
  it.each(cases)('%s batch %i is stored: each event finds its result, and counts once', async (when, nth) => {
    const tenant = await withAll()
    const { bindings } = faultyLast(losing(nth, when === 'after'))
    const responses = await sendAll(tenant.through(newApp(bindings)), 'one')
    expect(statuses(responses)).toEqual(names.map(() => 201))
    expect(responses.map(({ body }) => at(body, 'points', 'xp', 'added'))).toEqual(names.map(() => 2))
    expect(await stored(tenant)).toEqual(allAfter(1))
    expect(await tenantCounters(tenant)).toEqual([USERS, USERS])
  })
})
