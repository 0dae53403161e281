import { countedUsers } from './analytics.table'
import { ERASED_EVENTS } from './figures.repository'

/*
 * The data of the analytics in each database with users, for buckets that move (B3). A database
 * adds the changes of its users to its own figures, and the figures of all databases are added up. So the
 * figures stay when a user leaves, and the state in which the user is counted moves along.
 */

/** The table of the states in which users are counted. */
export const COUNTED_USERS = countedUsers

/** The moment from which on the next pass has to read the logs; null for all of them. The levels, by name. */
export const READ_PASS = 'SELECT since, ladder FROM analytics_passes WHERE tenant_id = ?1'

/**
 * Lets the next pass of a database find what is not counted yet of users who arrive: it reads the logs from
 * the earlier moment of both, and visits all users if they were counted by other levels. ?2 and ?3 are the
 * other database's; ?2 is null if it has no pass.
 */
export const JOIN_PASS = `
  UPDATE analytics_passes SET since = CASE WHEN since IS NULL OR ?2 IS NULL THEN NULL ELSE min(since, ?2) END,
    ladder = CASE WHEN ladder = ?3 THEN ladder ELSE '' END
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
