import * as z from 'zod'
import { readable } from '../helpers/readable'
import { rowsEverywhere } from '../helpers/worker/harness'

/** Reads the rows of a tenant directly, without any query of the service. */

const json = <S extends z.ZodType>(schema: S) =>
  z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(schema)

const [text, number, texts] = [z.string(), z.number(), z.record(z.string(), z.string())] as const

const UserRow = z.object({
  ...{ id: text, iid: text, seq: number, created: number, control: number },
  ...{ tz: text.nullable(), sign_up_date: text.nullable(), attributes: json(texts) },
  metrics: json(z.array(z.tuple([text, number, number]))),
  points: json(z.record(text, number)),
  streak: json(
    z.object({ run: z.object({ length: number }).nullish(), freezes: number.default(0) }),
  ).nullable(),
  achievements: json(z.array(z.tuple([text, text, number, number]))),
})
export type UserRow = z.output<typeof UserRow>

const EventRow = z.object({
  ...{ user_iid: text, metric_id: text, at: number, seq: number, id: text, value: number },
  ...{ utc_offset: number, attributes: json(texts).nullable() },
})
export type EventRow = z.output<typeof EventRow>

const AwardRow = z.object({
  ...{ user_iid: text, system_id: text, at: number, seq: number, position: number, id: text },
  ...{ awarded: number, total: number, utc_offset: number, trigger_id: text },
})
export type AwardRow = z.output<typeof AwardRow>

const KeyRow = z.object({ user_iid: text, metric_id: text, key: text, event_id: text })
export type KeyRow = z.output<typeof KeyRow>

/** The stored data of a tenant that invariants check. */
export type Stored = {
  users: UserRow[]
  /** By user, in the order in which they happened. */
  events: Map<string, EventRow[]>
  awards: Map<string, AwardRow[]>
  keys: KeyRow[]
  counts: Readonly<Record<string, number>>
  tenantCounters: Map<string, number>
}

/** The rows of all databases. All rows of a user are in one of them. */
const all = async <S extends z.ZodType>(schema: S, sql: string, ...params: unknown[]) =>
  z.array(schema).parse(await rowsEverywhere(sql, ...params))

const Count = z.object({ name: text, count: number })

const OF_NOBODY = 'WHERE user_iid IS NOT NULL AND user_iid NOT IN (SELECT iid FROM users)'
const NOW = '(SELECT now FROM test_clock)'

/** Rows that must not exist once all work is done. */
const COUNTED = {
  'rows in the outbox': 'outbox',
  'parts of batches in the inbox': 'inbox',
  'batches that are not done': 'event_batches WHERE processed + dropped <> accepted',
  'parked events': 'parked_events',
  'points notifications that are due': `points_notifications WHERE due_at <= ${NOW}`,
  'erasures in progress': "due_work WHERE kind = 'erasure'",
  'overdue work': `due_work WHERE due_at < ${NOW}`,
  'events without a user': `${readable.events} ${OF_NOBODY}`,
  'awards without a user': `${readable.awards} ${OF_NOBODY}`,
  'keys without a user': `${readable.idempotency_keys} ${OF_NOBODY}`,
  'streaks without a user': `streak_runs ${OF_NOBODY}`,
  'pauses without a user': `streak_pauses ${OF_NOBODY}`,
  'pending notifications without a user': `pending_notifications ${OF_NOBODY}`,
  'points notifications without a user': `points_notifications ${OF_NOBODY}`,
} as const

/** Only one tenant has users. So all rows are read, also those that belong to no user. */
export async function storedOf(tenantId: string): Promise<Stored> {
  const events = await all(EventRow, `SELECT * FROM ${readable.events} ORDER BY user_iid, seq`)
  const awards = await all(AwardRow, `SELECT * FROM ${readable.awards} ORDER BY user_iid, seq, position`)
  const counts: Record<string, number> = {}
  for (const [name, where] of Object.entries(COUNTED)) {
    const found = await all(z.object({ count: number }), `SELECT count(*) AS count FROM ${where}`)
    counts[name] = found.reduce((sum, { count }) => sum + count, 0)
  }
  const users = await all(UserRow, 'SELECT * FROM users WHERE tenant_id = ?1', tenantId)
  // The first database also has the boosts of users who are in other ones.
  const ofUsers = 'SELECT user_iid FROM points_boosts WHERE user_iid IS NOT NULL'
  const boosts = await all(z.object({ user_iid: text }), ofUsers)
  const iids = new Set(users.map(({ iid }) => iid))
  counts['boosts without a user'] = boosts.filter(({ user_iid }) => !iids.has(user_iid)).length
  const counters = await all(Count, 'SELECT name, count FROM tenant_counters WHERE tenant_id = ?1', tenantId)
  const tenantCounters = new Map<string, number>()
  for (const { name, count } of counters) tenantCounters.set(name, (tenantCounters.get(name) ?? 0) + count)
  return {
    users: users.sort((a, b) => (a.id < b.id ? -1 : 1)),
    events: Map.groupBy(events, ({ user_iid }) => user_iid),
    awards: Map.groupBy(awards, ({ user_iid }) => user_iid),
    keys: await all(KeyRow, `SELECT * FROM ${readable.idempotency_keys}`),
    counts,
    tenantCounters,
  }
}
