import { countedUsers } from './analytics.table'
import { ERASED_EVENTS } from './figures.repository'
import { parseProgress } from './pass.codec'

/*
 * The data of the analytics in each database with users, for buckets that move (B3). A database
 * adds the changes of its users to its own figures, and the figures of all databases are added up. So the
 * figures stay when a user leaves, and the state in which the user is counted moves along.
 */

/** The table of the states in which users are counted. */
export const COUNTED_USERS = countedUsers

/**
 * When the last pass began. The moment from which on the next pass has to read the logs; null for all of
 * them. The levels, by name.
 */
export const READ_PASS = 'SELECT updated, since, ladder FROM analytics_passes WHERE tenant_id = ?1'

/**
 * Up to which moment the changes of users are counted who leave a database with this pass and this work; null
 * if all of their changes are, or if it is not known.
 */
export function countedUntil(
  pass: { updated: number } | null,
  works: readonly { kind: string; progress: string | null }[],
): number | null {
  const due = works.find(({ kind }) => kind === 'analytics')
  if (due === undefined) return null
  return Math.max(pass?.updated ?? 0, parseProgress(due.progress).until ?? 0) || null
}

/**
 * Gives a database without users the pass of the one from which the first ones arrive: they were counted by
 * it. ?2 to ?4 are its moments and its levels. Comes before the users.
 */
export const TAKE_PASS = `
  INSERT INTO analytics_passes (tenant_id, updated, since, ladder) SELECT ?1, ?2, ?3, ?4
  WHERE NOT EXISTS (SELECT 1 FROM users WHERE tenant_id = ?1) ON CONFLICT DO NOTHING`

/**
 * Lets the next pass of a database find what is not counted yet of users who arrive: it reads the logs from
 * the earlier moment of both, and visits all users if they were counted by other levels. ?2 and ?3 are the
 * other database's; ?2 is null if it has no pass. The pass is no later than the moment up to which these
 * users are counted, ?4, if that is not null.
 */
export const JOIN_PASS = `
  UPDATE analytics_passes SET since = CASE WHEN since IS NULL OR ?2 IS NULL THEN NULL ELSE min(since, ?2) END,
    ladder = CASE WHEN ladder = ?3 THEN ladder ELSE '' END, updated = min(updated, coalesce(?4, updated))
  WHERE tenant_id = ?1`

/** All figures of a database that holds no users any more, and their addition to those of another one. */
export const READ_FIGURES = `
  SELECT json_array(figure, subject_no, day, part, amount) AS row FROM analytics_figures WHERE tenant_id = ?1`
export const ADD_FIGURES = `
  INSERT INTO analytics_figures (tenant_id, figure, subject_no, day, part, amount)
  SELECT ?2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET amount = amount + excluded.amount`
export const FORGET_FIGURES = [
  'DELETE FROM analytics_figures WHERE tenant_id = ?1',
  'DELETE FROM analytics_passes WHERE tenant_id = ?1',
] as const

/**
 * The number of events that the analytics of a database have counted, of all its tenants, without those of
 * users who were erased.
 */
export const EVENTS_OF_FIGURES = `
  SELECT coalesce(sum(f.amount), 0) AS n FROM tenants t
  CROSS JOIN analytics_figures f
    ON f.tenant_id = t.id AND f.figure IN ('events', '${ERASED_EVENTS}') AND f.subject_no = 0`
