/**
 * The setup of the bench: a metric for each number of leaderboards, one points system in which each event
 * earns one award, and users.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The numbers of leaderboards that an event updates. Each has a metric. */
export const BOARDS = /** @type {const} */ ([0, 1, 5, 20])
/** The metric with this number of leaderboards. */
const metricOf = (/** @type {number} */ boards) => `bench-lessons-${boards}`
/** The path for events of the metric with this number of leaderboards. */
export const eventPath = (/** @type {number} */ boards) => `/v1/metrics/${metricOf(boards)}/event`

/** The metric with one leaderboard, which has events of all filled users; and its leaderboard. */
export const METRIC = metricOf(1)
export const BOARD = `${METRIC}-board-1`
/** The first page of that leaderboard. */
export const PAGE = `/v1/leaderboards/${BOARD}?limit=10`
export const SYSTEM = 'bench-xp'
/** Points that each event earns. */
export const AWARD = 10
/** Events of each filled user, each with an award and an idempotency key. */
const EARLIER = 2
/** Users with a certain number of earlier events, by their ids. */
export const FEW = { id: 'few', events: 10 }
export const MANY = { id: 'many', events: 10_000 }

/** The id of the user of that number. */
export const userId = (/** @type {number} */ number) => `user-${number}`

const DATABASES = '.wrangler/state/v3/d1/miniflare-D1DatabaseObject'
const CHUNK = 20_000
/** The most time until the files of a stopped Worker are unlocked, in milliseconds. */
const CLOSING = 10_000
/** 2026-01-01: the start of the earlier events, which are one minute apart. */
const FIRST = Date.UTC(2026, 0, 1)

/** @typedef {import('./server.mjs').Server} Server */
/** A server that takes requests. @typedef {Pick<Server, 'ask'>} Asks */
/**
 * @typedef {{ key: string; metricId: string; systemId: string; triggerId: string;
 *   metricIds: string[] }} Scene
 */

/**
 * Creates one item through the admin interface.
 *
 * @param {Asks} server
 * @param {string} key
 * @param {string} path
 * @param {unknown} item
 * @param {number} [patience] in milliseconds
 */
export async function create(server, key, path, item, patience) {
  const options = { key, body: [item], ...(patience !== undefined && { patience }) }
  const { body } = await server.ask('POST', `/admin/v1${path}`, options)
  const [created] = body.created
  if (created === undefined) throw new Error(`POST ${path} created nothing: ${JSON.stringify(body)}`)
  return created
}

/**
 * Configures Laurel through the admin interface, without leaderboards at first.
 *
 * @param {Asks} server
 * @param {string} adminKey
 * @returns {Promise<Scene>} `key` is an admin key that was created through the API, as in a deployment.
 *   `metricId` and `triggerId` belong to the metric with events of filled users
 */
export async function configure(server, adminKey) {
  const post = (/** @type {string} */ path, /** @type {unknown} */ item) =>
    create(server, adminKey, path, item)
  const metricIds = /** @type {string[]} */ ([])
  for (const boards of BOARDS) {
    metricIds.push((await post('/metrics', { key: metricOf(boards), name: `Lessons ${boards}` })).id)
  }
  const levels = [0, 100, 1000, 10_000].map((points) => ({
    key: `l${points}`,
    name: `From ${points}`,
    points,
  }))
  const triggers = metricIds.map((metricId) => ({
    type: 'metric',
    status: 'active',
    metricId,
    metricThreshold: 1,
    points: AWARD,
  }))
  const system = await post('/points', { key: SYSTEM, name: 'XP', levels, triggers })
  const { key } = await post('/admin-api-keys', { name: 'bench' })
  const one = BOARDS.indexOf(1)
  const [metricId, triggerId] = [metricIds[one] ?? '', system.triggers[one].id]
  return { key, metricId, systemId: system.id, triggerId, metricIds }
}

/** Creates all leaderboards. They count the users' events so far. */
export async function addBoards(/** @type {Asks} */ server, /** @type {Scene} */ { key, metricIds }) {
  for (const [index, boards] of BOARDS.entries()) {
    const items = Array.from({ length: boards }, (_, nth) => ({
      key: `${metricOf(boards)}-board-${nth + 1}`,
      name: `Lessons ${boards}, board ${nth + 1}`,
      status: 'active',
      rankBy: 'metric',
      metricId: metricIds[index],
      start: '2026-01-01',
    }))
    if (items.length === 0) continue
    const { body } = await server.ask('POST', '/admin/v1/leaderboards', { key, body: items })
    if (body.created.length !== boards) throw new Error(`leaderboards are missing: ${JSON.stringify(body)}`)
  }
}

/** The user at a place of the leaderboard with all filled users. */
export async function userAtPlace(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {number} */ place,
) {
  const path = `/v1/leaderboards/${BOARD}?limit=1&offset=${place - 1}`
  const { body } = await server.ask('GET', path, { key })
  if (body.rankings[0]?.rank !== place) throw new Error(`nobody is at place ${place}`)
  return String(body.rankings[0].userId)
}

/**
 * Adds users to Laurel's local database up to the given number; the first call also adds the users with few
 * and with many events. The Worker must not run. Every total is the sum of its events and awards.
 *
 * @param {Server} server
 * @param {Scene} scene
 * @param {{ from: number; to: number }} users the numbers of the new users, `to` excluded
 */
export async function fill(server, scene, { from, to }) {
  await inDatabase(server, (database) => {
    const add = adder(database, { ...scene, tenantId: tenantOf(database) })
    if (from === 0) {
      add.named(FEW.id, FEW.events)
      add.named(MANY.id, MANY.events)
    }
    for (let first = from; first < to; first += CHUNK) add.users(first, Math.min(first + CHUNK, to) - 1)
  })
}

/** Adds users without any data to Laurel's local database. The Worker must not run. `to` is excluded. */
export async function fillBare(
  /** @type {Server} */ server,
  /** @type {{ from: number; to: number }} */ { from, to },
) {
  await inDatabase(server, (database) => {
    const span = whole({ first: from, last: to - 1, at: FIRST })
    database.prepare(BARE_USERS).run({ ...span, tenant: tenantOf(database) })
  })
}

/**
 * Adds users to Laurel's local database. The Worker must not run. `lost` users have a streak of five days
 * that ends at a midnight of UTC unless they send an event. `kept` users have already sent it. One more user
 * has an earlier midnight.
 */
export async function fillStreaks(
  /** @type {Server} */ server,
  /** @type {{ lost: number; kept: number; midnight: number; earlier: number }} */ {
    lost,
    kept,
    midnight,
    earlier,
  },
) {
  await inDatabase(server, (database) => {
    const tenant = tenantOf(database)
    const add = (
      /** @type {{ first: number; last: number; due: number; tz: string; day: number }} */ { tz, ...numbers },
    ) => database.prepare(STREAKING_USERS).run({ ...whole({ ...numbers, at: FIRST }), tenant, tz })
    const day = midnight / 86_400_000 - 2
    add({ first: 0, last: lost - 1, due: midnight, tz: 'UTC', day })
    add({ first: lost, last: lost + kept - 1, due: midnight + 86_400_000, tz: 'UTC', day: day + 1 })
    add({ first: lost + kept, last: lost + kept, due: earlier, tz: 'Asia/Kathmandu', day })
    const due = "INSERT INTO due_work (tenant_id, kind, subject, due_at) VALUES (?, 'streaks', '', ?)"
    database.prepare(due).run(tenant, BigInt(earlier))
  })
}

/** The user with a long log: one event per minute, up to three days ago. */
export const LONG_LOG = { id: 'long', events: 500_000 }

/**
 * Adds users with points and a value of an attribute to Laurel's local database, and one user with a long
 * log. The Worker must not run.
 *
 * @param {Server} server
 * @param {{ tenantId: string; attributeId: string; systemId: string; metricId: string; users: number }} what
 *   ids of a tenant and its configuration, and the number of users
 */
export async function fillLarge(server, { tenantId, attributeId, systemId, metricId, users }) {
  await inDatabase(server, (database) => {
    const given = { tenant: tenantId, attribute: attributeId, system: systemId }
    database.prepare(LARGE_TENANT).run({ ...whole({ last: users - 1, at: FIRST }), ...given })
    const { id, events } = LONG_LOG
    const at = Date.now() - 3 * 86_400_000 - events * 60_000
    const numbers = whole({ first: users, last: users, at, events })
    const { last: _last, ...one } = numbers
    database.prepare(LONG_USER).run({ ...one, tenant: tenantId, name: id, metric: metricId })
    database.prepare(EVENTS).run({ ...numbers, metric: metricId })
  })
}

/** The number of awards in Laurel's local database. The Worker must not run. */
export function countAwards(/** @type {Server} */ server) {
  return inDatabase(server, (database) =>
    Number(database.prepare('SELECT count(*) AS awards FROM awards').get()?.awards),
  )
}

/**
 * Works on Laurel's local database. The Worker must not run.
 *
 * @template T
 * @param {Server} server
 * @param {(database: import('node:sqlite').DatabaseSync) => T} work
 */
async function inDatabase({ folder }, work) {
  const database = await openDatabase(folder)
  try {
    database.exec('PRAGMA synchronous = OFF')
    const result = work(database)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return result
  } finally {
    database.close()
  }
}

/** The id of the only tenant. */
const tenantOf = (/** @type {import('node:sqlite').DatabaseSync} */ database) =>
  String(database.prepare('SELECT id FROM tenants').get()?.id)

/** Opens the file of the folder's only D1 database. */
async function openDatabase(/** @type {string} */ folder) {
  // Imported here, because an old Node has no `node:sqlite`. The bench then prints its own error about the
  // version.
  const { DatabaseSync } = await import('node:sqlite')
  for (const name of readdirSync(join(folder, DATABASES))) {
    if (!name.endsWith('.sqlite')) continue
    const database = new DatabaseSync(join(folder, DATABASES, name))
    // The processes of the Worker were just killed, and the system may still be closing their files.
    database.exec(`PRAGMA busy_timeout = ${CLOSING}`)
    if (database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'users'").get() !== undefined)
      return database
    database.close()
  }
  throw new Error(`no local database in ${join(folder, DATABASES)}`)
}

/** The iid of a user by number: an ascending UUID. */
const IID = (/** @type {string} */ number) => `printf('01900000-0000-7000-8000-%012x', ${number})`
/** The same as bytes, as in the log. */
const BYTES = (/** @type {string} */ number) => `unhex(${IID(number)}, '-')`

const USERS = `
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
  INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created,
    updated,
    metrics, points, counters, last_seq_by_input)
  SELECT :tenant, coalesce(:name, 'user-' || i), ${IID('i')}, :events, :at + :events * 60000, 1, '{}', 0, :at,
    :at,
    json_array(json_array(:metric, :events * 1000000, :events * 1000000)), json_object(:system, :events *
      :award), '[]',
    json_object(:metric, :events, :system, :events)
  FROM n`

const BARE_USERS = `
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
  INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created,
    updated,
    metrics, points, counters)
  SELECT :tenant, 'user-' || i, ${IID('i')}, 1, :at, 1, '{}', 0, :at, :at, '[]', '{}', '[]' FROM n`

const LARGE_TENANT = `
  WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :last)
  INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created,
    updated,
    metrics, points, counters)
  SELECT :tenant, 'user-' || i, ${IID('i')}, 1, :at, 1, json_object(:attribute, 'phone ' || i), 0, :at, :at,
    '[]',
    json_object(:system, i % 5000), '[]' FROM n`

const LONG_USER = `
  INSERT INTO users (tenant_id, id, iid, seq, changed, subscribe_to_emails, attributes, control, created,
    updated,
    metrics, points, counters)
  VALUES (:tenant, :name, ${IID(':first')}, :events, :at, 1, '{}', 0, :at, :at,
    json_array(json_array(:metric, :events * 1000000, :events * 1000000)), '{}', '[]')`

const STREAKING_USERS = `
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
  INSERT INTO users (tenant_id, id, iid, seq, changed, tz, subscribe_to_emails, attributes, control, created,
    updated,
    metrics, points, counters, last_seq_by_input, streak, streak_due)
  SELECT :tenant, 'user-' || i, ${IID('i')}, 5, :at, :tz, 1, '{}', 0, :at, :at, '[]', '{}', '[]',
    '{"streak":5}',
    json_object('frequency', 'daily', 'run', json_object('started', :day - 4, 'first', :day - 4, 'last', :day,
      'history', '5e', 'length', 5, 'extended', :at)), :due FROM n`

const EVENTS = `
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last),
    e(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM e WHERE j < :events)
  INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset)
  SELECT ${BYTES('i')}, (SELECT no FROM metrics WHERE id = :metric), :at + j * 60000, j, randomblob(16),
    1000000, 0 FROM n, e`

const AWARDS = `
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last),
    e(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM e WHERE j < :events)
  INSERT INTO awards (user_iid, system_no, at, seq, position, id, awarded, total, utc_offset, trigger_no,
    trigger_version)
  SELECT ${BYTES('i')}, (SELECT no FROM points_systems WHERE id = :system), :at + j * 60000, j, 0,
    randomblob(16), :award, j * :award, 0,
    (SELECT no FROM points_triggers WHERE id = :trigger), 1
  FROM n, e`

const KEYS = `
  INSERT INTO idempotency_keys (user_iid, metric_no, key, event_id)
  SELECT user_iid, metric_no, 'key-' || seq, id FROM events
  WHERE user_iid BETWEEN ${BYTES(':first')} AND ${BYTES(':last')}`

/**
 * Numbers as SQLite integers. A plain number would be bound as a float, and its text would be `1.0`.
 *
 * @template {string} Name
 * @param {Record<Name, number>} numbers
 */
function whole(numbers) {
  const entries = Object.entries(/** @type {Record<string, number>} */ (numbers))
  const found = entries.map(([name, number]) => [name, BigInt(number)])
  return /** @type {Record<Name, bigint>} */ (Object.fromEntries(found))
}

/** Functions that add users with their events and awards, each chunk in one transaction. */
function adder(
  /** @type {import('node:sqlite').DatabaseSync} */ database,
  /** @type {Scene & { tenantId: string }} */ { tenantId, metricId, systemId, triggerId },
) {
  const add = (/** @type {{ first: number; last: number; events: number; name: string | null }} */ given) => {
    const { first, last, events, name } = given
    const span = whole({ first, last, events })
    const { at, award } = whole({ at: FIRST, award: AWARD })
    database.exec('BEGIN')
    const who = { tenant: tenantId, name, at, metric: metricId, system: systemId, award }
    database.prepare(USERS).run({ ...span, ...who })
    database.prepare(EVENTS).run({ ...span, at, metric: metricId })
    database.prepare(AWARDS).run({ ...span, at, system: systemId, award, trigger: triggerId })
    database.prepare(KEYS).run(whole({ first, last }))
    database.exec('COMMIT')
  }
  // Named users have numbers that follow from their events, far from the others' numbers.
  return {
    users: (/** @type {number} */ first, /** @type {number} */ last) =>
      add({ first, last, events: EARLIER, name: null }),
    named: (/** @type {string} */ name, /** @type {number} */ events) =>
      add({ first: 1e9 + events, last: 1e9 + events, events, name }),
  }
}
