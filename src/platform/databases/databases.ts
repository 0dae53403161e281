import type { BoundedMap } from '../../lib/bounded'
import { errors } from '../../lib/errors'
import { bucketOf } from '../../lib/ids'
import { systemNow, wait } from '../../lib/system-clock'
import { AccountDatabase, type Connection, type Cost, type Statement, TenantDatabase } from '../database'
import { hasMoved } from '../guard'
import { type Directory, FIRST, holderOf, holdersOf, placed, readDirectory, UNSPREAD } from './directory'
import { Users } from './users'

/** How long a batch waits for a user who is moving, or for a change of the configuration, in ms. */
const PATIENCE = 10_000
/**
 * The pauses between two looks at a move or a change that is under way, in ms: the first one, and the longest
 * one, to which they double. Many requests may wait.
 */
const [FIRST_PAUSE, LONGEST_PAUSE] = [10, 80]
const pauseAfter = (looks: number): number => Math.min(FIRST_PAUSE * 2 ** looks, LONGEST_PAUSE)
/** The looks after which the mover is woken: it may have been interrupted between two databases. */
const LOOKS = 20

/**
 * Makes a database's copy of a tenant's configuration the same as in the first database, or waits for a
 * change that is under way (B4). `absent`: the first database has no such tenant.
 */
export type Settle = (
  databases: Databases,
  tenantId: string,
  name: string,
) => Promise<'settled' | 'changing' | 'absent'>

/** Wakes the mover of users: a batch was refused for a while, or the tenant never spread. Never throws. */
export type WakeMover = (tenantId: string, why: 'refused' | 'unspread') => void

/** The most batches that D1 accepts of one request, queue message, alarm or run of the cron trigger. */
const MOST_BATCHES = 1_000

type Parts = {
  cost: Cost
  connections: readonly Connection[]
  testClock: boolean
  /** The directories that this instance remembers, by tenant. A database refuses a batch by an older one. */
  directories: BoundedMap<string, Directory>
  settle: Settle
  wakeMover: WakeMover
}

/**
 * All D1 databases of the account (B1). The first one has the configuration, the keys, the tenants and the
 * directories. Each one holds the users of some buckets, with everything that is written in the same batch,
 * and a copy of the configuration of their tenants.
 */
export class Databases {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The names of all databases but the first one. Without any, no batch has a guard of the placement. */
  get others(): string[] {
    return this.names.slice(1)
  }

  /** Whether another database must do one of these statements, too (B4). */
  mustTell(statements: readonly Statement[]): boolean {
    return this.others.length > 0 && statements.some(({ everywhere }) => everywhere !== undefined)
  }

  /** The names of all databases, the first one first. */
  get names(): string[] {
    return this.#parts.connections.map(({ name }) => name)
  }

  /**
   * Whether D1 accepts another piece of work that asks each database a few times, and the end of the work
   * after it. Work that can go on later stops if not.
   */
  hasRoom(batches = 100 + 6 * this.names.length): boolean {
    return this.#parts.cost.roundTrips + batches <= MOST_BATCHES
  }

  get first(): AccountDatabase {
    return this.named(FIRST)
  }

  /** A database by its name, for the whole account. Throws 503 if it is not bound. */
  named(name: string): AccountDatabase {
    return new AccountDatabase(this.#connection(name), this.#parts.testClock)
  }

  settle(tenantId: string, name: string) {
    return this.#parts.settle(this, tenantId, name)
  }

  /** The first database for one tenant: its configuration, keys and audit log. */
  home(tenantId: string): TenantDatabase {
    return this.first.of(tenantId)
  }

  /** The users of a tenant, whichever databases hold them. */
  usersOf(tenantId: string): Users {
    return new Users({
      home: this.home(tenantId),
      of: (userId) => {
        const bucket = bucketOf(tenantId, userId)
        return this.#of(tenantId, (directory) => holderOf(directory, bucket))
      },
      now: async () => {
        const directory = await this.#directoryOf(tenantId)
        const holder = (name: string) => ({ name, db: this.#fixed(tenantId, name, directory) })
        return {
          holders: holdersOf(directory).map(holder),
          holderOf: (userId) => holder(holderOf(directory, bucketOf(tenantId, userId))),
          neverLeft: directory === UNSPREAD,
        }
      },
    })
  }

  /** The databases that may have messages of a tenant to send: those that hold users, and the first. */
  async ofAllMessages(tenantId: string): Promise<TenantDatabase[]> {
    const holders = await this.usersOf(tenantId).holders()
    const first = holders.some(({ name }) => name === FIRST) ? [] : [this.home(tenantId)]
    return [...first, ...holders.map(({ db }) => db)]
  }

  /**
   * Every database for one tenant, whether or not it holds users, the first one last. No batch has the guard
   * of the placement, so these are only for deleting data.
   */
  all(tenantId: string): { name: string; db: TenantDatabase }[] {
    return this.names.toReversed().map((name) => ({ name, db: this.named(name).of(tenantId) }))
  }

  /** Forgets a tenant's directory, so that the next batch reads it again. */
  forget(tenantId: string): void {
    this.#parts.directories.delete(tenantId)
  }

  /** The directory in memory, else from the first database. With one database nothing is read. */
  async #directoryOf(tenantId: string): Promise<Directory> {
    if (this.others.length === 0) return UNSPREAD
    const { directories } = this.#parts
    const known = directories.get(tenantId)
    if (known !== undefined) return known
    const read = await readDirectory(this.first, tenantId)
    directories.set(tenantId, read)
    if (read.version === 0) this.#parts.wakeMover(tenantId, 'unspread')
    return read
  }

  #connection(name: string): Connection {
    const found = this.#parts.connections.find((one) => one.name === name)
    if (found === undefined) throw errors.databaseMissing(name)
    return found
  }

  /** A database that is chosen by the directory for each batch. */
  #of(tenantId: string, choose: (directory: Directory) => string): TenantDatabase {
    const { testClock } = this.#parts
    const first = this.#connection(FIRST)
    if (this.others.length === 0) return new TenantDatabase(first, testClock, tenantId)
    const send = async (statements: readonly Statement[]) => {
      const until = systemNow() + PATIENCE
      for (let looks = 0; ; looks += 1) {
        const directory = await this.#directoryOf(tenantId)
        const name = choose(directory)
        try {
          return await this.#guarded(tenantId, name, directory, statements)
        } catch (error) {
          if (!hasMoved(error)) throw error
          if (systemNow() > until) throw errors.unavailable()
          await this.#refresh(tenantId, name, directory, looks)
        }
      }
    }
    return new TenantDatabase(first, testClock, tenantId, { send, hasOthers: true })
  }

  /** A database as one directory knows it. Waits for changes of the configuration, but throws for moves. */
  #fixed(tenantId: string, name: string, directory: Directory): TenantDatabase {
    if (this.others.length === 0) return this.home(tenantId)
    const send = async (statements: readonly Statement[]) => {
      const until = systemNow() + PATIENCE
      let known = directory
      for (let looks = 0; ; looks += 1) {
        try {
          return await this.#guarded(tenantId, name, directory, statements)
        } catch (error) {
          if (!hasMoved(error)) throw error
          if (systemNow() > until) throw errors.unavailable()
          known = await this.#refresh(tenantId, name, known, looks)
          if ((known.placements[name] ?? 0) !== (directory.placements[name] ?? 0)) throw error
        }
      }
    }
    return new TenantDatabase(this.#connection(FIRST), this.#parts.testClock, tenantId, {
      send,
      hasOthers: true,
      name,
      isOther: name !== FIRST,
    })
  }

  /** Sends a batch with the guard of the placement, unless one of its statements checks the placement. */
  async #guarded(
    tenantId: string,
    name: string,
    { placements }: Directory,
    statements: readonly Statement[],
  ): Promise<D1Result[]> {
    const connection = this.#connection(name)
    const placement = { wanted: placements[name] ?? 0, without: name === FIRST ? 0 : -1 }
    if (statements.some(({ isPlaced }) => isPlaced)) return connection.send(statements, placement)
    const [, ...results] = await connection.send([placed(tenantId), ...statements], placement)
    return results
  }

  /**
   * After a database has refused a batch: reads the directory again. If it is the same, the copy of the
   * configuration is brought up to date, or a move or a change is under way, and this waits a moment. `looks`
   * is how often the batch was refused before.
   */
  async #refresh(tenantId: string, name: string, was: Directory, looks: number): Promise<Directory> {
    const { directories } = this.#parts
    const present = await readDirectory(this.first, tenantId)
    directories.set(tenantId, present)
    if (present.version !== was.version) return present
    if (looks % LOOKS === LOOKS - 1) this.#parts.wakeMover(tenantId, 'refused')
    // A move takes a few looks. Reading the whole configuration each time would make it slower.
    if (looks % 4 !== 0) {
      await wait(pauseAfter(looks))
      return present
    }
    const state = name === FIRST ? 'changing' : await this.settle(tenantId, name)
    if (state === 'absent') {
      directories.delete(tenantId)
      throw errors.tenantUnknown()
    }
    if (state === 'changing') await wait(pauseAfter(looks))
    return present
  }
}
