/** The databases of `npm start` in a folder, while no server runs. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

type Row = Record<string, unknown>

/** Opens `count` databases, applies the migrations, and answers the rows of each text's last statement. */
export async function inState(
  folder: string,
  count: number,
  statements: readonly [number: number, sql: string][],
): Promise<Row[][]> {
  const code = `
const { LocalDatabases } = await import('./scripts/lib/local-databases.mjs')
const local = new LocalDatabases(${count})
await local.migrate()
const found = []
for (const [number, sql] of ${JSON.stringify(statements)}) found.push((await local.run(number, sql)).at(-1))
await local.close()
console.log(JSON.stringify(found))`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder })
  return JSON.parse(stdout)
}

/**
 * Lets the test clock show a moment from the first start on (C1). A request moves it by a year at most. Changes nothing
 * if the folder has a state.
 */
export async function beginClock(folder: string, count: number, moment: number): Promise<void> {
  if (existsSync(join(folder, '.wrangler', 'state'))) return
  const insert = `INSERT INTO test_clock (id, now) VALUES (1, ${moment})`
  await inState(
    folder,
    count,
    Array.from({ length: count }, (_, index) => [index + 1, insert]),
  )
}

/** The statements that write a directory of one tenant. */
export const directoryOf = (places: readonly [firstBucket: number, database: string][]): string =>
  `DELETE FROM directory;
INSERT INTO directory (tenant_id, version, places, placements)
VALUES ('t', 1, '${JSON.stringify(places)}', '{}')`

/** The statements of a tenant whose users are in the first database only, and have left others. */
export const leftOf = (...names: string[]): string =>
  `${directoryOf([[0, 'DB']])};
INSERT INTO due_work (tenant_id, kind, subject, due_at, progress)
VALUES ('t', 'moves', '', 0, '${progressOf(names)}')`

const progressOf = (names: readonly string[]) =>
  JSON.stringify({ no: 1, move: null, left: names.map((name) => ({ name, at: 0 })) })

/** Users in each of three databases. */
export const THREE: readonly [number, string][] = [
  [0, 'DB'],
  [1365, 'DB_2'],
  [2730, 'DB_3'],
]
