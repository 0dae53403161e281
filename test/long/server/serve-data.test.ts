/** `npm run serve`, and data that is not what it should be: of a later version, or a part of a copy. */
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { cp } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Receiver } from '../../helpers/receiver'
import {
  launch,
  newProject,
  runServe,
  type Server,
  type StartOptions,
  startServer,
} from '../../helpers/server/harness'
import { databaseFile, inFile } from '../../helpers/server/local-state'
import { until } from '../../helpers/until'

let folder: string
let server: Server | undefined
const receiver = new Receiver()
let env: Record<string, string>
/** The paths of the two databases, in a folder of data. */
const databases = { first: databaseFile('', 1), second: databaseFile('', 2) }

const options = (data: string, more: Record<string, string> = {}): StartOptions => ({
  folder,
  by: 'serve',
  env: { ...env, ...more, LAUREL_DATA: join(folder, data) },
})

/** All files with data that a server has left after a webhook, an event and a deleted user. */
beforeAll(async () => {
  folder = await newProject()
  env = { DEMO: 'on', DATABASES: '2', WEBHOOK_ALLOW: new URL(await receiver.start()).host }
  server = await startServer(options('whole'))
  const hook = { url: `http://${env.WEBHOOK_ALLOW}/hooks/all`, events: ['points.changed'] }
  expect((await server.ask('POST', '/admin/v1/webhooks', [hook])).status).toBe(201)
  for (const id of ['ada', 'bea', 'cyd', 'dan', 'eve', 'fay']) await sendLesson(server, id)
  await receiver.seen('all', 1)
  expect((await server.ask('DELETE', '/admin/v1/users/fay')).status).toBe(200)
  const holders = async () =>
    (await server?.ask('GET', '/admin/v1/databases'))?.body.map(({ users }: { users: number }) => users > 0)
  await until(async () => JSON.stringify(await holders()) === '[true,true]')
  await server.kill()
})
afterEach(() => server?.stop())
afterAll(() => receiver.stop())

const sendLesson = (to: Server, id: string) =>
  to.ask('POST', '/v1/metrics/demo-lessons/event', { user: { id, tz: 'UTC' }, value: 1 })

const filesOf = (data: string, className: string) =>
  globSync(join(folder, data, 'objects', `laurel-${className}`, '*.sqlite')).sort()
const objectsOf = (data: string, className: string) =>
  filesOf(data, className).filter((file) => basename(file) !== 'metadata.sqlite')

/** All tables and rows of all files. */
const dump = (data: string) =>
  filesOf(data, '*').map((file) =>
    inFile(file, (database) => {
      const tables = database.prepare(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name",
      )
      const rows = tables.all().map(({ name, sql }) => {
        const all = database.prepare(`SELECT * FROM "${name}"`)
        all.setReadBigInts(true)
        return [sql, all.all().map((row) => Object.values(row).map(String))]
      })
      return [file, rows]
    }),
  )

const exec = (file: string, sql: string) => inFile(file, (database) => database.exec(sql))
const has = (file: string, query: string) =>
  inFile(file, (database) => database.prepare(query).get() !== undefined)
const hasTable = (file: string, name: string) =>
  has(file, `SELECT 1 FROM sqlite_schema WHERE name = '${name}'`)

/** The queues that ever had a message. */
const usedQueues = (data: string) =>
  objectsOf(data, 'MessageQueue').filter((file) => has(file, 'SELECT 1 FROM queue'))

/** Sets the alarm of an object, in nanoseconds, as workerd stores it. */
function setAlarm(file: string, at: bigint): void {
  const id = basename(file, '.sqlite')
  exec(file, 'CREATE TABLE IF NOT EXISTS _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB)')
  exec(file, `INSERT OR REPLACE INTO _cf_METADATA VALUES (1, ${at})`)
  exec(
    join(dirname(file), 'metadata.sqlite'),
    `INSERT OR REPLACE INTO _cf_ALARM VALUES ('${id}', ${at}, NULL)`,
  )
}

const copied = (data: string) =>
  cp(join(folder, 'whole/objects'), join(folder, data, 'objects'), { recursive: true })

/** Copies the data, and makes everything in it due that can be. */
async function overdue(data: string): Promise<string> {
  await copied(data)
  for (const className of ['Timekeeper', 'Courier', 'MessageQueue'])
    for (const file of objectsOf(data, className)) setAlarm(file, 1_600_000_000_000_000_000n)
  for (const file of objectsOf(data, 'Database')) exec(file, 'UPDATE due_work SET due_at = 0')
  for (const file of usedQueues(data))
    exec(file, "INSERT INTO messages (body, sent, due, attempts) VALUES ('{}', 0, 0, 0)")
  for (const file of objectsOf(data, 'Courier').filter((one) => hasTable(one, 'messages')))
    exec(file, "UPDATE messages SET status = 'pending', next_at = 0")
  return data
}

/** Starts a server that must end, and returns what it says. */
async function refused(data: string, more?: Record<string, string>): Promise<string> {
  const starting = await launch(options(data, more))
  expect(await starting.ended()).toEqual({ code: 1, leftovers: [] })
  return starting.output()
}

test('[G1] with data of a later version it changes nothing, whatever is due', async () => {
  const data = await overdue('later')
  const later = "UPDATE schema_version SET migration = 99, name = '0099_later', oldest = 98"
  exec(join(folder, data, databases.first), later)
  const before = dump(data)
  expect(before.length).toBeGreaterThan(12)
  expect(await refused(data)).toContain(
    'has applied the migration 0099_later. Deploy that version again.\nLaurel does not start.\n',
  )
  expect(dump(data)).toEqual(before)
})

test('[C2] what was due while it did not run is done once it serves', async () => {
  server = await startServer(options(await overdue('due')))
  const isLeft = (file: string) =>
    hasTable(file, 'messages') &&
    has(
      file,
      `SELECT 1 FROM messages WHERE ${hasTable(file, 'queue') ? 'attempts = 0' : "status = 'pending'"}`,
    )
  const left = () => [...objectsOf('due', 'MessageQueue'), ...objectsOf('due', 'Courier')].filter(isLeft)
  await until(() => left().length === 0)
  expect(server.output()).not.toContain('no such table')
})

test('[C3] work, messages of queues and alarms of a clock that was years ahead are due at once', async () => {
  await copied('ahead')
  const YEAR = 366 * 86_400_000
  const AHEAD = Date.UTC(2100, 0, 1)
  for (const file of objectsOf('ahead', 'Database'))
    exec(file, `UPDATE due_work SET due_at = due_at + ${YEAR}`)
  const queues = usedQueues('ahead')
  expect(queues).not.toEqual([])
  for (const file of queues) {
    exec(file, `INSERT INTO messages (body, sent, due, attempts) VALUES ('{}', ${AHEAD}, ${AHEAD}, 0)`)
    setAlarm(file, BigInt(AHEAD) * 1_000_000n)
  }
  server = await startServer(options('ahead'))
  await server.printed(/"work":"clock","error":"the clock was ahead: \d+ due times/)
  await server.printed(/"work":"clock","error":"queue laurel-outbox: the clock was ahead/)
  await until(() => queues.every((file) => !has(file, 'SELECT 1 FROM messages WHERE attempts = 0')))
  await until(async () => (await server?.ask('GET', '/admin/v1/status'))?.body.due.ahead === 0)
})

const removed = (data: string, ...files: string[]) => {
  for (const file of files) rmSync(join(folder, data, file), { recursive: true })
}
const walsOf = (data: string, className: string) =>
  globSync(join('objects', `laurel-${className}`, '*.sqlite-wal'), { cwd: join(folder, data) })
test.each<[what: string, damage: (data: string) => void, missing: string]>([
  ['the folder of the databases', (data) => removed(data, 'objects/laurel-Database'), 'the database DB in'],
  ['the first database', (data) => removed(data, databases.first), 'the database DB in'],
  ['the second database', (data) => removed(data, databases.second), 'the database DB_2 in'],
  [
    'what a database has in its -wal',
    (data) => removed(data, `${databases.second}-wal`),
    'the database DB_2 in',
  ],
  [
    'all files that end in -wal',
    (data) => removed(data, ...walsOf(data, '*')),
    'the database DB in objects/laurel-Database is',
  ],
  [
    'the delivery queues and the list of deletions',
    (data) => removed(data, 'objects/laurel-Courier', 'objects/laurel-DeletionList'),
    'objects/laurel-Courier and objects/laurel-DeletionList are',
  ],
  [
    'what the delivery queues have in their -wal',
    (data) => removed(data, ...walsOf(data, 'Courier')),
    'objects/laurel-Courier is',
  ],
])('a copy without %s does not start, also if it is tried again', async (what, damage, missing) => {
  const data = what.replaceAll(' ', '-')
  await copied(data)
  damage(data)
  for (const _ of ['once', 'again']) {
    const said = await refused(data)
    expect(said).toContain(`The data in ${join(folder, data)} is not whole: ${missing}`)
    expect(said).toContain('`npm run serve -- backup FILE`')
  }
})

test.each([
  ['a database', () => databases.first, "can't be opened. The lines of workerd say why:"],
  // workerd ends.
  ['an index of objects', () => 'objects/laurel-Courier/metadata.sqlite', 'docs/self-hosting.md'],
])('with %s that is damaged it does not start, and says why', async (what, path, reason) => {
  const data = `damaged-${what.replaceAll(' ', '-')}`
  await copied(data)
  writeFileSync(join(folder, data, path()), 'x'.repeat(8192))
  removed(data, `${path()}-wal`)
  const said = await refused(data)
  expect(said).toContain('SQLITE_NOTADB')
  expect(said).toContain(reason)
})

test('[L12] leaderboards and other data that are lost are made again before it opens', async () => {
  await copied('again')
  const lost = ['LeaderboardObject', 'MessageQueue', 'Timekeeper', 'UserLane']
  removed('again', ...lost.map((name) => `objects/laurel-${name}`))
  server = await startServer(options('again'))
  for (const name of lost)
    expect(server.output()).toContain(`objects/laurel-${name} is missing. It is made again.`)
  const { body } = await server.ask('GET', '/v1/leaderboards/demo-all-time?limit=100')
  const ids = body.rankings.map(({ userId }: { userId: string }) => userId)
  expect(ids).toEqual(expect.arrayContaining(['ada', 'bea', 'cyd', 'dan', 'eve']))
  expect(ids).not.toContain('fay')
})

test('an empty file lets it start without a folder that was given up; a further database may be new', async () => {
  await copied('given-up')
  removed('given-up', 'objects/laurel-Courier')
  mkdirSync(join(folder, 'given-up/objects/laurel-Courier'))
  writeFileSync(join(folder, 'given-up/objects/laurel-Courier/metadata.sqlite'), '')
  server = await startServer(options('given-up', { DATABASES: '3' }))
  expect((await sendLesson(server, 'ada')).status).toBe(201)
})

test.each([
  'first-start',
  'control.sock',
  'objects/laurel-Database',
  'objects/laurel-Courier',
  'token-secret',
])('a first start that was killed once %s was there is no lost data', async (name) => {
  const data = `killed-${basename(name)}`
  const starting = await launch(options(data))
  await until(() => existsSync(join(folder, data, name)))
  await starting.kill()
  server = await startServer(options(data))
  expect((await sendLesson(server, 'ada')).status).toBe(201)
})

/** The id of a user who owns nothing else. */
const STRANGER = 65_534
const isRoot = process.getuid?.() === 0
if (!isRoot) process.stderr.write('\nThe tests of owners are skipped: only root can change them.\n')

describe.skipIf(!isRoot)("files of another user's server", () => {
  const launched = async (data: string) => {
    // The folder of the project belongs to the user of the tests.
    chmodSync(folder, 0o755)
    return launch({ ...options(data), uid: STRANGER })
  }

  test('root restores into the folder of the server’s user, who owns all files then', async () => {
    await copied('source')
    expect(await runServe(folder, 'source', 'backup', 'owned.backup')).toMatchObject({ code: 0 })
    const target = join(folder, 'owned')
    mkdirSync(target, { mode: 0o700 })
    chownSync(target, STRANGER, STRANGER)
    expect(await runServe(folder, 'owned', 'restore', 'owned.backup')).toMatchObject({ code: 0 })
    const names = readdirSync(target, { recursive: true, encoding: 'utf8' })
    expect(names.length).toBeGreaterThan(20)
    expect(names.filter((name) => statSync(join(target, name)).uid !== STRANGER)).toEqual([])
    const starting = await launched('owned')
    await starting.printed(/^Laurel serves/m)
    expect(await starting.stop()).toEqual({ code: 0, leftovers: [] })
  })

  test.each(['token-secret', 'objects/laurel-Database/metadata.sqlite', 'objects/laurel-Courier'])(
    'a server that can’t open %s says so in a sentence',
    async (name) => {
      const data = `closed-${basename(name)}`
      await copied(data)
      writeFileSync(join(folder, data, 'token-secret'), 'x'.repeat(40))
      for (const path of ['.', ...readdirSync(join(folder, data), { recursive: true, encoding: 'utf8' })])
        chownSync(join(folder, data, path), STRANGER, STRANGER)
      chownSync(join(folder, data, name), 0, 0)
      chmodSync(join(folder, data, name), 0o700)
      const starting = await launched(data)
      expect(await starting.ended()).toEqual({ code: 1, leftovers: [] })
      expect(starting.output()).toMatch(new RegExp(`^Can't \\w+ \\S*/${name}: permission denied`, 'm'))
      expect(starting.output()).not.toContain('    at ')
    },
  )
})
