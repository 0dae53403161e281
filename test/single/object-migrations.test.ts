import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { BoardStore } from '../../src/leaderboards/object/board.sql'
import { migrate, Sql, type Steps, type TableStorage } from '../../src/platform/objects'
import { DeliveryQueueStore } from '../../src/webhooks/delivery/queue.sql'
import { DAY, dateAt, forgetTime, moveTo, NOON, ranking, withBoard } from '../helpers/worker/boards'
import { logged, message, withHook } from '../helpers/worker/delivery-queues'

/** The tables and rows of an object. */
function contents({ sql }: Pick<DurableObjectStorage, 'sql'>) {
  const tables = sql
    .exec<{ name: string; sql: string | null }>(
      "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name",
    )
    .toArray()
  const named = tables.filter((table) => table.sql?.startsWith('CREATE TABLE'))
  return { tables, rows: named.map(({ name }) => sql.exec(`SELECT * FROM ${name}`).toArray()) }
}

/** The object's storage, with counts of the rows that its statements read and write. */
function counted(storage: DurableObjectStorage) {
  const cursors: { rowsRead: number; rowsWritten: number }[] = []
  const count = (name: 'rowsRead' | 'rowsWritten') => cursors.reduce((sum, cursor) => sum + cursor[name], 0)
  const sql = new Proxy(storage.sql, {
    get(target, name) {
      if (name !== 'exec') throw new Error(`the tables were asked for ${String(name)}`)
      return (statement: string, ...values: unknown[]) => {
        const cursor = target.exec(statement, ...values)
        cursors.push(cursor)
        return cursor
      }
    },
  })
  const transactionSync = <T>(work: () => T) => storage.transactionSync(work)
  return { storage: { sql, transactionSync }, costs: () => [count('rowsRead'), count('rowsWritten')] }
}

/** Runs `act` on the storage of a new, empty object. */
const inNewObject = (act: (storage: DurableObjectStorage) => void) =>
  runInDurableObject(env.DELIVERY_QUEUE.get(env.DELIVERY_QUEUE.newUniqueId()), (_, { storage }) =>
    act(storage),
  )

/** Makes an object in the state of an earlier version, and starts it in the present one. */
async function leaveBehind(
  stub: Parameters<typeof evictDurableObject>[0],
  statements: readonly string[],
): Promise<void> {
  await runInDurableObject(stub, async (_, { storage }) => {
    await storage.deleteAll()
    for (const statement of statements) storage.sql.exec(statement)
  })
  await evictDurableObject(stub)
}

const NOTES = 'CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID'
const STEPS: Steps = [
  ['CREATE TABLE IF NOT EXISTS things (id INTEGER PRIMARY KEY, size INTEGER)', NOTES],
  ["ALTER TABLE things ADD COLUMN colour TEXT DEFAULT 'red'", 'UPDATE things SET size = size * 10'],
  ['CREATE INDEX things_by_colour ON things (colour)'],
]

describe('numbered steps', () => {
  it.each([1, 2, 3])('bring tables of version %i to the latest, with their rows', (version) =>
    inNewObject((storage) => {
      migrate(storage, STEPS.slice(0, version))
      storage.sql.exec('INSERT INTO things (id, size) VALUES (1, 5)')
      migrate(storage, STEPS)
      expect(storage.sql.exec('SELECT * FROM things').toArray()).toEqual([
        { id: 1, size: version === 1 ? 50 : 5, colour: 'red' },
      ])
      const { tables } = contents(storage)
      expect(tables.map(({ name }) => name)).toContain('things_by_colour')
    }),
  )

  it('make the tables of a new object, and run once', () =>
    inNewObject((storage) => {
      migrate(storage, STEPS)
      storage.sql.exec('INSERT INTO things (id, size) VALUES (1, 5)')
      const before = contents(storage)
      migrate(storage, STEPS)
      expect(contents(storage)).toEqual(before)
    }))

  it('are done all or not at all', () =>
    inNewObject((storage) => {
      migrate(storage, STEPS.slice(0, 1))
      const before = contents(storage)
      const broken = [...STEPS, ['INSERT INTO nowhere VALUES (1)']]
      expect(() => migrate(storage, broken)).toThrow('nowhere')
      expect(contents(storage)).toEqual(before)
      migrate(storage, STEPS)
      expect(contents(storage)).not.toEqual(before)
    }))

  it('refuse the tables of a later version, and do not change them', () =>
    inNewObject((storage) => {
      migrate(storage, STEPS)
      const before = contents(storage)
      expect(() => migrate(storage, STEPS.slice(0, 2))).toThrow(
        'have version 3, but this version of Laurel knows only versions up to 2',
      )
      expect(contents(storage)).toEqual(before)
    }))

  it.each([
    ['the first version', STEPS.slice(0, 1), 0],
    ['a later one', STEPS, 1],
  ])('read at most one row and write none if all is done: %s', (_what, steps, read) =>
    inNewObject((storage) => {
      expect(migrate(storage, steps)).toBeGreaterThan(0)
      const spied = counted(storage)
      expect(migrate(spied.storage, steps)).toBe(0)
      expect(spied.costs()).toEqual([read, 0])
    }),
  )
})

/**
 * The tables of leaderboards' objects before there were versions: at first, with maxima, and with webhook
 * events.
 */
const BOARD_FIRST = [
  `CREATE TABLE scores (user_id TEXT, iid TEXT, run INTEGER, grp TEXT, score INTEGER, reached INTEGER,
     cursor INTEGER, grouped INTEGER, PRIMARY KEY (user_id, iid, run)) WITHOUT ROWID`,
  `CREATE INDEX scores_by_rank ON scores (run, grp, score DESC, reached, user_id)
     WHERE score > 0 AND grp IS NOT NULL`,
  `CREATE TABLE finals (run INTEGER, grp TEXT, rank INTEGER, user_id TEXT, iid TEXT, score INTEGER,
     reached INTEGER, PRIMARY KEY (run, grp, rank)) WITHOUT ROWID`,
  `CREATE TABLE standings (run INTEGER, iid TEXT, rank INTEGER, score INTEGER,
     PRIMARY KEY (run, iid)) WITHOUT ROWID`,
  `CREATE TABLE history (run INTEGER, iid TEXT, day INTEGER, rank INTEGER, score INTEGER,
     previous_rank INTEGER, previous_score INTEGER, PRIMARY KEY (run, iid, day)) WITHOUT ROWID`,
  'CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID',
]
const BOARD_MAXIMA = [...BOARD_FIRST, 'CREATE TABLE final_runs (run INTEGER PRIMARY KEY, max INTEGER)']
const BOARD_1 = [
  ...BOARD_MAXIMA,
  'CREATE TABLE told (run INTEGER, grp TEXT, list TEXT, PRIMARY KEY (run, grp)) WITHOUT ROWID',
  'CREATE TABLE outbox (no INTEGER PRIMARY KEY, id TEXT, at INTEGER, facts TEXT)',
]

/** The same for the delivery queue: at first, and with the ids of named messages. */
const QUEUE_FIRST = [
  `CREATE TABLE letters (at INTEGER, seq INTEGER, id TEXT, subject TEXT, event TEXT, status TEXT,
     attempts INTEGER, tries INTEGER, created INTEGER, since INTEGER, next_at INTEGER, waits INTEGER, claimed
       INTEGER,
     last_status INTEGER, last_error TEXT, body TEXT, PRIMARY KEY (at, seq, id)) WITHOUT ROWID`,
  "CREATE INDEX letters_by_next ON letters (next_at) WHERE status = 'pending'",
  `CREATE INDEX letters_by_subject ON letters (subject, at, seq, id)
     WHERE status = 'pending' AND waits > 0`,
  'CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID',
]
const QUEUE_1 = [
  ...QUEUE_FIRST,
  'CREATE TABLE named (id TEXT PRIMARY KEY, at INTEGER, seq INTEGER) WITHOUT ROWID',
]

const LATER = "INSERT INTO notes (name, value) VALUES ('version', '1000')"
const note = (name: string, value: unknown) =>
  `INSERT INTO notes (name, value) VALUES ('${name}', '${JSON.stringify(value)}')`

describe('the objects of an earlier version', () => {
  beforeEach(() => moveTo(NOON))
  afterEach(forgetTime)

  it.each([
    ['at first', BOARD_FIRST, []],
    ['with maxima', BOARD_MAXIMA, ['INSERT INTO final_runs VALUES (RUN, 1000)']],
    ['of version 1', BOARD_1, ['INSERT INTO final_runs VALUES (RUN, 1000)']],
  ])('[L8, L10] a final run and its history are served as before: %s', async (_what, tables, more) => {
    const start = dateAt(NOON - 10 * DAY)
    const setup = await withBoard({ runUnit: 'day', runInterval: 1, start })
    for (const user of ['ada', 'bob']) await setup.tenant.app('PUT', `/users/${user}`, {})
    const { results } = await env.DB.prepare('SELECT iid FROM users WHERE tenant_id = ?1 ORDER BY id')
      .bind(setup.tenant.id)
      .all()
    const [ada, bob] = z.array(z.object({ iid: z.string() })).parse(results)
    const run = Math.floor(NOON / DAY) - 5
    const definition = {
      ...{ id: setup.board, tenantId: setup.tenant.id, version: 1, status: 'active', rankBy: 'metric' },
      ...{ input: setup.metric, maxParticipants: 1_000, start, end: null, startTime: null, endTime: null },
      ...{ breakdown: [], runUnit: 'day', runInterval: 1, finished: null },
    }
    const progress = {
      openFrom: run + 4,
      day: run + 4,
      comparison: null,
      mustCompareAll: false,
      compared: NOON,
    }
    await leaveBehind(env.LEADERBOARD.getByName(setup.board), [
      ...tables,
      ...more.map((statement) => statement.replace('RUN', String(run))),
      note('board', definition),
      note('progress', progress),
      // The log has none of these scores, so they cannot come from a recount.
      `INSERT INTO finals VALUES (${run}, '[]', 1, 'bob', '${bob?.iid}', 9000000, ${NOON - 5 * DAY})`,
      `INSERT INTO finals VALUES (${run}, '[]', 2, 'ada', '${ada?.iid}', 7000000, ${NOON - 5 * DAY})`,
      `INSERT INTO history VALUES (${run}, '${ada?.iid}', ${run}, 2, 7000000, NULL, NULL)`,
    ])
    const asked = { run: dateAt(NOON - 5 * DAY) }
    const expected = [
      { userId: 'bob', rank: 1, value: 9 },
      { userId: 'ada', rank: 2, value: 7 },
    ]
    expect(await ranking(setup, asked)).toMatchObject(expected)
    const { body } = await setup.tenant.app('GET', `/users/ada/leaderboards/board?run=${asked.run}`)
    expect(body).toMatchObject({ rank: 2, value: 7, history: [{ date: asked.run, rank: 2, value: 7 }] })
    // The board continues: an event is ranked, and the upkeep of the next days does not change the final run.
    await setup.tenant.event('steps', 'ada', 3)
    expect(await ranking(setup)).toMatchObject([{ userId: 'ada', value: 3 }])
    await moveTo(NOON + 3 * DAY)
    expect(await ranking(setup, asked)).toMatchObject(expected)
  })

  it('the last sent lists of a leaderboard of version 1 and its state are kept under their new names', () =>
    inNewObject((storage) => {
      for (const statement of BOARD_1) storage.sql.exec(statement)
      storage.sql.exec('INSERT INTO told VALUES (20000, \'top:[]\', \'[["ada","i",5]]\')')
      storage.sql.exec(note('news', { version: 1 }))
      new BoardStore(new Sql(storage))
      expect(storage.sql.exec('SELECT run, grp, list FROM sent_lists').toArray()).toEqual([
        { run: 20_000, grp: 'top:[]', list: '[["ada","i",5]]' },
      ])
      expect(storage.sql.exec('SELECT name, value FROM notes ORDER BY name').toArray()).toEqual([
        { name: 'events', value: '{"version":1}' },
        { name: 'version', value: '3' },
      ])
    }))

  it.each([
    ['at first', QUEUE_FIRST],
    ['of version 1', QUEUE_1],
  ])('[W4] a delivered message is listed, and a waiting one is delivered: %s', async (_what, tables) => {
    const setup = await withHook()
    const [settled, pending] = [message(NOON - DAY, 'ada'), message(NOON - 1, 'ada')]
    const row = ({ at, id }: typeof settled, status: string, attempts: number, answered: string) =>
      `INSERT INTO letters (at, seq, id, subject, event, status, attempts, tries, created, since, next_at,
        waits, claimed,
         last_status, last_error, body)
       VALUES (${at}, 0, '${id}', 'ada', 'streak.lost', '${status}', ${attempts}, ${attempts}, ${at}, ${at},
         ${status === 'pending' ? at : 'NULL'}, 0, 0, ${answered}, NULL, '{"type":"streak.lost"}')`
    await leaveBehind(setup.deliveryQueue, [
      ...tables,
      note('destination', setup.destination),
      row(settled, 'delivered', 2, '204'),
      row(pending, 'pending', 0, 'NULL'),
    ])
    expect(await logged(setup, settled)).toMatchObject({ status: 'delivered', attempts: 2, lastStatus: 204 })
    expect(await logged(setup, pending)).toMatchObject({ status: 'pending', attempts: 0 })
    await setup.deliveryQueue.runDue({ now: NOON, wait: true })
    expect(await setup.hook.ids(1)).toEqual([pending.id])
    expect(await logged(setup, pending)).toMatchObject({ status: 'delivered', attempts: 1 })
  })

  it('a leaderboard of a later version is refused, and is not changed', async () => {
    const setup = await withBoard({})
    const stub = env.LEADERBOARD.getByName(setup.board)
    await leaveBehind(stub, [...BOARD_1, LATER])
    const kept = () => runInDurableObject(stub, (_, { storage }) => contents(storage))
    const before = await kept()
    await runInDurableObject(stub, async (object) => {
      const user = { userId: 'ada', iid: 'x', now: NOON }
      await expect(object.erase(user)).rejects.toThrow('have version 1000')
    })
    // The event counts all the same: D1 has it, and the leaderboard gets it later.
    expect((await setup.tenant.event('steps', 'ada', 3)).status).toBe(201)
    expect(await kept()).toEqual(before)
  })

  it('a delivery queue of a later version is refused, and is not changed', async () => {
    const setup = await withHook()
    await leaveBehind(setup.deliveryQueue, [...QUEUE_1, LATER])
    const kept = () => runInDurableObject(setup.deliveryQueue, (_, { storage }) => contents(storage))
    const before = await kept()
    await runInDurableObject(setup.deliveryQueue, async (object) => {
      const accepted = object.accept({ destination: setup.destination, messages: [message(NOON)], now: NOON })
      await expect(accepted).rejects.toThrow('have version 1000')
      expect(() => object.list({ limit: 1, skip: 0 })).toThrow('deploy the later version again')
    })
    expect(await kept()).toEqual(before)
  })
})

describe('the objects of the present version', () => {
  it.each([
    ['a leaderboard', (storage: TableStorage) => new BoardStore(new Sql(storage))],
    ['a delivery queue', (storage: TableStorage) => new DeliveryQueueStore(storage)],
  ])('open without writing a row, and read only their version: %s', (_what, open) =>
    inNewObject((storage) => {
      open(storage)
      const spied = counted(storage)
      open(spied.storage)
      expect(spied.costs()).toEqual([1, 0])
    }),
  )
})
