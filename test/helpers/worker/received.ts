import * as z from 'zod'
import { type Message, StoredMessages } from '../../../src/webhooks/outbox/outbox'
import { databases, rowsEverywhere, type TestTenant } from './harness'

/**
 * Keeps all rows that were ever in the outbox, also after they were sent: a trigger of the tests' databases
 * copies each row. The copies are in the order of insertion.
 */
export async function keepTold(): Promise<void> {
  await rowsEverywhere(
    'CREATE TABLE IF NOT EXISTS test_told (no INTEGER PRIMARY KEY, tenant_id TEXT, at INTEGER, user_iid TEXT, messages TEXT)',
  )
  await rowsEverywhere(
    `CREATE TRIGGER IF NOT EXISTS test_told AFTER INSERT ON outbox BEGIN
       INSERT INTO test_told (tenant_id, at, user_iid, messages)
         VALUES (new.tenant_id, new.at, new.user_iid, new.messages); END`,
  )
}

const Row = z.object({
  at: z.number(),
  userIid: z.string().nullable(),
  userId: z.string().nullable(),
  messages: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(StoredMessages),
})

/**
 * A message with its due time, in ms, and the caller's id of its user. The id is null if the user is gone or
 * there is none.
 */
export type Told = Message & { at: number; user: string | null }

/**
 * All messages of a tenant that were ever in the outbox, with types of this prefix, in the order of
 * insertion. Those of several databases are in the order of their due times.
 */
export async function toldOf({ id }: TestTenant, prefix = ''): Promise<Told[]> {
  const rows = await rowsEverywhere(
    `SELECT t.at, t.user_iid AS userIid, u.id AS userId, t.messages FROM test_told t
     LEFT JOIN users u ON u.tenant_id = t.tenant_id AND u.iid = t.user_iid WHERE t.tenant_id = ?1
       ORDER BY t.no`,
    id,
  )
  const told = z.array(Row).parse(rows)
  return (databases().length === 1 ? told : told.toSorted((a, b) => a.at - b.at))
    .flatMap(({ at, userId, messages }) => messages.map((message) => ({ ...message, at, user: userId })))
    .filter(({ type }) => type.startsWith(prefix))
}
