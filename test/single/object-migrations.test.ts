import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BoardStore } from '../../src/leaderboards/object/board.sql'
import { instant } from '../../src/lib/clock'
import { migrate, Sql, type Steps, type TableStorage } from '../../src/platform/objects'
import { DeliveryQueueStore } from '../../src/webhooks/delivery/queue.sql'
import { DAY, forgetTime, moveTo, NOON, ranking, withBoard } from '../helpers/worker/boards'
import { hand, logged, message, withHook } from '../helpers/worker/delivery-queues'

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

const NOTES = 'CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID'
const STEPS: Steps = [
  ['CREATE TABLE things (id INTEGER PRIMARY KEY, size INTEGER)', NOTES],
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
})

/** Opens an object with a step after those of the present version, as a later version does. */
async function openLater(stub: Parameters<typeof evictDurableObject>[0]): Promise<void> {
  await runInDurableObject(stub, (_, { storage }) => {
    const before = contents(storage)
    const [version = 0] = storage.sql
      .exec<{ value: string }>("SELECT value FROM notes WHERE name = 'version'")
      .toArray()
      .map(({ value }) => Number(value))
    migrate(storage, [...Array.from({ length: version }, () => []), ['CREATE TABLE scratch (a TEXT)']])
    const after = contents(storage)
    const names = before.tables.map(({ name }) => name)
    expect(after.tables.map(({ name }) => name)).toEqual([...names, 'scratch'].sort())
    // It keeps all rows; the version alone is another one.
    const rows = (all: typeof before) =>
      all.rows.filter((of) => of.length > 0).map((of) => of.filter(({ name }) => name !== 'version'))
    expect(rows(after)).toEqual(rows(before))
    expect(rows(before).flat().length).toBeGreaterThan(1)
  })
  await evictDurableObject(stub)
}

describe('the objects of a later version', () => {
  beforeEach(() => moveTo(NOON))
  afterEach(forgetTime)

  it('a leaderboard keeps its rows, is refused, and is not changed', async () => {
    const setup = await withBoard({})
    await setup.tenant.event('steps', 'ada', 3)
    expect(await ranking(setup)).toMatchObject([{ userId: 'ada', value: 3 }])
    const stub = env.LEADERBOARD.getByName(setup.board)
    await openLater(stub)
    const kept = () => runInDurableObject(stub, (_, { storage }) => contents(storage))
    const before = await kept()
    await runInDurableObject(stub, async (object) => {
      const user = { userId: 'ada', iid: 'x', now: instant(NOON) }
      await expect(object.erase(user)).rejects.toThrow('have version 2')
    })
    // The event counts all the same: D1 has it, and the leaderboard gets it later.
    expect((await setup.tenant.event('steps', 'ada', 3)).status).toBe(201)
    expect(await kept()).toEqual(before)
  })

  it('[W4] a delivery queue keeps its rows, is refused, and is not changed', async () => {
    const setup = await withHook()
    const delivered = message(NOON - DAY, 'ada')
    await hand(setup.destination, NOON, delivered)
    await setup.deliveryQueue.runDue({ now: instant(NOON), wait: true })
    expect(await logged(setup, delivered)).toMatchObject({ status: 'delivered', attempts: 1 })
    await openLater(setup.deliveryQueue)
    const kept = () => runInDurableObject(setup.deliveryQueue, (_, { storage }) => contents(storage))
    const before = await kept()
    await runInDurableObject(setup.deliveryQueue, async (object) => {
      const accepted = object.accept({
        destination: setup.destination,
        messages: [message(NOON)],
        now: instant(NOON),
        epoch: 0,
      })
      await expect(accepted).rejects.toThrow('have version 2')
      expect(() => object.list({ limit: 1, skip: 0, before: null })).toThrow('deploy the later version again')
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
