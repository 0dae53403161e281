import { type Instant, MINUTE } from '../lib/clock'
import { errors } from '../lib/errors'
import { systemNow, wait } from '../lib/system-clock'
import { perInstance, type Scope } from './context'

/** Users that one statement reads, at first and at most. The statements of all tenants wait for it. */
const FIRST_PART = 2_500
export const LARGEST_PART = 20_000
/** The parts of a scan that have the same size. Then it doubles: D1 accepts 1,000 statements of a request. */
const PARTS_OF_A_SIZE = 100

/** The maximum number of scans of a tenant that run at once in an isolate. */
const MOST_RUNNING = 2
/** The most different scans of a tenant that wait in an isolate. Further ones are refused at once. */
const MOST_WAITING = 100
/** How long a request waits for its turn, or for the scan of another request, in ms. */
const PATIENCE = 10_000
/** How often a request checks the running one, in ms. So the run time sees that it is not stuck. */
const WATCH = 1_000
/** How long a reading request may give no sign of life, in ms. Then it counts as dead. A statement may be slow. */
const LEASE = 10_000
/** The same for a request that does not read yet. If it was cancelled, it must not keep a place. */
const SHORT_LEASE = 3_000

/** The number of rows in the nth part (from 0) of a scan. */
export const sizeOfPart = (nth: number, first = FIRST_PART): number =>
  Math.min(LARGEST_PART, first * 2 ** Math.floor(nth / PARTS_OF_A_SIZE))

/** How long a scan pauses between two statements, in ms. */
const PAUSE = 1

/**
 * Called before each statement of a scan. It shows a sign of life, and lets other requests run first. Under
 * `npm run serve`, the database runs in the Worker's process. Its event loop accepts new requests only when it
 * is idle, so without a pause it would accept none until the scan is over.
 */
export type Pause = () => Promise<void>

/** For reads that are not scans. */
export const NO_PAUSE: Pause = async () => undefined

/**
 * A scan's place in its tenant's line. `wakes` has one function for each request that waits for the scan. It
 * wakes the request in the request's own context.
 */
type Turn = {
  line: TenantScans
  /** `called`: the scan may begin, but its request has not begun to read yet. */
  state: 'waiting' | 'called' | 'reading' | 'over'
  /** The last sign of life of the request that runs the scan, or will run it. */
  since: Instant
  wakes: Set<() => void>
  forget: () => void
}

/** The scans of one tenant, in order of arrival: running scans come first. */
type TenantScans = { tenantId: string; turns: Turn[] }

/** Thrown inside a scan that other requests have given up as dead. */
class GivenUp extends Error {}

/**
 * Decides which scans of a tenant's users run. At most two run at once in an isolate, and the others wait
 * (P11).
 *
 * Holds at most 102 scans for each tenant, by tenant id. An entry is removed with its last scan.
 */
export class ScanTurns {
  readonly #lines = new Map<string, TenantScans>()
  readonly #lease: number
  readonly #shortLease: number

  /** The leases are the longest times without a sign of life, in ms: while reading, and before that. */
  constructor(lease = LEASE, shortLease = SHORT_LEASE) {
    this.#lease = lease
    this.#shortLease = shortLease
  }

  /** Joins the line; `forget` is called once the turn is over. Throws 429 if too many wait. */
  join(tenantId: string, forget: () => void = () => undefined): Turn {
    // A cancelled request does not leave its line by itself.
    for (const line of this.#lines.values()) this.#advance(line)
    const line = this.#lines.get(tenantId) ?? { tenantId, turns: [] }
    if (line.turns.filter(({ state }) => state === 'waiting').length >= MOST_WAITING) {
      throw errors.busy()
    }
    this.#lines.set(tenantId, line)
    const turn: Turn = { line, state: 'waiting', since: systemNow(), wakes: new Set(), forget }
    line.turns.push(turn)
    this.#advance(line)
    return turn
  }

  advance({ line }: Turn): void {
    this.#advance(line)
  }

  /** Ends the turns of dead requests, and starts the next turns. */
  #advance(line: TenantScans): void {
    const now = systemNow()
    for (const turn of line.turns) {
      const lease = turn.state === 'reading' ? this.#lease : this.#shortLease
      if (now - turn.since > lease) end(turn)
    }
    line.turns = line.turns.filter(({ state }) => state !== 'over')
    for (const turn of line.turns.slice(0, MOST_RUNNING)) {
      if (turn.state !== 'waiting') continue
      turn.state = 'called'
      turn.since = now
      wakeAll(turn)
    }
    if (line.turns.length === 0 && this.#lines.get(line.tenantId) === line) this.#lines.delete(line.tenantId)
  }

  leave(turn: Turn): void {
    end(turn)
    this.#advance(turn.line)
  }
}

function end(turn: Turn): void {
  if (turn.state === 'over') return
  turn.state = 'over'
  turn.forget()
  wakeAll(turn)
}

function wakeAll({ wakes }: Turn): void {
  for (const wake of wakes) wake()
}

/** A request for a scan. */
export type Asked<T> = {
  tenantId: string
  /** Scans with the same name read the same data. */
  name: string
  /** Does the scan, calling `pause` before each statement. `hasWaited`: it could not begin at once. */
  read: (pause: Pause, hasWaited: boolean) => Promise<T>
  /** Whether a request that arrived after the beginning of the scan may get the result too. */
  mayBeOlder: (result: T) => boolean
}

/** A scan that waits for its turn or runs: when it began to read, and how it ended. */
type Scan<T> = { turn: Turn; began: number; end: { result: T } | { error: unknown } | null }

/**
 * Scans of one kind in one isolate. Requests that ask for the same data at the same time share one scan: one
 * of them reads, and the others wait in their own contexts. No request depends on another one: if the one
 * that reads shows no sign of life, another one reads.
 *
 * Holds a scan until it ends, by tenant and name. `ScanTurns` limits their number.
 */
export class SharedScans<T> {
  readonly #turns: ScanTurns
  readonly #patience: number
  readonly #scans = new Map<string, Scan<T>>()
  /** Numbers the arrivals of requests and the beginnings of scans, to know their order. */
  #count = 0

  /** `patience` is how long a request waits, in ms. */
  constructor(turns: ScanTurns, patience = PATIENCE) {
    this.#turns = turns
    this.#patience = patience
  }

  /**
   * Scans, or waits for the same scan of another request. `waitUntil` keeps the scan alive for the other
   * requests if the caller has gone. Throws 429 after ten seconds of waiting, and any error of the scan.
   */
  async run(asked: Asked<T>, waitUntil: (work: Promise<unknown>) => void): Promise<T> {
    const key = JSON.stringify([asked.tenantId, asked.name])
    const deadline = systemNow() + this.#patience
    const arrived = this.#next()
    for (;;) {
      const present = this.#scans.get(key)
      const scan = present ?? this.#join(asked.tenantId, key)
      if (present === undefined) await this.#read(scan, asked, deadline, waitUntil)
      else await this.#until(() => scan.turn.state === 'over', scan.turn, deadline)
      // A scan without an end was given up: start again.
      if (scan.end === null) continue
      if ('error' in scan.end) throw scan.end.error
      if (scan.began > arrived || asked.mayBeOlder(scan.end.result)) return scan.end.result
    }
  }

  /** Makes a new scan. Other requests find it by its key until it is over. */
  #join(tenantId: string, key: string): Scan<T> {
    const turn = this.#turns.join(tenantId, () => this.#scans.delete(key))
    const scan: Scan<T> = { turn, began: 0, end: null }
    this.#scans.set(key, scan)
    return scan
  }

  #next(): number {
    this.#count += 1
    return this.#count
  }

  /** Waits for its turn, and reads. The scan gets no end if other requests have given this one up as dead. */
  async #read(
    scan: Scan<T>,
    { read }: Asked<T>,
    deadline: number,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<void> {
    const { turn } = scan
    const hasWaited = turn.state === 'waiting'
    const alive = () => {
      if (turn.state === 'over') throw new GivenUp()
      turn.since = systemNow()
    }
    let isFirst = true
    const pause = async () => {
      if (!isFirst) await wait(PAUSE)
      isFirst = false
      alive()
    }
    try {
      await this.#until(() => turn.state !== 'waiting', turn, deadline, alive)
    } catch (error) {
      this.#turns.leave(turn)
      if (error instanceof GivenUp) return
      throw error
    }
    turn.state = 'reading'
    scan.began = this.#next()
    const work = read(pause, hasWaited)
      .then(
        (result) => {
          scan.end = { result }
        },
        (error: unknown) => {
          if (!(error instanceof GivenUp)) scan.end = { error }
        },
      )
      .finally(() => this.#turns.leave(turn))
    waitUntil(work)
    await work
  }

  async #until(
    isSo: () => boolean,
    turn: Turn,
    deadline: number,
    signOfLife: () => void = () => undefined,
  ): Promise<void> {
    while (!isSo()) {
      const left = deadline - systemNow()
      if (left <= 0) throw errors.busy()
      const { promise: woken, resolve: wake } = Promise.withResolvers<void>()
      turn.wakes.add(wake)
      await Promise.race([woken, wait(Math.min(WATCH, left))])
      turn.wakes.delete(wake)
      signOfLife()
      this.#turns.advance(turn)
    }
  }
}

/** A result that was counted over more users or scores than this is kept, and served again (P11). */
export const KEPT_ABOVE = 10_000
/** How long it is kept, in milliseconds. */
export const KEPT_FOR = MINUTE

/** All scans of an instance take turns. */
export const scanTurnsOf = perInstance(() => new ScanTurns())

/** Declares scans of one kind, which requests share while they are under way (P11). */
export const sharedScans = <T>() => perInstance((instance) => new SharedScans<T>(scanTurnsOf(instance)))

/** A row's place in a list: the values that the list is sorted by. It never changes. */
export type Place = readonly (string | number)[]

/** The start of a page: `skip` rows after a place. Null if the list ends before it. */
type PageStart = { after: Place; skip: number } | null

/** A list of a tenant's rows. */
export type List = {
  /** No other list has this name. */
  name: string
  /** The place before all others. */
  beginning: Place
  /** The place of the last of the next `rows` rows, by their index entries; null if there are fewer. */
  skip: (after: Place, rows: number) => Promise<Place | null>
  /** The most rows that are read to find a page without a step; 20,000 if it is left out. */
  most?: number
}

const pageStartsOf = sharedScans<PageStart>()

/**
 * Finds the start of a page that may be far down the list. It works in steps, so that no statement reads more
 * than 20,000 rows. More than one step is a scan, and waits for its turn. Throws 429 like any scan (P11).
 */
export async function startOfPage(
  { tenant, instance, waitUntil }: Scope,
  { name, beginning, skip: next, most = LARGEST_PART }: List,
  { limit, skip }: { limit: number; skip: number },
): Promise<PageStart> {
  if (skip + limit <= most) return { after: beginning, skip }
  const read = async (pause: Pause): Promise<PageStart> => {
    let after = beginning
    for (let left = skip; ; ) {
      if (left + limit <= most) return { after, skip: left }
      const rows = Math.min(left, LARGEST_PART)
      await pause()
      const last = await next(after, rows)
      if (last === null) return null
      after = last
      left -= rows
    }
  }
  const asked = { tenantId: tenant.id, name: JSON.stringify([name, limit, skip]), read }
  return pageStartsOf(instance).run({ ...asked, mayBeOlder: () => false }, waitUntil)
}

/**
 * Rows with the long ones read whole. A read of many rows gets short rows completely, and of long ones only
 * the length. Of these, the caller takes as many as an isolate has room for (`firstPack`), and `whole` reads
 * the long ones. `id` is the column by which they are found. Those that were deleted meanwhile are left out.
 */
export async function withLongRows<
  Id extends string,
  R extends Record<Id, string>,
  W extends Record<Id, string>,
>(
  rows: readonly R[],
  id: Id,
  isLong: (row: R) => boolean,
  whole: (long: readonly R[]) => Promise<readonly W[]>,
): Promise<(R | W)[]> {
  const long = rows.filter(isLong)
  const found = new Map<string, W>()
  for (const row of long.length === 0 ? [] : await whole(long)) found.set(row[id], row)
  return rows.flatMap((row): (R | W)[] => {
    const own = isLong(row) ? found.get(row[id]) : row
    return own === undefined ? [] : [own]
  })
}
