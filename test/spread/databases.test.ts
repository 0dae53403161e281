import { describe, expect, test } from 'vitest'
import { bucketOf } from '../../src/lib/ids'
import { behind } from '../helpers/worker/faulty'
import {
  at,
  databases,
  newApp,
  newTenantInFirst,
  newTenantWith,
  pick,
  type TestTenant,
  userIn,
} from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'

/* Users of one tenant in three databases. */

/** The database that holds a user of a tenant that was spread evenly over three. */
const holderOf = (tenant: TestTenant, user: string): string =>
  ['DB', 'DB_2', 'DB_3'][[1365, 2730].filter((from) => bucketOf(tenant.id, user) >= from).length] ?? ''

/** The cost in D1 that the log line of an event says. */
async function costOf(event: () => Promise<unknown>): Promise<unknown> {
  forgetLines()
  await event()
  const line = linesSoFar().find((one) => one.includes('POST /v1/metrics/:key/event'))
  return at(JSON.parse(line ?? '{}'), 'd1')
}

/** Twelve users, four in each database. Neighbours are in different ones. */
const usersOf = (tenant: TestTenant): string[] =>
  [0, 1, 2, 3].flatMap((nth) => databases().map(({ name }) => userIn(tenant, name, nth)))

describe('[B1, B2] users over three databases', () => {
  test('each user, with all rows, is in the database of the bucket alone', async () => {
    const tenant = await newTenantWith('words')
    const users = usersOf(tenant)
    for (const user of users) expect((await tenant.event('words', user, 2)).status).toBe(201)
    const wanted: Record<string, string[]> = { DB: [], DB_2: [], DB_3: [] }
    for (const user of users.toSorted()) wanted[holderOf(tenant, user)]?.push(user)
    for (const { name, d1 } of databases()) {
      const list = async (sql: string) => (await d1.prepare(sql).bind(tenant.id).all()).results
      const ids = await list('SELECT id FROM users WHERE tenant_id = ?1 ORDER BY id')
      expect([name, pick(ids, 'id')]).toEqual([name, wanted[name]])
      const events = await list(
        "SELECT at FROM events WHERE user_iid IN (SELECT unhex(iid, '-') FROM users WHERE tenant_id = ?1)",
      )
      expect(events).toHaveLength(wanted[name]?.length ?? 0)
    }
  })

  test('an event has two round trips and the rows of one database, and all go to the user’s database', async () => {
    const tenant = await newTenantWith('words')
    const user = userIn(tenant, 'DB_3')
    await tenant.event('words', user, 1)
    const used = new Set<string>()
    const watched = behind(({ database, run }) => {
      used.add(database)
      return run()
    })
    const app = newApp(watched)
    const through = tenant.through(app)
    await through.event('words', user, 1)
    used.clear()
    const cost = await costOf(() => through.event('words', user, 1))
    expect([...used]).toEqual(['DB_3'])
    expect(at(cost, 'roundTrips')).toBe(2)
    // The same event of a user in a tenant that is in the first database alone.
    const alone = await newTenantWith('words', newTenantInFirst)
    for (let n = 0; n < 2; n += 1) await alone.event('words', user, 1)
    expect(await costOf(() => alone.event('words', user, 1))).toEqual(cost)
  })

  test('200 parallel events of 12 users through two isolates are exact', async () => {
    const tenant = await newTenantWith('words')
    const users = usersOf(tenant)
    const apps = [tenant, tenant.through(newApp())]
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => apps[n % 2]?.event('words', users[n % 12] ?? '', 1)),
    )
    expect(answers.map((answer) => answer?.status)).toEqual(answers.map(() => 201))
    for (const [index, user] of users.entries()) {
      const { body } = await tenant.app('GET', `/users/${user}/metrics/words`)
      expect(at(body, 'current')).toBe(index < 8 ? 17 : 16)
    }
  })
})
