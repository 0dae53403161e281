/** What tickets leave behind that no stream uses. */
import { globSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newProject, startServer } from '../../helpers/server/harness'
import { inFile } from '../../helpers/server/local-state'

const TICKETS = 10_000
/** Requests at once. */
const CLIENTS = 16

/** The number of rows of each table in all files: D1, KV, queues and objects. Opening one merges its -wal. */
async function rowsIn(folder: string): Promise<[table: string, rows: unknown][]> {
  const copy = join(folder, 'copy')
  await cp(join(folder, 'data', 'objects'), copy, { recursive: true })
  const rows = globSync(join(copy, '*', '*.sqlite')).flatMap((file) =>
    inFile(file, (database) => {
      const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
      return tables.map(({ name }): [string, unknown] => [
        `${file} ${name}`,
        database.prepare(`SELECT count(*) AS rows FROM "${name}"`).get()?.rows,
      ])
    }),
  )
  await rm(copy, { recursive: true })
  return rows
}

test('[Y3] 10,000 tickets without streams store no row', async () => {
  const folder = await newProject()
  const env = { LAUREL_DATA: join(folder, 'data'), RATE_LIMITS: 'off', TEST_CLOCK: 'on', DEMO: 'off' }
  const server = await startServer({ folder, by: 'serve', env })
  // A clock that stands still leaves no other work to do meanwhile.
  expect((await server.ask('PUT', '/admin/v1/test-clock', { advance: 'PT1H' })).status).toBe(200)
  expect((await server.ask('POST', '/v1/live-tickets')).status).toBe(201)
  const before = await rowsIn(folder)
  let made = 0
  const send = async () => {
    for (let nth = 0; nth < TICKETS / CLIENTS; nth += 1)
      if ((await server.ask('POST', '/v1/live-tickets')).status === 201) made += 1
  }
  await Promise.all(Array.from({ length: CLIENTS }, send))
  expect([made, before.length > 30]).toEqual([TICKETS, true])
  const after = await rowsIn(folder)
  expect(after.filter(([, rows], nth) => rows !== before[nth]?.[1])).toEqual([])
})
