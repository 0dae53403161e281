import { anotherUuid } from '../readable'
import { lastDatabase, type TestTenant } from './harness'

/** The columns of a user who has done nothing. `n` is the number of the user. */
const COLUMNS = {
  id: "printf('user%05d', n)",
  iid: anotherUuid('?1', 'n'),
  ...{ seq: '1', changed: '0', created: '0', updated: '0', subscribe_to_emails: '1', control: '0' },
  ...{ attributes: "'{}'", metrics: "'[]'", points: "'{}'", counters: "'[]'" },
}

/**
 * Stores many users at once, numbered from 1 on, with the rows that the service would store. `columns` are other
 * values, as SQL.
 */
export async function manyUsers(
  { id }: Pick<TestTenant, 'id'>,
  count: number,
  columns: Record<string, string> = {},
  d1: D1Database = lastDatabase().d1,
): Promise<void> {
  const all = { ...COLUMNS, ...columns }
  await d1
    .prepare(
      `INSERT INTO users (tenant_id, ${Object.keys(all).join()})
       WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?2)
       SELECT ?1, ${Object.values(all).join()} FROM n`,
    )
    .bind(id, count)
    .run()
}
