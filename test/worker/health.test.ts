import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { IMPLICIT_TENANT_ID } from '../../src/access/tenants.sql'
import { NEEDED_MIGRATION } from '../../src/platform/schema-version.sql'
import { intercepted, lastAway } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  at,
  call,
  databases,
  lastDatabase,
  newApp,
  newTenantInLast,
  rowsEverywhere,
} from '../helpers/worker/harness'
import { forgetLines, linesSoFar } from '../helpers/worker/lines'

const asked = (overrides: Parameters<typeof newApp>[0] = {}) => call(newApp(overrides), 'GET', '/health')
const health = async (overrides: Parameters<typeof newApp>[0] = {}) => {
  const { status, body } = await asked(overrides)
  return [status, body]
}

const { number, name: needed } = NEEDED_MIGRATION
const stored = env.DB.prepare('SELECT migration, name, oldest FROM schema_version')
let before: Record<string, unknown> | null = null

const RESTORE = 'UPDATE schema_version SET migration = ?1, name = ?2, oldest = ?3'
/** Stores the version again that the migrations have left. */
const restoreVersion = () => rowsEverywhere(RESTORE, ...Object.values(before ?? {}))

/** Changes the tables of the last database. */
const inLast = (sql: string) => lastDatabase().d1.prepare(sql).run()

beforeAll(async () => {
  before = await stored.first()
})

describe('[G1] health', () => {
  afterEach(restoreVersion)

  it('is 200 if everything is there', async () => {
    expect(before).toEqual({ migration: number, name: needed, oldest: expect.any(Number) })
    expect(await health()).toEqual([200, { status: 'ok' }])
  })

  it.each(['OUTBOX', 'REPAIRS', 'ADMIN_LIMIT', 'TIMEKEEPER', 'KEYS'] as const)(
    'is 503 without the binding %s, and names it',
    async (name) => {
      const [status, body] = await health({ [name]: undefined })
      expect(status).toBe(503)
      expect(JSON.stringify(body)).toContain(name)
    },
  )

  it('[N4] is 200 with variables that only a start refuses, and the log names them without their values', async () => {
    const secret = `"${'x'.repeat(32)}"`
    const wrong = { ADMIN_HOST: 'https://admin.example', EMAIL_FROM: 'Ada', TOKEN_SECRET: secret }
    forgetLines()
    expect(await health(wrong)).toEqual([200, { status: 'ok' }])
    const log = linesSoFar().join('\n')
    expect([...new Set(log.match(/[A-Z_]+(?= must)/g))].sort()).toEqual(Object.keys(wrong))
    for (const value of ['admin.example', 'Ada', 'xxx']) expect(log).not.toContain(`${value}"`)
  })

  it('is 503 with Retry-After while it is starting', async () => {
    const setStatus = (status: string) =>
      env.DB.prepare('UPDATE tenants SET status = ?1 WHERE id = ?2').bind(status, IMPLICIT_TENANT_ID).run()
    await setStatus('archived')
    try {
      const { status, headers } = await asked()
      expect([status, headers.get('Retry-After')]).toEqual([503, '5'])
    } finally {
      await setStatus('active')
    }
  })

  it('[B3] is 503 and names a database that holds users and is not bound, also if many tenants come before', async () => {
    const insert = env.DB.prepare(`
      INSERT INTO directory (tenant_id, version, places, placements)
      SELECT 'many ' || value, 1, json_array(json_array(0, 'DB'), json_array(9, ?2)), '{}'
      FROM json_each(?1)`)
    const ids = JSON.stringify(Array.from({ length: 300 }, (_, n) => 1_000 + n))
    const move = env.DB.prepare(`UPDATE directory SET places = ?1 WHERE tenant_id = 'many z'`)
    const place = (name: string) => move.bind(JSON.stringify([[0, name]])).run()
    try {
      await env.DB.batch([insert.bind(ids, 'DB'), insert.bind('["z"]', 'DB_77')])
      const [status, body] = await health()
      expect([status, at(body, 'error')]).toEqual([503, expect.stringContaining('DB_77')])
      // All users have left it.
      await place('DB')
      expect((await health())[0]).toBe(200)
      await place('DB_78')
      expect((await health())[0]).toBe(503)
    } finally {
      await env.DB.prepare("DELETE FROM directory WHERE tenant_id LIKE 'many %'").run()
    }
    expect((await health())[0]).toBe(200)
  })

  it('is 503 while a migration is missing, and names it', async () => {
    await inLast("UPDATE schema_version SET migration = migration - 1, name = 'earlier'")
    const { status, headers, body } = await asked()
    expect([status, headers.get('Retry-After')]).toEqual([503, null])
    expect(JSON.stringify(body)).toContain(needed)
  })

  // Under `npm run serve`, the server tries it. test/long/server/storage.test.ts has the file systems.
  it.each([
    ['', 200, { status: 'ok' }],
    ['ENOSPC', 200, { status: 'ok', storage: 'full' }],
    ['EDQUOT', 200, { status: 'ok', storage: 'full' }],
    ['EROFS', 503, { error: expect.stringMatching(/^Nothing can be stored: .*EROFS/) }],
    ['EIO', 503, { error: expect.stringMatching(/^Nothing can be stored: .*EIO/) }],
  ])('says what becomes of changes if writing to the disk fails with "%s"', async (code, status, body) => {
    const SERVER = Object.create(env.ASSETS, { fetch: { value: async () => new Response(code) } })
    expect(await health({ SERVER })).toEqual([status, body])
  })

  it.skipIf(databases().length === 1)('is 200 while another database than the first is away', async () => {
    expect((await health(lastAway()))[0]).toBe(200)
    const { name, d1 } = lastDatabase()
    const silent = intercepted(d1, () => new Promise(() => undefined))
    expect((await health({ [name]: silent }))[0]).toBe(200)
  })
})

describe('[G2] with tables of another version', () => {
  afterEach(async () => {
    await inLast('ALTER TABLE later_users RENAME TO users')
    await restoreVersion()
  })

  it.each([
    ['0099_later', "UPDATE schema_version SET migration = 99, name = '0099_later', oldest = 98"],
    [needed, "UPDATE schema_version SET migration = migration - 1, name = 'earlier'"],
  ])('requests are answered with 503, Retry-After and the migration %s', async (name, sql) => {
    const tenant = await newTenantInLast(newApp({ DB: env.DB }))
    await tenant.metric('steps')
    await inLast('ALTER TABLE users RENAME TO later_users')
    await inLast(sql)
    for (const { status, headers, body } of [
      await tenant.event('steps', 'ada', 1, { idempotencyKey: 'k' }),
      await tenant.app('GET', '/users/ada'),
    ]) {
      expect([status, headers.get('Retry-After')]).toEqual([503, '5'])
      expect(at(body, 'error')).toContain(name)
    }
  })
})

describe('[G2] a request that fails on tables that fit', () => {
  /** D1 whose first batch fails after a statement in the last database, as if the tables had not fitted. */
  const failingOnce = (sql: string) => {
    let isFirst = true
    return intercepted(env.DB, async ({ run }) => {
      if (!isFirst) return run()
      isFirst = false
      await inLast(sql)
      throw new Error('D1_ERROR: no such column: history: SQLITE_ERROR')
    })
  }
  const answerTo = async (sql: string) => {
    const request = new Request('http://laurel.test/v1/users/ada', { headers: { 'x-api-key': ADMIN_KEY } })
    const response = await newApp({ DB: failingOnce(sql) })(request)
    const after = response.headers.get('Retry-After')
    return { status: response.status, text: await response.text(), after }
  }
  const applied = (time: string) =>
    `UPDATE d1_migrations SET applied_at = ${time} WHERE name LIKE '${needed}%'`

  afterEach(async () => {
    await inLast(applied("'2026-01-01'"))
  })

  it('gets 503 and the name of the migration if one was applied during it', async () => {
    const { status, text, after } = await answerTo(applied("datetime(unixepoch(), 'unixepoch')"))
    expect([status, after]).toEqual([503, '5'])
    expect(text).toContain(needed)
  })

  it('gets 500 if the migrations were applied before it', async () => {
    const { status, after } = await answerTo(applied("datetime(unixepoch() - 2, 'unixepoch')"))
    expect([status, after]).toEqual([500, null])
  })
})
