/** Rows of the log, stored behind Laurel's back: more events and awards than requests could send in a test. */
import { bytes, number, numbered } from '../readable'
import { rowsEverywhere } from './harness'

/**
 * Stores many events of a user, one a millisecond after a moment, in UTC, with the same value. The counters of the user
 * stay as they are.
 */
export async function manyEvents(
  { id }: { id: string },
  { user = 'ada', metric, count, after, value = 1, attributes = {} }: ManyEvents,
): Promise<void> {
  await rowsEverywhere(
    `INSERT INTO events (user_iid, metric_no, at, seq, id, value, utc_offset, attributes)
     WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?4)
     SELECT ${bytes('iid')}, ${number('metrics', '?3')}, ?5 + n, 0, ${numbered('n')}, ?6, 0, ?7
     FROM users, n WHERE tenant_id = ?1 AND id = ?2`,
    ...[id, user, metric, count, after, value * 1e6],
    Object.keys(attributes).length === 0 ? null : JSON.stringify(attributes),
  )
}

/** Stores many awards of a user in the same way, of one point each. */
export async function manyAwards(
  { id }: { id: string },
  { user = 'ada', system, count, after }: Omit<ManyEvents, 'metric'> & { system: string },
): Promise<void> {
  await rowsEverywhere(
    `INSERT INTO awards (user_iid, system_no, at, seq, position, id, awarded, total, utc_offset, trigger_no,
       trigger_version)
     WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?4)
     SELECT ${bytes('iid')}, ${number('points_systems', '?3')}, ?5 + n, 0, 0, ${numbered('n')}, 1, n, 0, 1, 1
     FROM users, n WHERE tenant_id = ?1 AND id = ?2`,
    ...[id, user, system, count, after],
  )
}

type ManyEvents = {
  user?: string
  metric: string
  count: number
  /** In milliseconds since 1970. */
  after: number
  value?: number
  /** The values by the ids of the attributes. */
  attributes?: Record<string, string>
}
