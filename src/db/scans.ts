import type { Instant } from '../lib/clock'
import { errors } from '../lib/errors'
import { systemNow, wait } from '../lib/system-clock'

/** Users that one statement of a scan reads, at first and at most. While it runs, all tenants' statements wait. */
const FIRST_PART = 2_500
export const LARGEST_PART = 20_000
/** After so many parts, parts are twice as large: D1 takes a thousand statements of one request. */
const PARTS_OF_A_SIZE = 100

/** Most scans of a tenant that run at once in an isolate. */
const MOST_RUNNING = 2
/** Most different scans of a tenant that wait in an isolate; one more is refused at once. */
const MOST_WAITING = 100
/** How long a request waits, for its turn or for a scan that another request runs, in ms. */
const PATIENCE = 10_000
/** When a request that was refused may try again, in seconds. */
const RETRY_AFTER = 10
/** How often a request that waits checks whether the one that runs is still alive, in ms. It also shows the run time that it isn't stuck. */
const WATCH = 1_000
/** How long a request that reads may show no sign of life before it is taken for dead, in ms: a statement may be slow. */
const LEASE = 10_000
/** The same for one that waits, or whose turn has come: it was cancelled, and must not hold a place. */
const SHORT_LEASE = 3_000

/** Rows of the nth part of a scan, from 0. */
export const sizeOfPart = (nth: number, first = FIRST_PART): number =>
  Math.min(LARGEST_PART, first * 2 ** Math.floor(nth / PARTS_OF_A_SIZE))

/** How long a scan pauses between two statements, in ms. */
const PAUSE = 1

/**
 * Called before each statement of a scan: it shows a sign of life, and lets other requests go first. Under wrangler dev the database runs
 * in the Worker's process. Its event loop looks for new requests only when it has nothing else to do, so without a pause it would hear
 * of none until the scan is over.
 */
export type Pause = () => Promise<void>

/** For what is no scan. */
export const NO_PAUSE: Pause = async () => undefined

/** How many users a part of a scan has read, and the place of the last of them. */
type Part<Place> = { users: number; last: Place }

/**
 * Reads all users of a tenant in parts, in the order of places that never change, such as their ids. Each part is a statement and a
 * round trip of its own, so that other tenants' statements run in between. No user is read twice or missed. Each user is as of the moment
 * when their part was read. `read` gets the place after which its part begins, and how many users to read. `pause` is called before it.
 */
export async function* inParts<Place, P extends Part<Place>>(
  beginning: Place,
  pause: Pause,
  read: (after: Place, limit: number) => Promise<P>,
): AsyncGenerator<P> {
  for (let nth = 0, after = beginning; ; nth += 1) {
    const limit = sizeOfPart(nth)
    await pause()
    const part = await read(after, limit)
    yield part
    if (part.users < limit) return
    after = part.last
  }
}

/** A scan's place in its tenant's line. `wakes` wake the requests that wait for it, each in its own context. */
type Turn = {
  line: TenantScans
  /** `called` as long as the request whose turn it is has not begun to read. */
  state: 'waiting' | 'called' | 'reading' | 'over'
  /** When the request that runs it, or is to run it, last showed a sign of life. */
  since: Instant
  wakes: Set<() => void>
  /** Called once it is over, by whoever ends it. */
  forget: () => void
}

/** The scans of one tenant, in order of arrival: first those that run. */
type TenantScans = { tenantId: string; turns: Turn[] }

/** Thrown inside a scan that others have taken for dead. */
class GivenUp extends Error {}

/**
 * Whose turn it is to scan a tenant's users: at most two scans run at once in an isolate, the others wait (P11).
 *
 * Holds at most 102 scans a tenant, by tenant id; an entry goes with its last scan.
 */
export class ScanTurns {
  readonly #lines = new Map<string, TenantScans>()
  readonly #lease: number
  readonly #shortLease: number

  /** The leases are how long a request may show no sign of life while it reads, and before that, in ms. */
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
      throw errors.busy(RETRY_AFTER)
    }
    this.#lines.set(tenantId, line)
    const turn: Turn = { line, state: 'waiting', since: systemNow(), wakes: new Set(), forget }
    line.turns.push(turn)
    this.#advance(line)
    return turn
  }

  /** Has a turn begin if it may by now. */
  advance({ line }: Turn): void {
    this.#advance(line)
  }

  /** Ends the turns of those who are dead, and begins those of the next. */
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

  /** Leaves the line. */
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
  for (const wakeTimekeeper of wakes) wakeTimekeeper()
}

/** What is to be scanned. */
export type Asked<T> = {
  tenantId: string
  /** The same for scans that read the same. */
  name: string
  /** Reads it, and calls `pause` before each statement; `hasWaited` says that it was not its turn at once. */
  read: (pause: Pause, hasWaited: boolean) => Promise<T>
  /** Whether a request that came after the reading had begun may have the result too. */
  mayBeOlder: (result: T) => boolean
}

/** A scan that waits for its turn or runs, when its reading began, and how it ended. */
type Scan<T> = { turn: Turn; began: number; end: { result: T } | { error: unknown } | null }

/**
 * Scans of one kind in one isolate. Requests that ask for the same at the same time share one scan: one of them reads, the others wait in
 * their own contexts. None depends on another's survival: if the one that reads shows no sign of life, another one reads.
 *
 * Holds a scan until it ends, by tenant and name; `ScanTurns` bounds how many there are.
 */
export class SharedScans<T> {
  readonly #turns: ScanTurns
  readonly #patience: number
  readonly #scans = new Map<string, Scan<T>>()
  /** Counts requests that arrive and readings that begin, so that it is known which came first. */
  #count = 0

  /** `patience` is how long a request waits, in ms. */
  constructor(turns: ScanTurns, patience = PATIENCE) {
    this.#turns = turns
    this.#patience = patience
  }

  /**
   * Scans, or waits for the same scan of another request. `waitUntil` keeps the reading alive for the others if the caller has gone.
   * Throws 429 after ten seconds of waiting, and what the reading threw.
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
      // One without an end was given up: it begins again.
      if (scan.end === null) continue
      if ('error' in scan.end) throw scan.end.error
      if (scan.began > arrived || asked.mayBeOlder(scan.end.result)) return scan.end.result
    }
  }

  /** A new scan, which others find by its key until it is over. */
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

  /** Waits for its turn, and reads. The scan has no end if this request was taken for dead. */
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

  /** Waits until something of a turn is so. Throws 429 after the deadline. */
  async #until(
    isSo: () => boolean,
    turn: Turn,
    deadline: number,
    signOfLife: () => void = () => undefined,
  ): Promise<void> {
    while (!isSo()) {
      const left = deadline - systemNow()
      if (left <= 0) throw errors.busy(RETRY_AFTER)
      const { promise: woken, resolve: wakeTimekeeper } = Promise.withResolvers<void>()
      turn.wakes.add(wakeTimekeeper)
      await Promise.race([woken, wait(Math.min(WATCH, left))])
      turn.wakes.delete(wakeTimekeeper)
      signOfLife()
      this.#turns.advance(turn)
    }
  }
}
