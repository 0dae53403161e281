/** `npm start` and `npm run serve` with one database, and then with three. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { appendFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { launch, newProject, type Server, startServer } from '../../helpers/server/harness'
import { directoryOf, inState, leftOf, THREE } from '../../helpers/server/local-state'

/** The total of a user after one more event. */
async function totalAfterEvent({ ask }: Server): Promise<number> {
  const event = { user: { id: 'ada' }, value: 1 }
  const { status, body } = await ask('POST', '/v1/metrics/demo-lessons/event', event)
  expect(status).toBe(201)
  return body.total
}

/** The files of databases in a folder, without those of SQLite itself. */
const filesIn = (...folder: string[]) =>
  readdirSync(join(...folder))
    .filter((name) => /^[\da-f]{64}\.sqlite$/.test(name))
    .sort()

test('[B3] npm start opens the state of one database with three, and restores only all of them', async () => {
  const folder = await newProject()
  const configuration = join(folder, 'wrangler.databases.toml')
  const state = join(folder, '.wrangler', 'state', 'v3', 'd1')
  const databases = () => filesIn(state, 'miniflare-D1DatabaseObject')
  const restored = (DATABASES: string) =>
    promisify(execFile)(process.execPath, ['scripts/restored.mjs', '--local'], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, DATABASES },
    })
  try {
    let server = await startServer({ folder })
    expect(await totalAfterEvent(server)).toBe(1)
    expect(readFileSync(configuration, 'utf8')).not.toContain('DB_2')
    expect(await server.stop()).toEqual({ code: 0, leftovers: [] })
    const [first] = databases()
    expect(databases()).toEqual([first])

    await appendFile(join(folder, '.dev.vars'), 'DATABASES = 3\n')
    server = await startServer({ folder })
    expect(await totalAfterEvent(server)).toBe(2)
    expect(readFileSync(configuration, 'utf8')).toContain('binding = "DB_3"')
    expect(await server.stop()).toEqual({ code: 0, leftovers: [] })
    expect(existsSync(configuration)).toBe(false)
    expect(databases()).toHaveLength(3)
    expect(databases()).toContain(first)

    // The moments are those that the cron trigger would note.
    const [column] = await inState(folder, 1, [
      [1, "SELECT count(*) AS has FROM pragma_table_info('restores') WHERE name = 'moment'"],
    ])
    const add = column?.[0]?.has === 0 ? 'ALTER TABLE restores ADD moment INTEGER; ' : ''
    const at = (moment: number) => `UPDATE restores SET moment = ${moment}, epoch = 5, redone = 5`
    await inState(folder, 3, [
      [1, `${directoryOf(THREE)}; ${add}${at(60_000)}`],
      [2, `${add}${at(60_000)}`],
      [3, `${add}${at(120_000)}`],
    ])
    await expect(restored('3')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/DB_2 {2}1970-01-01T00:01.*\n {2}DB_3 {2}1970-01-01T00:02/),
    })
    await expect(restored('1')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('DB_2 and DB_3 hold users'),
    })
    const epoch = 'SELECT epoch, redone FROM restores'
    const asked: [number, string][] = [1, 2, 3].map((number) => [number, epoch])
    const untouched = await inState(folder, 3, [...asked, [3, at(60_000)]])
    expect(untouched.slice(0, 3)).toEqual(Array(3).fill([{ epoch: 5, redone: 5 }]))

    expect((await restored('3')).stdout).toContain('Laurel knows of the restore')
    const [one, two, three] = (await inState(folder, 3, asked)).map(([row]) => row)
    expect(one).toEqual({ epoch: expect.any(Number), redone: 5 })
    expect(Number(one?.epoch)).toBeGreaterThan(Date.UTC(2026, 0))
    for (const other of [two, three]) expect(other).toEqual({ epoch: one?.epoch, redone: one?.epoch })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('[B3] a fresh state is evenly spread when npm start is ready', async () => {
  const server = await startServer({ env: { DATABASES: '3' } })
  try {
    expect((await server.ask('GET', '/admin/v1/databases')).body).toMatchObject([
      { name: 'DB', buckets: 1366, state: 'active' },
      { name: 'DB_2', buckets: 1365, state: 'active' },
      { name: 'DB_3', buckets: 1365, state: 'active' },
    ])
  } finally {
    await server.stop()
  }
})

test('[B3, M1] npm run serve does the same, and a restore tells all databases', async () => {
  const folder = await newProject()
  const objects = (data: string) => [folder, data, 'objects', 'laurel-Database'] as const
  const serve = (data: string, DATABASES: string) => ({
    folder,
    by: 'serve' as const,
    env: { DEMO: 'on', LAUREL_DATA: join(folder, data), DATABASES },
  })
  /** Asks one database, or changes it. */
  const inFile = (data: string, name: string, sql: string) => {
    const database = new DatabaseSync(join(...objects(data), name))
    try {
      if (sql.startsWith('SELECT')) return database.prepare(sql).get()
      return database.exec(sql)
    } finally {
      database.close()
    }
  }
  try {
    const wrong = await launch(serve('data', '0'))
    expect((await wrong.ended()).code).toBe(1)
    expect(wrong.output()).toContain('DATABASES must be a whole number from 1 to 100.\n')

    let server = await startServer(serve('data', '1'))
    expect(await totalAfterEvent(server)).toBe(1)
    expect(await server.stop()).toEqual({ code: 0, leftovers: [] })
    const [first = ''] = filesIn(...objects('data'))

    server = await startServer(serve('data', '3'))
    expect(await totalAfterEvent(server)).toBe(2)
    expect(await server.stop()).toEqual({ code: 0, leftovers: [] })
    const all = filesIn(...objects('data'))
    expect(all).toHaveLength(3)
    expect(all).toContain(first)
    expect(readdirSync(join(folder, 'data')).sort()).toEqual(['objects', 'token-secret'])

    inFile('data', first, directoryOf(THREE))
    const refused = await launch(serve('data', '2'))
    expect((await refused.ended()).code).toBe(1)
    expect(refused.output()).toMatch(/DB_3 holds users.*DATABASES=3 again/s)
    inFile('data', first, leftOf('DB_3'))
    const early = await launch(serve('data', '2'))
    expect((await early.ended()).code).toBe(1)
    expect(early.output()).toContain('Rows of users who have left DB_3 are still being deleted there.')
    inFile('data', first, `DELETE FROM due_work WHERE kind = 'moves'; ${directoryOf(THREE)}`)

    inFile('data', first, 'UPDATE restores SET epoch = 9000000000000, redone = 9000000000000')
    const run = promisify(execFile)
    const copy = join(folder, 'one.backup')
    const env = { PATH: process.env.PATH, HOME: folder, LAUREL_DATA: join(folder, 'data') }
    await run(process.execPath, ['scripts/serve.mjs', 'backup', copy], { cwd: folder, env })
    await rename(join(folder, 'data'), join(folder, 'old'))
    await run(process.execPath, ['scripts/serve.mjs', 'restore', copy, join(folder, 'old')], {
      cwd: folder,
      env,
    })
    server = await startServer(serve('data', '3'))
    expect(await totalAfterEvent(server)).toBe(3)
    expect(await server.stop()).toEqual({ code: 0, leftovers: [] })
    const epochs = filesIn(...objects('data')).map(
      (name) => inFile('data', name, 'SELECT epoch FROM restores')?.epoch,
    )
    expect(epochs).toEqual(Array(3).fill(9000000000001))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
