/**
 * What the bench plays on: one metric, one points system in which each event earns one award, and users.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

export const METRIC = 'bench-lessons'
export const SYSTEM = 'bench-xp'
/** Points that each event earns. */
export const AWARD = 10
/** Events, each with an award and an idempotency key, that each user has from the beginning. */
const EARLIER = 2
/** Users who have so many earlier events, by their ids. */
export const FEW = { id: 'few', events: 10 }
export const MANY = { id: 'many', events: 10_000 }

/** The id of the user of that number. */
export const userId = (/** @type {number} */ number) => `user-${number}`

const DATABASES = '.wrangler/state/v3/d1/miniflare-D1DatabaseObject'
const CHUNK = 20_000
/** 2026-01-01: when the earlier events begin, a minute apart. */
const FIRST = Date.UTC(2026, 0, 1)

/** @typedef {{ key: string; metricId: string; systemId: string; triggerId: string }} Scene */

/**
 * Configures ours through the admin interface.
 *
 * @param {import('./server.mjs').Server} server
 * @param {string} adminKey
 * @returns {Promise<Scene>} `key` is an admin key made through the interface, as a deployment uses them
 */
export async function configure(server, adminKey) {
  const post = async (/** @type {string} */ path, /** @type {unknown} */ item) => {
    const { body } = await server.ask('POST', `/admin/v1${path}`, { key: adminKey, body: [item] })
    const [created] = body.created
    if (created === undefined) throw new Error(`POST ${path} created nothing: ${JSON.stringify(body)}`)
    return created
  }
  const metric = await post('/metrics', { key: METRIC, name: 'Lessons' })
  const levels = [0, 100, 1000, 10_000].map((points) => ({
    key: `l${points}`,
    name: `From ${points}`,
    points,
  }))
  const earn = { type: 'metric', status: 'active', metricId: metric.id, metricThreshold: 1, points: AWARD }
  const system = await post('/points', { key: SYSTEM, name: 'XP', levels, triggers: [earn] })
  const { key } = await post('/admin-api-keys', { name: 'bench' })
  return { key, metricId: metric.id, systemId: system.id, triggerId: system.triggers[0].id }
}

/**
 * Puts users into the local database of ours, which must not run, up to the given number; at first also those with few
 * and with many events. Every total is what its events and awards add up to.
 *
 * @param {import('./server.mjs').Server} server
 * @param {Scene} scene
 * @param {{ from: number; to: number }} users the numbers of those to add, `to` excluded
 */
export async function fill(server, scene, { from, to }) {
  const database = await openDatabase(server.folder)
  try {
    database.exec('PRAGMA synchronous = OFF')
    const [tenant] = database.prepare('SELECT id FROM tenants').all()
    const add = adder(database, { ...scene, tenantId: String(tenant?.id) })
    if (from === 0) {
      add.named(FEW.id, FEW.events)
      add.named(MANY.id, MANY.events)
    }
    for (let first = from; first < to; first += CHUNK) add.users(first, Math.min(first + CHUNK, to) - 1)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

/** Opens the file of the one D1 database that the folder's project has. */
async function openDatabase(/** @type {string} */ folder) {
  // Loaded only here: an older Node than the bench's own has none, and should be told so in a sentence.
  const { DatabaseSync } = await import('node:sqlite')
  for (const name of readdirSync(join(folder, DATABASES))) {
    if (!name.endsWith('.sqlite')) continue
    const database = new DatabaseSync(join(folder, DATABASES, name))
    if (database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'users'").get() !== undefined)
      return database
    database.close()
  }
  throw new Error(`no local database in ${join(folder, DATABASES)}`)
}

/** The internal id of a user by number, a UUID that ascends. */
const IID = (/** @type {string} */ number) => `printf('01900000-0000-7000-8000-%012x', ${number})`

const USERS = `
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
  INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created, updated,
    metrics, points, counters)
  SELECT :tenant, coalesce(:name, 'user-' || i), ${IID('i')}, :events, :at + :events * 60000, 1, '{}', 0, :at, :at,
    json_array(json_array(:metric, :events * 1000000, :events * 1000000)), json_object(:system, :events * :award), '[]'
  FROM n`

const EVENTS = `
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last),
    e(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM e WHERE j < :events)
  INSERT INTO events (user_iid, metric_id, at, seq, id, value, utc_offset)
  SELECT ${IID('i')}, :metric, :at + j * 60000, j, lower(hex(randomblob(18))), 1000000, 0 FROM n, e`

const AWARDS = `
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last),
    e(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM e WHERE j < :events)
  INSERT INTO awards (user_iid, system_id, at, seq, position, id, awarded, total, utc_offset, trigger_id, trigger_version)
  SELECT ${IID('i')}, :system, :at + j * 60000, j, 0, lower(hex(randomblob(18))), :award, j * :award, 0, :trigger, 1
  FROM n, e`

const KEYS = `
  INSERT INTO idempotency_keys (user_iid, metric_id, key, event_id)
  SELECT user_iid, metric_id, 'key-' || seq, id FROM events
  WHERE user_iid BETWEEN ${IID(':first')} AND ${IID(':last')}`

/** The statements that add users with their events and awards, each chunk in one transaction. */
function adder(
  /** @type {import('node:sqlite').DatabaseSync} */ database,
  /** @type {Scene & { tenantId: string }} */ { tenantId, metricId, systemId, triggerId },
) {
  const add = (/** @type {{ first: number; last: number; events: number; name: string | null }} */ given) => {
    const { first, last, events, name } = given
    const span = { first, last, events }
    database.exec('BEGIN')
    const who = { tenant: tenantId, name, at: FIRST, metric: metricId, system: systemId, award: AWARD }
    database.prepare(USERS).run({ ...span, ...who })
    database.prepare(EVENTS).run({ ...span, at: FIRST, metric: metricId })
    database.prepare(AWARDS).run({ ...span, at: FIRST, system: systemId, award: AWARD, trigger: triggerId })
    database.prepare(KEYS).run({ first, last })
    database.exec('COMMIT')
  }
  // Those with a name are numbered by their events, far from the others' numbers.
  return {
    users: (/** @type {number} */ first, /** @type {number} */ last) =>
      add({ first, last, events: EARLIER, name: null }),
    named: (/** @type {string} */ name, /** @type {number} */ events) =>
      add({ first: 1e9 + events, last: 1e9 + events, events, name }),
  }
}
