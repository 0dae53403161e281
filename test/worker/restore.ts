import { createExecutionContext, createScheduledController, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { restoredStatements } from '../../scripts/lib/restored.mjs'
import worker from '../../src/worker/index'

/** D1 that goes back to an earlier moment, as by Time Travel. Objects and KV stay as they are. */

const Names = z.array(z.object({ name: z.string() }))
const Value = z.union([z.string(), z.number(), z.null(), z.array(z.number())])
type Table = { name: string; columns: string[]; rows: z.infer<typeof Value>[][] }

/** All rows of D1 at this moment. */
export async function backup(): Promise<Table[]> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf*' AND name NOT GLOB 'sqlite*'
       AND name NOT GLOB 'd1_*'`,
  ).all()
  return Promise.all(
    Names.parse(results).map(async ({ name }) => {
      const [columns = [], ...rows] = await env.DB.prepare(`SELECT * FROM ${name}`).raw({ columnNames: true })
      return {
        name,
        columns: z.array(z.string()).parse(columns),
        rows: z.array(z.array(Value)).parse(rows),
      }
    }),
  )
}

/**
 * Brings D1 back, but not the test clock. Triggers of D1 change the due work while users are stored, so it
 * comes last.
 */
export async function bringBack(tables: readonly Table[]): Promise<void> {
  const inOrder = tables
    .filter(({ name }) => name !== 'test_clock')
    .toSorted((a, b) => Number(a.name === 'due_work') - Number(b.name === 'due_work'))
  const bound = (value: z.infer<typeof Value>) => (Array.isArray(value) ? new Uint8Array(value) : value)
  await env.DB.batch(
    inOrder.flatMap(({ name, columns, rows }) => [
      env.DB.prepare(`DELETE FROM ${name}`),
      ...rows.map((row) =>
        env.DB.prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`).bind(
          ...row.map(bound),
        ),
      ),
    ]),
  )
}

/** Does what `npm run restored` does. */
export async function restored({ undelete } = { undelete: false }): Promise<void> {
  await env.DB.batch(restoredStatements({ undelete }).map((sql) => env.DB.prepare(sql)))
}

/** Runs the cron trigger, and waits for what it starts. */
export async function cron(): Promise<void> {
  const ctx = createExecutionContext()
  await worker.scheduled(createScheduledController(), env, ctx)
  await waitOnExecutionContext(ctx)
}
