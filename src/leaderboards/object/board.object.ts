import { readTestClock } from '../../access/clock.sql.ts'
import { isActive } from '../../access/tenants.sql.ts'
import { newInstance } from '../../configuration/configuration'
import { type Instant, SECOND } from '../../lib/clock'
import { systemNow, within } from '../../lib/system-clock'
import { utcDay } from '../../lib/zone'
import { databasesOf } from '../../platform/context'
import { noCost } from '../../platform/database'
import { Sql, StoringObject } from '../../platform/objects'
import { namesOf } from '../../store/users/users.sql.ts'
import { schedule } from '../../time/due-work.sql.ts'
import { ensureAlarm } from '../../time/timekeeper'
import {
  type BestAsked,
  type BestFound,
  type Call,
  Definition,
  type Delivery,
  type DeliveryReply,
  type DueAsked,
  type DueDone,
  type GroupsAsked,
  type GroupsPage,
  type HeldAsked,
  type HeldRuns,
  newProgress,
  type Page,
  type PageAsked,
  type PlaceAsked,
  type PlaceFound,
} from '../board'
import { WATCH_HEADER, WATCH_STATUS, type WatchedBoard, WatcherMessage, WatchRequest } from '../live/view'
import { Watchers } from '../live/watchers'
import { Board } from './board'
import { BoardStore } from './board.sql.ts'
import { readBest, readGroups, readHeld, readPage, readParticipants, readPlace } from './reads'
import { sourceOf } from './recount.sql.ts'
import { checkNote, countUnconfirmed, refill, runDue } from './upkeep'

declare module '../../platform/env' {
  interface Bindings {
    LEADERBOARD: DurableObjectNamespace<LeaderboardObject>
  }
}

/**
 * After how many milliseconds a message is late. A late message is not taken for the first one of an unknown
 * user. An erasure visits boards twice, the second time a minute later, so messages that arrive after that
 * are late (U8).
 */
const LATE = 30 * SECOND

const GONE = 'the leaderboard was deleted'

/** How long a call waits until the scores were read again from D1, in milliseconds. */
const REFILL_PATIENCE = 5 * SECOND

class Late extends Error {}

/**
 * One object for each leaderboard, named by its id. It puts the changes of its scores in one order. `Board`
 * does the work. All its data can be rebuilt from D1, except the history of days and the final rankings.
 */
export class LeaderboardObject extends StoringObject<BoardStore> {
  readonly #databases = databasesOf(newInstance(), this.env, noCost())
  readonly #db = this.#databases.first
  #board: Board | null = null
  readonly #watchers = new Watchers(this.ctx, {
    board: () => this.#kept && watched(this.#kept),
    now: async () => (await readTestClock(this.#db)) ?? systemNow(),
    namesOf: ({ definition }, userIds) => namesOf(this.#databases, definition.tenantId, userIds),
  })
  #upkeep: Promise<unknown> = Promise.resolve()
  /** Whether there were too many users to count the unconfirmed ones, since the last upkeep. */
  #isLarge = false
  /** The call that reads all scores again from D1; null if there is none. */
  #refill: Promise<void> | null = null

  protected override openStore(): BoardStore {
    return new BoardStore(new Sql(this.ctx.storage))
  }

  protected override stop(): void {
    this.#watchers.endAll()
    this.#board?.close()
    this.#board = null
  }

  /** Whether the leaderboard exists. One that stores nothing yet may belong to a tenant that was erased. */
  async #isThere(given: Definition): Promise<boolean> {
    const { tenantId } = given
    this.#revive(given)
    const isThere = this.isUsed || (await isActive(this.#db.of(tenantId)))
    return isThere && !this.isPurged && !this.isDeleted
  }

  /** After a deletion was taken back, the scores are read from D1 (M2). */
  #revive(given: Definition): void {
    if (this.revive(given.epoch))
      this.store.sql.setNote('progress', { ...newProgress(this.#known(given)), epoch: 0 })
  }

  #known(given: Definition): Definition {
    const known = this.#board?.definition
    return known !== undefined && known.version === given.version ? known : Definition.parse(given)
  }

  #at(given: Definition, now: Instant): Board {
    const definition = this.#known(given)
    this.#board ??= this.#open(definition)
    this.#board.adopt(definition, now)
    this.#board.events.updateListeners(now)
    return this.#board
  }

  /**
   * The board with the definition that the caller knows. If D1 was brought back to an earlier moment, all
   * scores are first read again. If that takes long, the work continues later, and the board has old scores
   * until then (M2).
   */
  async #filledAt(given: Definition, now: Instant): Promise<Board> {
    const board = this.#at(given, now)
    const { epoch, isRefilling } = board.progress
    if (board.definition.epoch <= epoch && !isRefilling) return board
    this.#refill ??= this.#inTurn(() => refill(board, now)).finally(() => {
      this.#refill = null
    })
    await within(REFILL_PATIENCE, this.#refill, () => new Late()).catch((error: unknown) => {
      if (!(error instanceof Late)) throw error
    })
    return this.#at(given, now)
  }

  /** Does work that compares the board with D1, after all earlier work of this kind. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#upkeep.then(() => this.#changing(work))
    this.#upkeep = turn.catch(() => undefined)
    return turn
  }

  #open(definition: Definition): Board {
    if (this.isPurged || this.isDeleted) throw new Error(GONE)
    const { tenantId } = definition
    return new Board(this.store, sourceOf(this.#databases, tenantId), definition, this.#watchers)
  }

  /** Runs work on memory and store. If it throws, memory is read again, for all work in progress. */
  async #changing<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.#board?.reload()
      throw error
    }
  }

  async deliver({ definition, at: changedAt, changes, wanted }: Delivery): Promise<DeliveryReply> {
    if (!(await this.#isThere(definition))) throw new Error(GONE)
    const before = this.store.sql.rowsWritten
    const placements = await this.#changing(async () => {
      const board = await this.#filledAt(definition, changedAt)
      return board.apply({
        changedAt,
        changes,
        wanted,
        under: this.#known(definition),
        isLate: systemNow() - changedAt > LATE,
      })
    })
    const rowsWritten = this.store.sql.rowsWritten - before
    await this.#scheduleUpkeep()
    return { placements, rowsWritten }
  }

  /** Reads from the board. Returns null if the leaderboard was deleted. */
  async #read<T>({ definition, now }: Call, read: (board: Board) => T): Promise<T | null> {
    return (await this.#isThere(definition)) ? read(await this.#filledAt(definition, now)) : null
  }

  /** A page of a ranking (L9); null if the leaderboard was deleted. */
  page(request: Call & PageAsked): Promise<Page | null> {
    return this.#read(request, (board) => readPage(board, request))
  }

  /** A page of the groups of a run; null if the leaderboard was deleted. */
  groups(request: Call & GroupsAsked): Promise<GroupsPage | null> {
    return this.#read(request, (board) => readGroups(board, request))
  }

  /** The ranked users at the end of each of these days (I2); null if the leaderboard was deleted. */
  participants(request: Call & { first: number; last: number }): Promise<number[] | null> {
    return this.#read(request, (board) => readParticipants(board, request))
  }

  /** A user's place (L10); null if the leaderboard was deleted. */
  place(request: Call & PlaceAsked): Promise<PlaceFound | null> {
    return this.#read(request, (board) => readPlace(board, request))
  }

  /** A user's best places in periods (R1); null if the leaderboard was deleted. */
  best(request: Call & BestAsked): Promise<BestFound | null> {
    return this.#read(request, (board) => readBest(board, request))
  }

  /** Opens a stream, as a WebSocket (Y). The header has the request (`WatchRequest`). */
  override async fetch(request: Request): Promise<Response> {
    const header = decodeURIComponent(request.headers.get(WATCH_HEADER) ?? '')
    const { definition, now, limit, group, holder } = WatchRequest.parse(JSON.parse(header))
    if (!(await this.#isThere(definition))) return new Response(null, { status: WATCH_STATUS.gone })
    await this.#filledAt(definition, now)
    const opened = await this.#watchers.open({ limit, group }, holder)
    if (typeof opened === 'string') return new Response(null, { status: WATCH_STATUS[opened] })
    return new Response(null, { status: WATCH_STATUS.open, webSocket: opened })
  }

  override async webSocketMessage(socket: WebSocket, text: string | ArrayBuffer): Promise<void> {
    const message = WatcherMessage.parse(JSON.parse(String(text)))
    if (message.type === 'seen') return this.#watchers.seen(socket)
    if (await this.#isThere(message.definition)) await this.#filledAt(message.definition, message.now)
    this.#watchers.look()
  }

  override webSocketClose(socket: WebSocket): void {
    this.#watchers.left(socket)
  }

  override webSocketError(socket: WebSocket): void {
    this.#watchers.left(socket)
  }

  /** The board as the store has it. Null if it never stored anything, or the leaderboard was deleted. */
  get #kept(): Board | null {
    const definition = this.isUsed ? this.store.sql.note('board') : null
    if (definition === null) return null
    this.#board ??= this.#open(Definition.parse(definition))
    return this.#board
  }

  /** All stored data about a user (U8). */
  held(asked: HeldAsked): HeldRuns {
    return this.#kept === null ? { runs: [], hasMore: false } : readHeld(this.#kept, asked)
  }

  /** Deletes a user everywhere. In final runs the others keep their ranks (U8). */
  async erase({ now, ...user }: { userId: string; iid: string; now: Instant }): Promise<void> {
    await this.#changing(() => {
      // The end of the last day is recorded first, since the user was ranked then.
      const board = this.#kept
      if (board === null) return
      board.events.now = now
      board.roll(utcDay(now))
      board.erase([user])
    })
    await this.#scheduleUpkeep()
  }

  async runDue({ definition, ...moments }: Call & DueAsked): Promise<DueDone> {
    if (!(await this.#isThere(definition))) throw new Error(GONE)
    return this.#inTurn(async () => {
      const board = this.#at(definition, moments.now)
      await refill(board, moments.now)
      const before = await checkNote(board)
      const dueAt = await runDue(board, { ...moments, mayRewind: this.#db.testClock })
      await board.writeNote(before)
      this.#watchers.look()
      this.#isLarge = false
      return { dueAt, ...board.events.outbox() }
    })
  }

  /** Recounts users from D1, after their changes could not be delivered. */
  async recount({ definition, now, userIds }: Call & { userIds: string[] }): Promise<void> {
    if (!(await this.#isThere(definition))) throw new Error(GONE)
    await this.#changing(async () => {
      const board = await this.#filledAt(definition, now)
      await board.recountNow(now, userIds)
    })
    await this.#scheduleUpkeep()
  }

  /**
   * How many users have a change that the board has not confirmed (G12). Null if it does not know: it has stored
   * nothing yet, or there were too many users when it looked last.
   */
  async unconfirmed(): Promise<number | null> {
    if (this.#kept === null || this.#isLarge) return null
    const count = await countUnconfirmed(this.#kept)
    this.#isLarge = count === null
    return count
  }

  handed({ rows }: { rows: [no: number, id: string][] }): void {
    this.#kept?.events.handed(rows)
  }

  /** Makes a new flush due in D1, once. No caller waits for it. The hourly upkeep finds a lost one (C2). */
  async #scheduleUpkeep(): Promise<void> {
    const due = this.#board?.events.takeDueChange() ?? null
    if (this.#board === null || due === null) return
    const { id, tenantId } = this.#board.definition
    const db = this.#db.of(tenantId)
    const noted = db.batch([schedule(db, 'leaderboard', { at: due, subject: id })]).catch(() => undefined)
    this.ctx.waitUntil(noted.then(() => ensureAlarm({ env: this.env }, tenantId)))
    // A move of the test clock that comes next must find it in D1 (C1).
    if (this.#db.testClock) await noted
  }
}

const watched = (board: Board): WatchedBoard => ({
  definition: board.definition,
  progress: board.progress,
  page: (request, run) => readPage(board, { ...request, run, offset: 0, userId: null }),
})
