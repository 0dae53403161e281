/** `npm start` with one database, then with three, and with fewer again. `npm run serve` is the same in this. */
import { globSync, readdirSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launch, newProject, type Server, startServer } from '../../helpers/server/harness'
import { directoryOf, inDatabase, leftOf, STATE, THREE } from '../../helpers/server/local-state'

/** The total of a user after one more event. */
async function totalAfterEvent({ ask }: Server): Promise<number> {
  const event = { user: { id: 'ada' }, value: 1 }
  const { status, body } = await ask('POST', '/v1/metrics/demo-lessons/event', event)
  expect(status).toBe(201)
  return body.total
}

test('[B3] npm start opens the data of one database with three, and refuses to leave out one that is in use', async () => {
  const folder = await newProject()
  const data = join(folder, STATE)
  /** The files of the databases, without those of SQLite itself. */
  const files = () => globSync(join(data, 'objects', 'laurel-Database', '*[0-9]*.sqlite'))
  /** A start that ends by itself. */
  const refusal = async (DATABASES: string) => {
    const starting = await launch({ folder, env: { DATABASES } })
    expect(await starting.ended()).toEqual({ code: 1, leftovers: [] })
    return starting.output()
  }
  let server = await startServer({ folder })
  expect(await totalAfterEvent(server)).toBe(1)
  expect(await server.stop()).toEqual({ code: 0, leftovers: [] })
  const [first] = files()
  expect(files()).toEqual([first])

  await appendFile(join(folder, '.dev.vars'), 'DATABASES = 3\n')
  server = await startServer({ folder })
  expect(await totalAfterEvent(server)).toBe(2)
  expect(await server.stop()).toEqual({ code: 0, leftovers: [] })
  expect(files()).toHaveLength(3)
  expect(files()).toContain(first)
  const migrations = readdirSync(join(folder, 'migrations')).filter((name) => name.endsWith('.sql')).length
  for (const number of [1, 2, 3])
    expect(inDatabase(data, number, 'SELECT count(*) AS count FROM d1_migrations')).toEqual([
      { count: migrations },
    ])

  inDatabase(data, 1, directoryOf(THREE))
  expect(await refusal('1')).toMatch(/DB_2 and DB_3 hold users.*DATABASES=3 again.*"DB_3":0/s)
  inDatabase(data, 1, leftOf('DB_3'))
  expect(await refusal('2')).toMatch(
    /Rows of users who have left DB_3 are still being deleted there\.\nStart with DATABASES=3 again/,
  )
})

test('[B3] a fresh state is evenly spread when npm start is ready', async () => {
  const server = await startServer({ env: { DATABASES: '3' } })
  expect((await server.ask('GET', '/admin/v1/databases')).body).toMatchObject([
    { name: 'DB', buckets: 1366, state: 'active' },
    { name: 'DB_2', buckets: 1365, state: 'active' },
    { name: 'DB_3', buckets: 1365, state: 'active' },
  ])
})
