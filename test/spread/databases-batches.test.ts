import { describe, expect, it } from 'vitest'
import { Interrupted, inboxStep } from '../../src/features/events/batches/process'
import { systemNow } from '../../src/lib/system-clock'
import type { TenantContext } from '../../src/platform/context'
import { inTurn } from '../helpers/runs'
import { contextOf, contextWith } from '../helpers/worker/contexts'
import { usersByDatabase } from '../helpers/worker/databases-moves'
import { behind, type Fault, lost } from '../helpers/worker/faulty'
import { at, databases, newTenant, rowsEverywhere, type TestTenant } from '../helpers/worker/harness'
import { done, event, inboxWork, logOf, muted, processed, read, send } from '../helpers/worker/inbox'

/* Batches over users of several databases (B6). Each database has a fault of its own, at the real binding. */

const names = databases().map(({ name }) => name)
/** So many that each database has some of them. */
const USERS = Array.from({ length: 30 }, (_, n) => `u${n}`)

/** The context of a tenant's Timekeeper whose databases have a fault. */
const through = (tenant: TestTenant, fault: Fault): TenantContext => contextWith(tenant.id, behind(fault))

async function prepared(): Promise<TestTenant> {
  const tenant = await newTenant()
  const metricId = await tenant.metric('words')
  const trigger = { type: 'metric', points: 1, status: 'active', metricId, metricThreshold: 1 }
  await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger] })
  return tenant
}

/** Events of all users in turn, each with a value of its own, and some with a repeated idempotency key. */
const events = (from: number, many: number) =>
  Array.from({ length: many }, (_, n) => {
    const value = from + n
    const more = n % 7 === 3 ? { idempotencyKey: `key ${Math.floor(value / 40)}` } : {}
    return event(USERS[n % USERS.length] ?? '', value, more)
  })

type Sent = ReturnType<typeof events>[number] & { idempotencyKey?: string }

/** The correct outcome of batches, computed without the code under test: values by user, and repeats. */
function expected(sent: readonly Sent[]) {
  const values: Record<string, number[]> = {}
  const used = new Set<string>()
  let dropped = 0
  for (const { user, value, idempotencyKey } of sent) {
    const key = `${user.id} ${idempotencyKey}`
    if (idempotencyKey !== undefined && used.has(key)) {
      dropped += 1
      continue
    }
    used.add(key)
    values[user.id] = [...(values[user.id] ?? []), value]
  }
  return { values, dropped }
}

/** The work of a tenant's inbox, which must be due. */
const dueNow = async (tenant: TestTenant) => (await inboxWork(tenant)) ?? expect.fail('nothing is due')

/** Does steps until the inbox is empty. Returns the number of steps that failed. */
async function drained(tenant: TestTenant, context: TenantContext = contextOf(tenant.id)): Promise<number> {
  let failed = 0
  for (;;) {
    const work = await inboxWork(tenant)
    if (work === undefined) return failed
    try {
      await inboxStep(context, work, systemNow())
    } catch (error) {
      if (!(error instanceof Interrupted) && !String(error).includes('lost')) throw error
      failed += 1
    }
  }
}

async function holds(tenant: TestTenant, sent: readonly Sent[], batches: readonly string[]): Promise<void> {
  const { values, dropped } = expected(sent)
  const log: Record<string, number[]> = {}
  for (const { id, value } of await logOf(tenant))
    log[String(id)] = [...(log[String(id)] ?? []), Number(value)]
  expect(log).toEqual(values)
  for (const [id, own] of Object.entries(values)) {
    const sum = own.reduce((total, value) => total + value, 0)
    expect((await tenant.app('GET', `/users/${id}/metrics/words`)).body).toMatchObject({ current: sum })
    expect((await tenant.app('GET', `/users/${id}/points/xp`)).body).toMatchObject({ total: sum })
  }
  const counts = await Promise.all(batches.map(async (id) => (await read(tenant, id)).body))
  const sum = (field: string) => counts.reduce<number>((total, body) => total + Number(at(body, field)), 0)
  expect(counts.map((body) => at(body, 'status'))).toEqual(batches.map(() => 'done'))
  expect([sum('accepted'), sum('dropped'), sum('parked')]).toEqual([sent.length, dropped, 0])
  expect(await rowsEverywhere('SELECT no FROM inbox WHERE tenant_id = ?1', tenant.id)).toEqual([])
}

describe('[B6] a batch of users in three databases', () => {
  it('counts once and in order if any write of any database is lost, before or after it', async () => {
    for (const [nth, database] of names.entries()) {
      for (const isDone of inTurn(1, [false, true], nth)) {
        const tenant = await prepared()
        const sent = [events(1, 300), events(301, 60)]
        const ids: string[] = []
        for (const part of sent) ids.push(await send(muted(tenant), part))
        let writes = 0
        // Every other write of this database fails.
        const fault: Fault = async (call) => {
          if (!call.isWrite || call.database !== database) return call.run()
          writes += 1
          if (writes % 2 === 0) return call.run()
          if (isDone) await call.run()
          throw lost()
        }
        await drained(tenant, through(tenant, fault))
        expect(writes).toBeGreaterThan(1)
        await holds(tenant, sent.flat(), ids)
      }
    }
  })

  it('goes on where it stopped if a step ends after some databases were written', async () => {
    for (const away of names.slice(1)) {
      const tenant = await prepared()
      const id = await send(muted(tenant), events(1, 120))
      const fault: Fault = (call) =>
        call.isWrite && call.database === away ? Promise.reject(lost()) : call.run()
      const work = await dueNow(tenant)
      for (let n = 0; n < 3; n += 1)
        await inboxStep(through(tenant, fault), work, systemNow()).catch((error) => {
          expect(String(error instanceof Interrupted ? error.cause : error)).toContain('connection lost')
        })
      // Events of users in the other databases are stored.
      expect((await logOf(tenant)).length).toBeGreaterThan(20)
      // A live event in between counts between the events of its user.
      expect(await drained(tenant)).toBe(0)
      await holds(tenant, events(1, 120), [id])
    }
  })

  it('is done by six steps at once', async () => {
    const tenant = await prepared()
    const id = await send(muted(tenant), events(1, 200))
    const work = await dueNow(tenant)
    await Promise.allSettled(
      Array.from({ length: 6 }, () => inboxStep(contextOf(tenant.id), work, systemNow())),
    )
    await drained(tenant)
    await holds(tenant, events(1, 200), [id])
  })

  it('counts an event once if its metric is deleted between two attempts', async () => {
    const tenant = await prepared()
    const id = await send(
      muted(tenant),
      USERS.map((user) => event(user, 1)),
    )
    const fault: Fault = (call) =>
      call.isWrite && call.database === 'DB' ? Promise.reject(lost()) : call.run()
    const work = await dueNow(tenant)
    await expect(inboxStep(through(tenant, fault), work, systemNow())).rejects.toThrow('lost')
    const stored = (await logOf(tenant)).length
    expect(stored).toBeGreaterThan(0)
    const { body } = await tenant.admin('GET', '/metrics')
    const metricId = String(at(body, 0, 'id'))
    await tenant.admin('DELETE', `/metrics?ids=${metricId}`)
    await drained(tenant)
    const counts = (await read(tenant, id)).body
    expect(counts).toMatchObject({ status: 'done', processed: stored, dropped: USERS.length - stored })
    expect((await logOf(tenant)).length).toBe(stored)
  })

  it('an event whose user was erased meanwhile creates nobody', async () => {
    for (const user of USERS.slice(0, 9)) {
      const tenant = await prepared()
      const id = await send(muted(tenant), [event(user, 5)])
      const work = await dueNow(tenant)
      // The user is erased at the last moment before the user's write.
      let isErased = false
      const fault: Fault = async (call) => {
        if (call.isWrite && !isErased) {
          isErased = true
          expect((await muted(tenant).admin('DELETE', `/users/${user}`)).status).toBe(200)
        }
        return call.run()
      }
      await inboxStep(through(tenant, fault), work, systemNow())
      await drained(tenant)
      expect((await read(tenant, id)).body).toMatchObject({ status: 'done', processed: 0, dropped: 1 })
      expect((await tenant.app('GET', `/users/${user}`)).status).toBe(404)
    }
  })

  it('knows the email addresses of users in all databases', async () => {
    const tenant = await prepared()
    for (const id of USERS) await tenant.app('PUT', `/users/${id}`, { email: `${id}@example.com` })
    const subscribed = USERS.map((id) => ({ key: 'words', user: { id, subscribeToEmails: true }, value: 1 }))
    const id = await send(tenant, subscribed)
    expect(await done(tenant, id)).toEqual(processed(USERS.length))
    expect(Math.min(...Object.values(await usersByDatabase(tenant)))).toBeGreaterThan(0)
  })
})
