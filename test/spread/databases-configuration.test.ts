import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { finishChanges } from '../../src/configuration/copies'
import { contextOfAccount } from '../helpers/worker/contexts'
import { away, behind, lost } from '../helpers/worker/faulty'
import {
  at,
  d1Of,
  databases,
  newApp,
  newTenant,
  newTenantInFirst,
  spread,
  type TestTenant,
  userIn,
} from '../helpers/worker/harness'
import { UNREACHED } from '../helpers/worker/objects'

/* [B4] Changes of the configuration with three databases, and with faults in each of them. */

/**
 * The bindings, with faults in one database. `fault` gets the texts of each of its batches, and sends it or
 * throws.
 */
const withFault = (
  name: string,
  fault: (texts: string[], send: () => Promise<D1Result[]>) => Promise<D1Result[]>,
) => behind(({ database, texts, run }) => (database === name ? fault(texts, run) : run()))

/** A database that can't be reached any more once a change was prepared in it. */
function lostOncePrepared(name: string) {
  let isPrepared = false
  return withFault(name, async (texts, send) => {
    if (isPrepared) throw lost()
    const results = await send()
    isPrepared = texts.some((text) => text.includes("json_object('change'"))
    return results
  })
}

/** Returns true if the statements of a batch commit a change of the configuration. */
const isCommit = (texts: string[]) =>
  texts.some((text) => text.includes('config_version = config_version + 1'))

const NAMES = ['DB', 'DB_2', 'DB_3']

const trigger = (points: number) => [
  { type: 'metric', metricKey: 'words', metricThreshold: 1, points, status: 'active' },
]

/** A tenant with a metric and a points system, whose copies are made. */
async function furnished() {
  const tenant = await newTenant()
  await tenant.metric('words')
  const system = await tenant.create('/points', { key: 'xp', name: 'XP', maxPoints: null })
  for (const name of NAMES) await tenant.event('words', userIn(tenant, name), 1)
  return { tenant, system }
}

const pointsOf = async (tenant: TestTenant, name: string): Promise<unknown> => {
  const { body } = await tenant.event('words', userIn(tenant, name), 1)
  return at(body, 'points', 'xp', 'added') ?? 0
}

/** For each database: the version of its copy, and if a change is under way. */
async function copies(tenant: TestTenant) {
  const rows = databases().map(({ d1 }) =>
    d1
      .prepare(
        'SELECT config_version AS version, changing IS NOT NULL AS changing FROM tenants WHERE id = ?1',
      )
      .bind(tenant.id)
      .first<{ version: number; changing: number }>(),
  )
  return Promise.all(rows)
}

describe('[U8] the work that a change begins', () => {
  test('is forgotten when all copies have begun it, since it may name users', async () => {
    const { tenant, system } = await furnished()
    const userId = userIn(tenant, 'DB_2')
    const boost = { userId, name: 'Own', start: '2026-01-01', multiplier: 2 }
    expect((await tenant.admin('POST', `/points/${system}/boosts`, [boost])).status).toBe(201)
    const row = await env.DB.prepare('SELECT * FROM tenants WHERE id = ?1').bind(tenant.id).first()
    expect(JSON.stringify(row)).not.toContain(userId)
  })

  test('is begun by the cron trigger in a copy that was not changed after the change was stored', async () => {
    const { tenant, system } = await furnished()
    const userId = userIn(tenant, 'DB_2')
    const boost = { userId, name: 'Own', start: '2026-01-01', multiplier: 2 }
    const isCopying = (text: string) => text.includes('INSERT INTO tenants')
    const app = newApp({
      TIMEKEEPER: UNREACHED,
      ...withFault('DB_2', (texts, send) => (texts.some(isCopying) ? Promise.reject(lost()) : send())),
    })
    expect((await tenant.through(app).admin('POST', `/points/${system}/boosts`, [boost])).status).toBe(201)
    const noted = () =>
      env.DB.prepare('SELECT config_work FROM tenants WHERE id = ?1').bind(tenant.id).first('config_work')
    const boosts = async () => {
      const sql = 'SELECT name FROM points_boosts WHERE tenant_id = ?1 AND user_id = ?2'
      return (await d1Of('DB_2').prepare(sql).bind(tenant.id, userId).all()).results
    }
    // While the database is away, the work waits.
    await finishChanges(contextOfAccount(away('DB_2')).databases)
    expect([await noted(), await boosts()]).toEqual([expect.stringContaining(userId), []])
    await finishChanges(contextOfAccount().databases)
    expect([await noted(), await boosts()]).toEqual([null, [{ name: 'Own' }]])
    const [first, second] = await copies(tenant)
    expect(second).toEqual(first)
  })
})

describe('[B4] a change of the configuration', () => {
  test.each(['DB_2', 'DB_3'])('is 503 and takes effect nowhere while %s is away', async (name) => {
    const { tenant, system } = await furnished()
    const before = await copies(tenant)
    const { status, headers } = await tenant
      .through(newApp(away(name)))
      .admin('POST', `/points/${system}/triggers`, trigger(5))
    expect(status).toBe(503)
    expect(headers.get('retry-after')).not.toBeNull()
    for (const one of NAMES) expect(await pointsOf(tenant, one)).toBe(0)
    expect(await copies(tenant)).toEqual(before)
    // Users of the other databases go on meanwhile.
    const others = NAMES.filter((one) => one !== name)
    const app = tenant.through(newApp(away(name)))
    for (const one of others) expect((await app.event('words', userIn(tenant, one), 1)).status).toBe(201)
    expect((await app.event('words', userIn(tenant, name), 1)).status).toBe(503)
  })

  test('that was stored counts in a database that was lost right after it was prepared', async () => {
    const { tenant, system } = await furnished()
    const app = newApp(lostOncePrepared('DB_2'))
    const { status } = await tenant.through(app).admin('POST', `/points/${system}/triggers`, trigger(7))
    expect(status).toBe(201)
    expect((await copies(tenant))[1]?.changing).toBe(1)
    // The next event there notices it, and brings the copy up to date.
    expect(await pointsOf(tenant, 'DB_2')).toBe(7)
    const [first, second] = await copies(tenant)
    expect(second).toEqual(first)
  })

  test('with an unknown outcome of its commit is decided by the first database', async () => {
    const decided = async (isStored: boolean) => {
      const { tenant, system } = await furnished()
      let failed = false
      const app = newApp(
        withFault('DB', async (texts, send) => {
          if (!isCommit(texts) && !failed) return send()
          // From here on the first database does not answer any more.
          if (isCommit(texts) && !failed && isStored) await send()
          failed = true
          throw lost()
        }),
      )
      const { status } = await tenant.through(app).admin('POST', `/points/${system}/triggers`, trigger(9))
      expect([failed, status]).toEqual([true, 503])
      for (const name of NAMES) expect(await pointsOf(tenant, name)).toBe(isStored ? 9 : 0)
      const [first, ...others] = await copies(tenant)
      for (const copy of others) expect(copy).toEqual(first)
    }
    await Promise.all([true, false].map(decided))
  })

  test('with a lost answer to its commit is answered as stored, and is in all databases by then', async () => {
    const { tenant, system } = await furnished()
    let isLost = false
    const app = newApp(
      withFault('DB', async (texts, send) => {
        const results = await send()
        if (isLost || !isCommit(texts)) return results
        isLost = true
        throw lost()
      }),
    )
    const { status, body } = await tenant.through(app).admin('POST', `/points/${system}/triggers`, trigger(8))
    expect([isLost, status, at(body, 'issues')]).toEqual([true, 201, []])
    const [first, ...others] = await copies(tenant)
    expect(first?.changing).toBe(0)
    expect(others).toEqual(others.map(() => first))
    for (const name of NAMES) expect(await pointsOf(tenant, name)).toBe(8)
  })

  test.each(['D1_ERROR: Network connection lost.', 'Network connection lost.'])(
    'with a commit that is stored after its error was answered counts in all databases: %s',
    async (text) => {
      const { tenant, system } = await furnished()
      let commit: (() => Promise<D1Result[]>) | null = null
      const app = newApp(
        withFault('DB', async (texts, send) => {
          if (!isCommit(texts) || commit !== null) return send()
          commit = send
          throw new Error(text)
        }),
      )
      const { status } = await tenant.through(app).admin('POST', `/points/${system}/triggers`, trigger(6))
      expect([status, commit]).toEqual([503, expect.any(Function)])
      await Reflect.apply(commit ?? expect.fail(), null, [])
      for (const name of NAMES) expect(await pointsOf(tenant, name)).toBe(6)
    },
  )

  test('no event counts by the version before, once the change was answered', async () => {
    const { tenant, system } = await furnished()
    const apps = [newApp(), newApp(), newApp()].map((send) => tenant.through(send))
    let sent = 0
    let answered = false
    const wrong: unknown[] = []
    const client = async (name: string) => {
      while (!answered || sent < 60) {
        const wasAnswered = answered
        const app = apps[sent % 3]
        sent += 1
        const { status, body } = (await app?.event('words', userIn(tenant, name), 1)) ?? {}
        const added = at(body, 'points', 'xp', 'added') ?? 0
        if (status !== 201 || (wasAnswered && added !== 3)) wrong.push([name, status, added])
      }
    }
    const clients = NAMES.map(client)
    const { status } = await tenant.admin('POST', `/points/${system}/triggers`, trigger(3))
    answered = true
    await Promise.all(clients)
    expect([status, wrong]).toEqual([201, []])
  })

  test('by an isolate that does not know yet that the tenant was spread is in all databases', async () => {
    const tenant = await newTenantInFirst()
    const old = tenant.through(newApp())
    await old.metric('words')
    const system = await old.create('/points', { key: 'xp', name: 'XP' })
    // Meanwhile another isolate spreads the tenant, and uses the copies.
    await spread(tenant.id)
    for (const name of NAMES) {
      expect((await tenant.event('words', userIn(tenant, name), 1)).status).toBe(201)
    }
    const { status, body } = await old.admin('POST', `/points/${system}/triggers`, trigger(4))
    expect([status, at(body, 'issues')]).toEqual([201, []])
    for (const name of NAMES) expect(await pointsOf(tenant, name)).toBe(4)
  })

  test('parallel changes are all stored, in all databases', async () => {
    const { tenant } = await furnished()
    const keys = Array.from({ length: 8 }, (_, n) => `m${n}`)
    const answers = await Promise.all(
      keys.map((key, n) => tenant.through(newApp()).admin('POST', '/metrics', [{ key, name: key + n }])),
    )
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 201))
    for (const key of keys) {
      for (const name of NAMES) {
        expect((await tenant.event(key, userIn(tenant, name), 1)).status).toBe(201)
      }
    }
  })

  test('[S9, A4] begins its work on users in every database', async () => {
    const { tenant } = await furnished()
    for (const name of NAMES) await tenant.event('words', userIn(tenant, name), 10)
    const made = await tenant.admin('POST', '/achievements', [
      { key: 'ten', name: 'Ten', trigger: 'metric', metricKey: 'words', metricValue: 10, status: 'active' },
    ])
    expect([made.status, at(made.body, 'issues')]).toEqual([201, []])
    await env.TIMEKEEPER.getByName(tenant.id).wake(tenant.id, 40)
    for (const name of NAMES) {
      const { body } = await tenant.app('GET', `/users/${userIn(tenant, name)}/achievements`)
      expect(at(body, 0, 'key')).toBe('ten')
    }
  })
})
