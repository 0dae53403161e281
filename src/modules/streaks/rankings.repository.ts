import * as z from 'zod'
import type { TenantDatabase } from '../../db/database'
import { type Instant, instant } from '../../shared/clock'
import { USERS } from '../achievements/tallies.repository'
import { NO_PREFERENCES, Preferences } from '../preferences/preferences'
import { json } from '../users/users.repository'
import type { StreakSettings } from './streaks.settings'
import { parseStreak } from './streaks.state'

/** A user with the length of a streak. */
const Ranked = z.object({ userId: z.string(), length: z.number() })
export type Ranked = z.infer<typeof Ranked>

const COUNTED = z.object({ count: z.number() })
const COUNT = `SELECT count FROM tallies WHERE tenant_id = ?1 AND name = '${USERS}'`

/** The most users of one page, and of pages: while a great midnight is under way, whoever is beyond them is not looked at. */
const PAGE = 1_000
const PAGES = 5

const OVERDUE = `
  SELECT id, tz, created, streak, streak_due AS due, preferences FROM users
  WHERE tenant_id = ?1 AND streak_due IS NOT NULL AND (streak_due, id) > (?3, ?4) AND streak_due <= ?2
    AND streak ->> '$.run.length' > 0
  ORDER BY streak_due, id LIMIT ?5`

const OverdueRow = z
  .object({
    id: z.string(),
    tz: z.string().nullable(),
    created: z.number().transform(instant),
    streak: z.string(),
    due: z.number(),
    preferences: json(Preferences).nullable(),
  })
  .transform(({ streak, due, preferences, tz, ...user }) => ({
    ...user,
    streak: parseStreak(streak, due),
    preferences: preferences ?? NO_PREFERENCES,
    profile: { tz },
    due,
  }))

/** Users with a streak whose deadline is past, so that it may be over although nobody has judged it yet. */
export async function* overdueOf(
  db: TenantDatabase,
  now: Instant,
): AsyncGenerator<z.output<typeof OverdueRow>> {
  let after = { due: -1, id: '' }
  for (let page = 0; page < PAGES; page += 1) {
    const statement = db.statement(OVERDUE, db.tenantId, now, after.due, after.id, PAGE)
    const users = z.array(OverdueRow).parse(await db.rows(statement))
    yield* users
    const last = users.at(-1)
    if (last === undefined || users.length < PAGE) return
    after = last
  }
}

const LIVE = `
  SELECT id AS userId, streak ->> '$.run.length' AS length FROM users
  WHERE tenant_id = ?1 AND streak_due > ?3 AND streak ->> '$.frequency' = ?2 AND coalesce(streak ->> '$.epoch', 0) = ?5
    AND streak ->> '$.run.length' > 0
  ORDER BY 2 DESC, 1 LIMIT ?4`

// Each user is looked at: lengths stand in no index, which would cost every extension a row.
const LONGEST = `
  SELECT id AS userId, max(coalesce(streak ->> '$.run.length', 0),
    coalesce((SELECT max(length) FROM streak_runs WHERE user_iid = users.iid), 0)) AS length FROM users
  WHERE tenant_id = ?1 AND streak ->> '$.frequency' = ?2 AND coalesce(streak ->> '$.epoch', 0) = ?4
  ORDER BY 2 DESC, 1 LIMIT ?3`

/** The best so many, longest first, and how many users the tenant has. */
export type Best = { best: Ranked[]; users: number }

/** The longest streaks whose deadline is to come: they have the length that is stored. */
export function bestLive(
  db: TenantDatabase,
  { frequency, epoch }: Pick<StreakSettings, 'frequency' | 'epoch'>,
  now: Instant,
  limit: number,
): Promise<Best> {
  return best(db, db.statement(LIVE, db.tenantId, frequency, now, limit, epoch))
}

/** The longest streaks that users ever had, those that are over among them. */
export function bestEver(
  db: TenantDatabase,
  { frequency, epoch }: Pick<StreakSettings, 'frequency' | 'epoch'>,
  limit: number,
): Promise<Best> {
  return best(db, db.statement(LONGEST, db.tenantId, frequency, limit, epoch))
}

async function best(db: TenantDatabase, statement: D1PreparedStatement): Promise<Best> {
  const [found, counted] = await db.batch([statement, db.statement(COUNT, db.tenantId)])
  return {
    best: z
      .array(Ranked)
      .parse(found?.results)
      .filter(({ length }) => length > 0),
    users: z.array(COUNTED).parse(counted?.results)[0]?.count ?? 0,
  }
}

const NAMES = `
  SELECT u.id, u.name FROM json_each(?2) asked CROSS JOIN users u ON u.tenant_id = ?1 AND u.id = asked.value`

/** The names of users; those who don't exist are not among them. */
export async function namesOf(
  db: TenantDatabase,
  userIds: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const rows = z
    .array(z.object({ id: z.string(), name: z.string().nullable() }))
    .parse(await db.rows(db.statement(NAMES, db.tenantId, JSON.stringify(userIds))))
  return new Map(rows.map(({ id, name }) => [id, name]))
}
