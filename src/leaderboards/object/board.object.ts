import { DurableObject } from 'cloudflare:workers'
import type * as z from 'zod'
import { readTestClock } from '../../access/clock.sql.ts'
import { isActive } from '../../access/tenants.sql.ts'
import { newInstance } from '../../configuration/configuration'
import { type Instant, SECOND } from '../../lib/clock'
import { systemNow, within } from '../../lib/system-clock'
import { utcDay } from '../../lib/zone'
import { noCost } from '../../platform/database'
import { databasesOf } from '../../platform/databases/bound'
import type { Bindings } from '../../platform/env'
import { hasTables, Sql } from '../../platform/objects'
import { namesOf } from '../../store/users/users.sql.ts'
import { schedule } from '../../time/due-work.sql.ts'
import { ensureAlarm } from '../../time/timekeeper'
import {
  type BestReply,
  BestRequest,
  Definition,
  type DefinitionInput,
  Delivery,
  type DeliveryReply,
  type GroupsReply,
  GroupsRequest,
  type HeldReply,
  HeldRequest,
  type PageReply,
  PageRequest,
  type ParticipantsReply,
  ParticipantsRequest,
  type PlaceReply,
  PlaceRequest,
  RecountRequest,
  type RunDueReply,
  RunDueRequest,
  UserRequest,
} from '../board'
import { WATCH_HEADER, WATCH_STATUS, type WatchedBoard, WatcherMessage, WatchRequest } from '../live/view'
import { Watchers } from '../live/watchers'
import { HandedRequest } from '../notify/facts'
import { Board } from './board'
import { BoardStore } from './board.sql.ts'
import { readBest, readGroups, readHeld, readPage, readParticipants, readPlace } from './reads'
import { recountUsers, type Source, userCursorsAfter } from './recount.sql.ts'
import { checkNote, refill, runDue } from './upkeep'
import { newProgress, noteUpkeep, readUpkeep } from './upkeep-note'

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

/** Thrown if a call has waited for that long. */
class Late extends Error {}

/**
 * One object for each leaderboard, named by its id. It puts the changes of its scores in one order. `Board`
 * does the work. All its data can be rebuilt from D1, except the history of days and the final rankings.
 */
export class LeaderboardObject extends DurableObject<Bindings> {
  /** The store; null until it is needed. */
  #opened: BoardStore | null = null
  /** Whether its tenant was erased while this object was in use. */
  #isPurged = false
  readonly #databases = databasesOf(newInstance(), this.env, noCost())
  readonly #db = this.#databases.first
  #board: Board | null = null
  readonly #watchers = new Watchers(this.ctx, {
    board: () => this.#kept && watched(this.#kept),
    now: async () => (await readTestClock(this.#db)) ?? systemNow(),
    namesOf: ({ definition }, userIds) => namesOf(this.#databases, definition.tenantId, userIds),
  })
  /** The upkeep in progress: one at a time. */
  #upkeep: Promise<unknown> = Promise.resolve()
  /** The call that reads all scores again from D1; null if there is none. */
  #refill: Promise<void> | null = null

  get #store(): BoardStore {
    this.#opened ??= new BoardStore(new Sql(this.ctx.storage))
    return this.#opened
  }

  /** Whether it stores anything. Asking creates no tables. */
  get #isUsed(): boolean {
    return !this.#isPurged && (this.#opened !== null || hasTables(this.ctx.storage.sql))
  }

  /** Whether the leaderboard exists. One that stores nothing yet may belong to a tenant that was erased. */
  async #isThere(given: DefinitionInput): Promise<boolean> {
    const { tenantId } = given
    this.#revive(given)
    const isThere = this.#isUsed || (await isActive(this.#db.of(tenantId)))
    return isThere && !this.#isPurged && !this.#isDeleted
  }

  /** Takes back a deletion if D1 was brought back to a moment before it. The scores are read from D1 (M2). */
  #revive(given: DefinitionInput): void {
    const deleted = this.#isUsed ? this.#store.note('deleted') : null
    if (deleted === null || (given.epoch ?? 0) <= Number(deleted)) return
    this.#store.dropNote('deleted')
    this.#store.setNote('progress', { ...newProgress(this.#known(given)), epoch: 0 })
  }

  /** The definition of a call, parsed. */
  #known(given: DefinitionInput): Definition {
    const known = this.#board?.definition
    return known !== undefined && known.version === given.version ? known : Definition.parse(given)
  }

  /** The board, with the definition that the caller knows. */
  #at(given: DefinitionInput, now: Instant): Board {
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
  async #filledAt(given: DefinitionInput, now: Instant): Promise<Board> {
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

  get #isDeleted(): boolean {
    return this.#isUsed && this.#store.note('deleted') !== null
  }

  #open(definition: Definition): Board {
    if (this.#isPurged || this.#isDeleted) throw new Error(GONE)
    const { tenantId } = definition
    const databases = this.#databases
    const db = databases.home(tenantId)
    const source: Source = {
      recount: (board, userIds, extent) => recountUsers(databases, tenantId, board, userIds, extent),
      userCursorsAfter: (board, after, since, limit) =>
        userCursorsAfter(databases, tenantId, board, { after, since, limit }),
      readNote: ({ id }) => readUpkeep(db, id),
      writeNote: ({ id }, notes) => noteUpkeep(db, id, notes),
    }
    return new Board(this.#store, source, definition, this.#watchers)
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

  /** Applies changes of users (L11). */
  async deliver(request: z.input<typeof Delivery>): Promise<z.input<typeof DeliveryReply>> {
    const { definition, at: changedAt, changes, wanted } = Delivery.parse(request)
    if (!(await this.#isThere(definition))) throw new Error(GONE)
    const before = this.#store.sql.rowsWritten
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
    const rowsWritten = this.#store.sql.rowsWritten - before
    await this.#scheduleUpkeep()
    return { placements, rowsWritten }
  }

  /** A page of a ranking (L9); null if the leaderboard was deleted. */
  async page(request: z.input<typeof PageRequest>): Promise<z.input<typeof PageReply> | null> {
    const { definition, now, ...rest } = PageRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readPage(await this.#filledAt(definition, now), rest)
  }

  /** A page of the groups of a run; null if the leaderboard was deleted. */
  async groups(request: z.input<typeof GroupsRequest>): Promise<z.input<typeof GroupsReply> | null> {
    const { definition, now, ...rest } = GroupsRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readGroups(await this.#filledAt(definition, now), rest)
  }

  /** The number of ranked users by day (I2); null if the leaderboard was deleted. */
  async participants(
    request: z.input<typeof ParticipantsRequest>,
  ): Promise<z.input<typeof ParticipantsReply> | null> {
    const { definition, now, ...days } = ParticipantsRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readParticipants(await this.#filledAt(definition, now), { now, ...days })
  }

  /** A user's place (L10); null if the leaderboard was deleted. */
  async place(request: z.input<typeof PlaceRequest>): Promise<z.input<typeof PlaceReply> | null> {
    const { definition, now, ...rest } = PlaceRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readPlace(await this.#filledAt(definition, now), rest)
  }

  /** A user's best places in periods (R1); null if the leaderboard was deleted. */
  async best(request: z.input<typeof BestRequest>): Promise<z.input<typeof BestReply> | null> {
    const { definition, now, ...rest } = BestRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readBest(await this.#filledAt(definition, now), rest)
  }

  /** Opens a stream, as a WebSocket (Y). The header has the request (live.messages.ts). */
  override async fetch(request: Request): Promise<Response> {
    const header = decodeURIComponent(request.headers.get(WATCH_HEADER) ?? '')
    const { definition, now, limit, group } = WatchRequest.parse(JSON.parse(header))
    if (!(await this.#isThere(definition))) return new Response(null, { status: WATCH_STATUS.gone })
    await this.#filledAt(definition, now)
    const opened = await this.#watchers.open({ limit, group })
    if (typeof opened === 'string') return new Response(null, { status: WATCH_STATUS[opened] })
    return new Response(null, { status: WATCH_STATUS.open, webSocket: opened })
  }

  /** Hears a stream (Y). */
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
    const definition = this.#isUsed ? this.#store.note('board') : null
    if (definition === null) return null
    this.#board ??= this.#open(Definition.parse(definition))
    return this.#board
  }

  /** All stored data about a user (U8). */
  held(request: z.input<typeof HeldRequest>): z.input<typeof HeldReply> {
    const asked = HeldRequest.parse(request)
    return this.#kept === null ? { runs: [], hasMore: false } : readHeld(this.#kept, asked)
  }

  /** Deletes a user everywhere. In final runs the others keep their ranks (U8). */
  async erase(request: z.input<typeof UserRequest>): Promise<void> {
    const { now, ...user } = UserRequest.parse(request)
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

  /** Does due work. */
  async runDue(request: z.input<typeof RunDueRequest>): Promise<z.input<typeof RunDueReply>> {
    const { definition, ...moments } = RunDueRequest.parse(request)
    if (!(await this.#isThere(definition))) throw new Error(GONE)
    return this.#inTurn(async () => {
      const board = this.#at(definition, moments.now)
      await refill(board, moments.now)
      const before = await checkNote(board)
      const dueAt = await runDue(board, { ...moments, mayRewind: this.#db.testClock })
      await board.writeNote(before)
      this.#watchers.look()
      return { dueAt, ...board.events.outbox() }
    })
  }

  /** Recounts users from D1. */
  async recount(request: z.input<typeof RecountRequest>): Promise<void> {
    const { definition, now, userIds } = RecountRequest.parse(request)
    if (!(await this.#isThere(definition))) throw new Error(GONE)
    await this.#changing(async () => {
      const board = await this.#filledAt(definition, now)
      await board.recountNow(now, userIds)
    })
    await this.#scheduleUpkeep()
  }

  /** Deletes outbox rows that the delivery queues have received. */
  handed(request: z.input<typeof HandedRequest>): void {
    this.#kept?.events.handed(HandedRequest.parse(request).rows)
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

  /**
   * Deletes everything, and notes that the leaderboard was deleted. So late messages leave nothing behind.
   */
  async forget(): Promise<void> {
    if (this.#isPurged) return
    this.#watchers.endAll()
    this.#board?.close()
    this.#board = null
    await this.ctx.storage.deleteAll()
    this.#opened = new BoardStore(new Sql(this.ctx.storage))
    this.#store.setNote('deleted', systemNow())
  }

  /**
   * Deletes everything for good, since the tenant is erased. Work in progress stores nothing more. Later
   * calls find that the tenant does not exist.
   */
  async purge(): Promise<void> {
    this.#isPurged = true
    this.#watchers.endAll()
    this.#board?.close()
    this.#board = null
    this.#opened?.sql.close()
    await this.ctx.storage.deleteAll()
  }
}

const watched = (board: Board): WatchedBoard => ({
  definition: board.definition,
  progress: board.progress,
  page: (request, run) => readPage(board, { ...request, run, offset: 0, userId: null }),
})
