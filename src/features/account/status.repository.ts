import * as z from 'zod'
import type { AccountDatabase } from '../../platform/database'
import type { Statement } from '../../platform/statement'

/*
 * No statement reads more than 20,000 rows, however many users and messages there are. Each table is read up
 * to a number of rows first, and then the tenants of these rows: an archived tenant's work waits (T3).
 */

/** The most rows of a table that are counted. */
export const MOST_COUNTED = 5_000

const ACTIVE = "JOIN tenants t ON t.id = read.tenant_id AND t.status = 'active'"
const INBOX = `
  SELECT coalesce(sum(read.count - read.done), 0) AS found
  FROM (SELECT tenant_id, count, done FROM inbox ORDER BY no LIMIT ${MOST_COUNTED}) read ${ACTIVE}`
const OUTBOX = `
  SELECT count(*) AS found FROM (SELECT tenant_id FROM outbox LIMIT ${MOST_COUNTED}) read ${ACTIVE}`

/** The events of batches that wait for their turn, in the first 5,000 rows, of at most 250 events each. */
export const inboxStatement = (db: AccountDatabase): Statement => db.statement(INBOX)

/** The changes whose messages wait to be handed over to delivery queues; 5,000 at most. */
export const outboxStatement = (db: AccountDatabase): Statement => db.statement(OUTBOX)

/** The number that one of the two statements found. */
export const parseCount = ({ results }: D1Result): number =>
  z.object({ found: z.number() }).parse(results[0]).found

// A tenant has a delivery queue for email or push once it has a template for that channel.
const DESTINATIONS = `
  SELECT 'webhook:' || read.id AS name FROM (
    SELECT id, tenant_id FROM webhooks WHERE deleted IS NULL LIMIT ${MOST_COUNTED}) read ${ACTIVE}
  UNION ALL SELECT DISTINCT read.channel || ':' || read.tenant_id FROM (
    SELECT channel, tenant_id FROM notification_templates WHERE deleted IS NULL
    LIMIT ${MOST_COUNTED}) read ${ACTIVE}`

/** The names of the delivery queues of active tenants. */
export const destinationsStatement = (db: AccountDatabase): Statement => db.statement(DESTINATIONS)

export const parseDestinations = ({ results }: D1Result): string[] =>
  z
    .array(z.object({ name: z.string() }))
    .parse(results)
    .map(({ name }) => name)
