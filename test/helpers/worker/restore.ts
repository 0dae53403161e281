import * as z from 'zod'
import {
  nextEpoch,
  restoredStatements,
  restoredStatementsOfOthers,
  stateQuestion,
} from '../../../scripts/lib/restored.mjs'
import { present } from '../time'
import { databases, rowsEverywhere } from './harness'

/** Databases that go back to an earlier moment, as by Time Travel. Objects and KV stay as they are. */

const Names = z.array(z.object({ name: z.string() }))
const Value = z.union([z.string(), z.number(), z.null(), z.array(z.number())])
type Table = { name: string; columns: string[]; rows: z.infer<typeof Value>[][] }

/** All rows of each database. */
type Backup = { d1: D1Database; tables: Table[] }[]

/** All rows of all databases at this moment. */
export const backup = (): Promise<Backup> =>
  Promise.all(databases().map(async ({ d1 }) => ({ d1, tables: await tablesOf(d1) })))

async function tablesOf(d1: D1Database): Promise<Table[]> {
  const { results } = await d1
    .prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf*'
       AND name NOT GLOB 'sqlite*'
       AND name NOT GLOB 'd1_*'`,
    )
    .all()
  return Promise.all(
    Names.parse(results).map(async ({ name }) => {
      const [columns = [], ...rows] = await d1.prepare(`SELECT * FROM ${name}`).raw({ columnNames: true })
      return { name, columns: z.array(z.string()).parse(columns), rows: z.array(z.array(Value)).parse(rows) }
    }),
  )
}

/**
 * Brings the databases back, but not the test clock. Triggers of D1 change the due work while users are
 * stored, so it comes last.
 */
export async function bringBack(backup: Backup): Promise<void> {
  const bound = (value: z.infer<typeof Value>) => (Array.isArray(value) ? new Uint8Array(value) : value)
  for (const { d1, tables } of backup) {
    const inOrder = tables
      .filter(({ name }) => name !== 'test_clock')
      .toSorted((a, b) => Number(a.name === 'due_work') - Number(b.name === 'due_work'))
    await d1.batch(
      inOrder.flatMap(({ name, columns, rows }) => [
        d1.prepare(`DELETE FROM ${name}`),
        ...rows.map((row) =>
          d1
            .prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`)
            .bind(...row.map(bound)),
        ),
      ]),
    )
  }
}

const States = z.array(
  z.object({ epoch: z.number(), version: z.number(), moment: z.number().nullable(), hasUsers: z.number() }),
)

/** Does what `npm run restored` does. */
export async function restored({ undelete } = { undelete: false }): Promise<void> {
  const epoch = nextEpoch(States.parse(await rowsEverywhere(stateQuestion)), present())
  const isSeveral = databases().length > 1
  for (const { name, d1 } of databases().toReversed()) {
    const statements =
      name !== 'DB'
        ? restoredStatementsOfOthers(epoch)
        : restoredStatements({ undelete, ...(isSeveral && { epoch }) })
    await d1.batch(statements.map((sql) => d1.prepare(sql)))
  }
}
