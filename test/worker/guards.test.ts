import { describe, expect, it } from 'vitest'
import { tenantActive } from '../../src/access/tenants.sql'
import { removeTenant } from '../../src/features/account/purge.sql'
import { inboxUnchanged } from '../../src/features/events/batches/batches.sql'
import { boostsUnchanged } from '../../src/features/points/boosts.sql'
import { instant } from '../../src/lib/clock'
import type { Statement, TenantDatabase } from '../../src/platform/database'
import { clockUnchanged, configurationUnchanged, isConflict, usersUnchanged } from '../../src/platform/guard'
import { parseUser, storeUser, userStatement } from '../../src/store/users/users.sql.ts'
import { betweenSweeps, nothingElseDue, stillAhead, Work } from '../../src/time/due-work.sql.ts'
import { pendingNotificationsPresent } from '../../src/webhooks/outbox/pending.sql'
import { notSentYet } from '../../src/webhooks/outbox/points-changed.sql'
import { contextOfUsers } from '../helpers/worker/contexts'
import { lastDatabase, newTenantInLast, type TestTenant } from '../helpers/worker/harness'

const AT = instant(1_000)
const TICKS = JSON.stringify({ through: 1_000, sweep: { to: 2_000 } })
const WORK = { kind: 'ticks', subject: '', dueAt: AT, asked: 0, progress: TICKS }
const BUILD = { kind: 'distributions', subject: '2025', dueAt: AT, asked: 0, progress: null }

type Guard = (db: TenantDatabase) => Statement

/** The same for a tenant that does not exist. */
const elsewhere = (db: TenantDatabase) => contextOfUsers(`${db.tenantId}0`).db
const BOOST = {
  ...{ id: 'gone', key: 'gone', created: AT, updated: AT, systemId: 's', userId: null, userIid: null },
  ...{ name: 'b', start: '2026-01-01', end: '2026-01-02', multiplier: 2, userAttributes: [] },
  rounding: 'down',
} as const
const SENT = { userId: 'ada', userIid: 'x', systemId: 's', seq: 1, at: AT, total: 1, dueAt: AT }
const PENDING = { dueAt: AT, id: 'n', userId: 'ada', userIid: 'x', achievementId: 'a' }

/**
 * Each guard of a tenant with the user ada and ticks in progress, in the last database: a call that raises,
 * and a call that holds.
 */
const GUARDS: [name: string, raises: Guard, holds: Guard][] = [
  ['tenantActive', (db) => tenantActive(elsewhere(db)), tenantActive],
  ['configurationUnchanged', (db) => configurationUnchanged(db, 99), (db) => configurationUnchanged(db, 1)],
  [
    'usersUnchanged',
    (db) => usersUnchanged(db, [{ id: 'ada', was: null }]),
    (db) => usersUnchanged(db, [{ id: 'nobody', was: null }]),
  ],
  ['clockUnchanged', (db) => clockUnchanged(db, AT), (db) => clockUnchanged(db, null)],
  [
    'workUnchanged',
    (db) => new Work(db, { ...WORK, asked: 1 }, null).unchanged(),
    (db) => new Work(db, WORK, null).unchanged(),
  ],
  [
    'progressUnchanged',
    (db) => new Work(db, { ...WORK, progress: null }, null).progressUnchanged(),
    (db) => new Work(db, { ...WORK, asked: 1 }, null).progressUnchanged(),
  ],
  ['betweenSweeps', (db) => betweenSweeps(db, 'ticks'), (db) => betweenSweeps(elsewhere(db), 'ticks')],
  [
    'stillAhead',
    (db) => stillAhead(db, 'ticks', instant(2_000)),
    (db) => stillAhead(db, 'ticks', instant(2_001)),
  ],
  [
    'progressUnchanged, with a moment',
    (db) => new Work(db, { ...BUILD, dueAt: instant(2_000) }, null).progressUnchanged(),
    (db) => new Work(db, BUILD, null).progressUnchanged(),
  ],
  ['nothingElseDue', (db) => nothingElseDue(db, 'ticks'), (db) => nothingElseDue(elsewhere(db), 'ticks')],
  ['inboxUnchanged', (db) => inboxUnchanged(db, [{ no: 0, seq: 1 }]), (db) => inboxUnchanged(db, [])],
  ['boostsUnchanged', (db) => boostsUnchanged(db, [BOOST]), (db) => boostsUnchanged(db, [])],
  ['notSentYet', (db) => notSentYet(db, [SENT]), (db) => notSentYet(db, [])],
  [
    'pendingNotificationsPresent',
    (db) => pendingNotificationsPresent(db, [PENDING]),
    (db) => pendingNotificationsPresent(db, []),
  ],
]

/** A tenant with one user, ada, configuration version 1, and two items of due work on users. */
async function withAda(): Promise<{ tenant: TestTenant; db: TenantDatabase }> {
  const tenant = await newTenantInLast()
  await tenant.metric('m')
  expect((await tenant.event('m', 'ada', 1)).status).toBe(201)
  const { d1 } = lastDatabase()
  const due = d1.prepare(
    'INSERT INTO due_work (tenant_id, kind, subject, due_at, progress) VALUES (?1, ?2, ?3, 1000, ?4)',
  )
  await d1.batch([
    due.bind(tenant.id, 'ticks', '', TICKS),
    due.bind(tenant.id, 'distributions', '2025', null),
  ])
  return { tenant, db: contextOfUsers(tenant.id).db }
}

const rename = (db: TenantDatabase, name: string) =>
  db.statement('UPDATE tenants SET name = ?2 WHERE id = ?1', db.tenantId, name)
const nameOf = ({ id }: TestTenant) =>
  lastDatabase().d1.prepare('SELECT name FROM tenants WHERE id = ?1').bind(id).first('name')

/** The error that a batch throws. Fails if it throws none. */
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('Expected an error, but nothing was thrown.'),
    (error: unknown) => error,
  )

describe('[E2, E3] a guard', () => {
  it.each(GUARDS)('%s holds, or raises a conflict that undoes the batch', async (_, raises, holds) => {
    const { tenant, db } = await withAda()
    const before = await nameOf(tenant)
    expect(isConflict(await errorOf(db.batch([rename(db, 'lost'), raises(db)])))).toBe(true)
    expect(await nameOf(tenant)).toBe(before)
    const results = await db.batch([rename(db, 'kept'), holds(db)])
    expect(results[1]?.meta.rows_written).toBe(0)
    expect(await nameOf(tenant)).toBe('kept')
  })

  it('of the statement that stores a user raises a conflict that undoes the batch', async () => {
    const { tenant, db } = await withAda()
    const ada = parseUser(await db.run(userStatement(db, 'ada', AT)))
    if (ada === null) throw new Error('There is no user ada.')
    const next = { ...ada, seq: ada.seq + 1 }
    const before = await nameOf(tenant)
    const late = storeUser(db, next, { version: 1, clock: null, was: { ...ada, seq: ada.seq - 1 } })
    expect(isConflict(await errorOf(db.batch([rename(db, 'lost'), late])))).toBe(true)
    expect(await nameOf(tenant)).toBe(before)
    await db.batch([rename(db, 'kept'), storeUser(db, next, { version: 1, clock: null, was: ada })])
    expect(await nameOf(tenant)).toBe('kept')
  })

  it('of the end of an erasure raises a conflict while data is left', async () => {
    const { db } = await withAda()
    expect(isConflict(await errorOf(removeTenant(db)))).toBe(true)
  })
})

describe('[E2, E3] another error is no conflict', () => {
  it.each([
    ['malformed JSON', "SELECT json('laurel-conflict')"],
    ['malformed JSON in an UPDATE', "UPDATE tenants SET name = json('{laurel-conflict') WHERE id = ?1"],
    ['an invalid JSON path', "SELECT json_extract('{}', 'laurel')"],
    ['a column that does not exist', 'SELECT x FROM tenants WHERE id = ?1'],
    ['a constraint', 'INSERT INTO tenants (id) VALUES (?1)'],
  ])('%s', async (_, sql) => {
    const { tenant, db } = await withAda()
    const statement = sql.includes('?1') ? db.statement(sql, tenant.id) : db.statement(sql)
    const error = await errorOf(db.batch([statement]))
    expect(error).toBeInstanceOf(Error)
    expect(isConflict(error)).toBe(false)
  })

  it('a JavaScript error about data that contains the signal', async () => {
    const text = "bad JSON path: 'laurel-conflict'"
    const error = await errorOf(Promise.resolve(text).then((data): unknown => JSON.parse(data)))
    expect(isConflict(error)).toBe(false)
  })
})
