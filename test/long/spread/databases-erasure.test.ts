import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { redoDeletions } from '../../../src/features/account/purge'
import { bucketOf } from '../../../src/lib/ids'
import { systemNow } from '../../../src/lib/system-clock'
import { removeRowsEverywhere } from '../../../src/store/user-data/user-data.sql.ts'
import { workOff } from '../../../src/time/run'
import { JOBS } from '../../../src/worker/jobs'
import { readable } from '../../helpers/readable'
import { contextOf, contextOfAccount, placesOf } from '../../helpers/worker/contexts'
import { iidsOf, wake } from '../../helpers/worker/databases-moves'
import { dueWork, makeDueAt } from '../../helpers/worker/due-work'
import { behind, type Fault, lost } from '../../helpers/worker/faulty'
import {
  ADMIN_KEY,
  at,
  call,
  databases,
  firstBucket,
  newApp,
  newTenant,
  rowsEverywhere,
  type TestTenant,
  toApp,
  until,
} from '../../helpers/worker/harness'
import { event, muted, send } from '../../helpers/worker/inbox'
import { archive, purge, tablesWith, tenants } from '../../helpers/worker/purge'
import { iidOf } from '../../helpers/worker/stored-users'

/* Erasures, exports and changes of tenants whose users are in three databases (U8, T3, B3, B4). */

const names = databases().map(({ name }) => name)
/** Users of a tenant: three in each database. */
function usersOf({ id: tenantId }: TestTenant): string[] {
  const users = names.map((): string[] => [])
  for (let n = 0; users.some((some) => some.length < 3); n += 1) {
    const user = `user-${n}-${tenantId}`
    const bucket = bucketOf(tenantId, user)
    const some = users.findLast((_, index) => firstBucket(index) <= bucket) ?? []
    if (some.length < 3) some.push(user)
  }
  return users.flat()
}

async function prepared(): Promise<TestTenant> {
  const tenant = await newTenant()
  const metricId = await tenant.metric('words')
  const trigger = { type: 'metric', points: 1, status: 'active', metricId, metricThreshold: 1 }
  await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
  for (const id of usersOf(tenant)) {
    expect((await tenant.event('words', { id, name: id }, 2, { idempotencyKey: id })).status).toBe(201)
  }
  return tenant
}

/** One user in each database, with its name. */
const oneOfEach = (tenant: TestTenant) =>
  names.map((name, nth): [holder: string, user: string] => [name, usersOf(tenant)[3 * nth] ?? ''])

/** Waits until the rest of an erasure is done: its second round begins a minute later. */
function finished(tenant: TestTenant): Promise<void> {
  const erasure = { tenant, kind: 'erasure' }
  return until(async () => {
    await makeDueAt(erasure, systemNow())
    await wake(tenant, 100)
    return (await dueWork(erasure)).length === 0
  })
}

const deletions = async (tenant: TestTenant, iid: string) =>
  (
    await rowsEverywhere(
      "SELECT resource_id, user_iid FROM audit_log WHERE tenant_id = ?1 AND action = 'delete' AND kind = 'user'",
      tenant.id,
    )
  ).filter((row) => row.user_iid === iid).length

describe('[U8] the erasure of a user', () => {
  it('leaves nothing in any database if any write is lost, before or after it', async () => {
    for (const isDone of [false, true]) {
      for (const failing of names) {
        const tenant = await prepared()
        for (const [holder, user] of oneOfEach(tenant)) {
          const iid = await iidOf(tenant, user)
          const key = await tenant.key(user)
          expect((await tenant.as(key, 'GET', `/users/${user}`)).status).toBe(200)
          await send(muted(tenant), [event(user, 1), event(`${user}x`, 3)])
          let writes = 0
          const fault: Fault = async (one) => {
            if (!one.isWrite || one.database !== failing) return one.run()
            writes += 1
            if (writes % 2 === 0) return one.run()
            if (isDone) await one.run()
            throw lost()
          }
          const path = `/users/${user}`
          const response = await tenant.through(newApp(behind(fault))).admin('DELETE', path)
          expect([response.status, holder, failing, isDone]).toEqual([200, holder, failing, isDone])
          expect((await tenant.as(key, 'GET', path)).status).toBe(401)
          expect((await tenant.through(newApp()).as(key, 'PUT', path, {})).status).toBe(401)
          expect((await tenant.app('GET', path)).status).toBe(404)
          expect(await deletions(tenant, iid)).toBe(1)
          await finished(tenant)
          expect(await tablesWith([iid, `"${user}"`])).toEqual([])
        }
        for (const user of usersOf(tenant).slice(0, 3)) {
          const { status, body } = await tenant.app('GET', `/users/${user}/metrics/words`)
          if (status === 200) expect(body).toMatchObject({ current: 2 })
        }
      }
    }
  })

  it('is finished by due work if it stops after its first part, and no key works in between', async () => {
    const tenant = await prepared()
    for (const [holder, user] of oneOfEach(tenant)) {
      if (holder === 'DB') continue
      const iid = await iidOf(tenant, user)
      const key = await tenant.key(user)
      const fault: Fault = (one) =>
        one.isWrite && one.database === holder ? Promise.reject(lost()) : one.run()
      const lame = tenant.through(newApp(behind(fault)))
      expect((await lame.admin('DELETE', `/users/${user}`)).status).toBe(503)
      // The key is gone, and so is the user once the Timekeeper has run.
      const list = await tenant.admin('GET', `/application-api-keys?userId=${user}`)
      expect(JSON.stringify(list.body)).not.toContain(user)
      await finished(tenant)
      expect((await tenant.through(newApp()).as(key, 'PUT', `/users/${user}`, {})).status).toBe(401)
      expect((await tenant.app('GET', `/users/${user}`)).status).toBe(404)
      expect(await tablesWith([iid, `"${user}"`])).toEqual([])
      expect(await deletions(tenant, iid)).toBe(1)
    }
  })

  it('reaches rows that a move has left in another database', async () => {
    const tenant = await prepared()
    const [user = ''] = usersOf(tenant)
    const iid = await iidOf(tenant, user)
    for (const { d1 } of databases()) {
      await d1
        .prepare(
          `INSERT OR IGNORE INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
           VALUES (unhex(?1, '-'), 1, 1, 1, randomblob(16), 1, 0)`,
        )
        .bind(iid)
        .run()
    }
    expect((await tenant.admin('DELETE', `/users/${user}`)).status).toBe(200)
    await finished(tenant)
    expect(await rowsEverywhere(`SELECT at FROM ${readable.events} e WHERE user_iid = ?1`, iid)).toEqual([])
    const { databases: all } = contextOf(tenant.id)
    expect(await removeRowsEverywhere(all, tenant.id, { userId: user, iid })).toBe(true)
  })

  it('[M3] is done again in every database after a restore', async () => {
    const tenant = await prepared()
    const users = oneOfEach(tenant)
    for (const [holder, user] of users) {
      const { d1 } = databases().find(({ name }) => name === holder) ?? { d1: env.DB }
      const iid = await iidOf(tenant, user)
      const row = await d1.prepare('SELECT * FROM users WHERE iid = ?1').bind(iid).first()
      expect((await tenant.admin('DELETE', `/users/${user}`)).status).toBe(200)
      await finished(tenant)
      const columns = Object.entries(row ?? {})
      await d1
        .prepare(
          `INSERT INTO users (${columns.map(([name]) => `"${name}"`).join()})
           VALUES (${columns.map((_, n) => `?${n + 1}`).join()})`,
        )
        .bind(...columns.map(([, value]) => value))
        .run()
      expect((await tenant.app('GET', `/users/${user}`)).status).toBe(200)
      await env.DB.prepare('UPDATE restores SET epoch = epoch + 1').run()
      await redoDeletions(contextOf(tenant.id))
      expect((await tenant.app('GET', `/users/${user}`)).status).toBe(404)
      await finished(tenant)
      expect(await tablesWith([iid])).toEqual([])
    }
  })
})

describe('[U8] the export of a user', () => {
  it('has the keys, waiting and parked events of the first database, and each event once', async () => {
    const tenant = await prepared()
    for (const [, user] of oneOfEach(tenant)) {
      const prefix = (await tenant.key(user)).split('.')[0] ?? ''
      const batchId = await send(muted(tenant), [event(user, 7), event('nobody', 3)])
      await env.DB.prepare("INSERT INTO parked_events VALUES (?1, ?2, 1, ?3, 'why')")
        .bind(tenant.id, crypto.randomUUID(), JSON.stringify({ body: { user: { id: user } } }))
        .run()
      const { status, body } = await tenant.admin('GET', `/users/${user}/export`)
      expect(status).toBe(200)
      expect(body).toMatchObject({
        user: { id: user },
        waitingEvents: [{ batchId, position: 0, key: 'words', value: 7 }],
        parkedEvents: [{ reason: 'why' }],
        events: [{ value: 2 }],
        idempotencyKeys: [{ key: user }],
      })
      expect(JSON.stringify(at(body, 'applicationKeys'))).toContain(prefix)
      // A step that broke off has stored the event, but it is still in the inbox.
      const rows = await rowsEverywhere('SELECT events FROM inbox WHERE tenant_id = ?1', tenant.id)
      await wake(tenant, 100)
      await env.DB.prepare(
        'INSERT INTO inbox (tenant_id, batch_id, count, "offset", events) VALUES (?1, ?2, 2, 0, ?3)',
      )
        .bind(tenant.id, batchId, String(rows[0]?.events))
        .run()
      const again = await tenant.admin('GET', `/users/${user}/export`)
      expect(again.body).toMatchObject({ waitingEvents: [], events: [{ value: 2 }, { value: 7 }] })
      await env.DB.prepare('DELETE FROM inbox WHERE tenant_id = ?1').bind(tenant.id).run()
    }
  })
})

describe('[T3, B4] a tenant in three databases', () => {
  it('is renamed in all of them, and another one may get its name', async () => {
    const [tenant, other] = [await prepared(), await prepared()]
    const [name, next] = [`customer-${tenant.id}`, `next-${tenant.id}`]
    expect((await tenants('PATCH', '', { body: [{ id: tenant.id, customerId: next }] })).status).toBe(200)
    // The copies of the first one still have the name, as if they could not be reached.
    for (const { name: database, d1 } of databases()) {
      if (database === 'DB') continue
      await d1
        .prepare('UPDATE tenants SET customer_id = ?2, config_version = 0 WHERE id = ?1')
        .bind(tenant.id, name)
        .run()
    }
    expect((await tenants('PATCH', '', { body: [{ id: other.id, customerId: name }] })).status).toBe(200)
    for (const user of usersOf(other)) {
      const event = (named: string) =>
        call(toApp, 'POST', '/v1/metrics/words/event', {
          body: { user: { id: user }, value: 1 },
          headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': named },
        })
      expect((await event(name)).status).toBe(201)
      expect((await event(next)).status).toBe(201)
    }
    for (const one of [tenant, other]) {
      const rows = await rowsEverywhere('SELECT seq FROM users WHERE tenant_id = ?1', one.id)
      expect(rows).toHaveLength(one === tenant ? 18 : 9)
    }
  })

  it('is erased in all of them, also if any write is lost', async () => {
    for (const isDone of [false, true]) {
      const tenant = await prepared()
      const other = await prepared()
      const iids = await iidsOf(tenant)
      await send(muted(tenant), [event('waiting', 1)])
      expect((await archive(tenant.id)).status).toBe(200)
      let writes = 0
      const fault: Fault = async (one) => {
        if (!one.isWrite) return one.run()
        writes += 1
        // The first, third, sixth, tenth … write fails.
        if (!Number.isInteger((Math.sqrt(8 * writes + 1) - 1) / 2)) return one.run()
        if (isDone) await one.run()
        throw lost()
      }
      const lame = newApp(behind(fault))
      for (let status = 0; status !== 202; ) {
        status = (await purge(tenant.id, lame)).status
        expect([202, 503]).toContain(status)
      }
      // Its steps have the same faults.
      const context = contextOfAccount(behind(fault))
      const places = placesOf({ ...context, db: context.databases.home(tenant.id) })
      for (let n = 0; n < 60; n += 1) {
        const when = { to: systemNow(), steps: 20, mustAll: true, grace: { first: 0, finals: 0 } }
        await workOff(JOBS, places, when).catch((error) => expect(String(error)).toContain('connection lost'))
      }
      await wake(tenant, 100)
      expect(await tablesWith([tenant.id, ...iids])).toEqual([])
      expect((await tenants('GET', `/${tenant.id}`)).status).toBe(404)
      expect((await tenant.event('words', 'somebody', 1)).status).toBe(404)
      for (const id of usersOf(other)) expect((await other.event('words', id, 1)).status).toBe(201)
    }
  })
})
