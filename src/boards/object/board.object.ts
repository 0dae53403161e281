import { DurableObject } from 'cloudflare:workers'
import type * as z from 'zod'
import { isActive } from '../../access/tenants.repository'
import { AccountDatabase, noCost } from '../../db/database'
import { hasTables } from '../../db/object-migrations'
import { makeDue } from '../../jobs/due-work.repository'
import { ensureAlarm } from '../../jobs/timekeeper.service'
import type { Instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import { SECOND } from '../../lib/units'
import { utcDay } from '../../lib/zone'
import { type Bindings, variables } from '../../runtime/env'
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
  type PlaceReply,
  PlaceRequest,
  RecountRequest,
  type RunDueReply,
  RunDueRequest,
  UserRequest,
} from '../board.messages'
import { HandedRequest } from '../notify/board-events.messages'
import { Board } from './board.model'
import { readBest, readGroups, readHeld, readPage, readPlace } from './board.presenter'
import { BoardStore } from './board.store'
import { recountUsers, type Source, userCursorsAfter } from './recount.repository'
import { Sql } from './statements.store'
import { runDue } from './upkeep.service'

declare module '../../runtime/env' {
  interface Bindings {
    LEADERBOARD: DurableObjectNamespace<LeaderboardObject>
  }
}

/**
 * After how many milliseconds a message is late, so that it isn't taken for the first of a user whom the board doesn't know. An erasure
 * visits boards twice, the second time a minute later: what comes after that is late (U8).
 */
const LATE = 30 * SECOND

const GONE = 'the leaderboard was deleted'

/**
 * One object a leaderboard, named by its id: it puts the changes of its scores in one order. A thin shell; what it does is in
 * board.ts and its neighbours. All that it keeps can be made anew from D1, but the day-end history and the final rankings.
 */
export class LeaderboardObject extends DurableObject<Bindings> {
  /** What it keeps; null until that is needed. */
  #opened: BoardStore | null = null
  /** Whether its tenant was erased while this object was at work. */
  #isPurged = false
  readonly #db = new AccountDatabase(this.env.DB, noCost(), variables(this.env).TEST_CLOCK === 'on')
  #board: Board | null = null
  /** The upkeep that is under way: one at a time. */
  #upkeep: Promise<unknown> = Promise.resolve()

  get #store(): BoardStore {
    this.#opened ??= new BoardStore(new Sql(this.ctx.storage))
    return this.#opened
  }

  /** Whether it keeps anything. Whoever asks it without need leaves nothing behind. */
  get #isUsed(): boolean {
    return !this.#isPurged && (this.#opened !== null || hasTables(this.ctx.storage.sql))
  }

  /** Whether there is such a leaderboard: one that keeps nothing yet may be of a tenant that was erased. */
  async #isThere({ tenantId }: DefinitionInput): Promise<boolean> {
    const isThere = this.#isUsed || (await isActive(this.#db.of(tenantId)))
    return isThere && !this.#isPurged && !this.#isDeleted
  }

  /** What a call says of the configuration, parsed. */
  #known(given: DefinitionInput): Definition {
    const known = this.#board?.definition
    return known !== undefined && known.version === given.version ? known : Definition.parse(given)
  }

  /** The board as the caller knows it to be configured. */
  #at(given: DefinitionInput, now: Instant): Board {
    const definition = this.#known(given)
    this.#board ??= this.#open(definition)
    this.#board.adopt(definition, now)
    this.#board.events.updateListeners(now)
    return this.#board
  }

  get #isDeleted(): boolean {
    return this.#isUsed && this.#store.note('deleted') !== null
  }

  #open(definition: Definition): Board {
    if (this.#isPurged || this.#isDeleted) throw new Error(GONE)
    const db = this.#db.of(definition.tenantId)
    const source: Source = {
      recount: (board, userIds, extent) => recountUsers(db, board, userIds, extent),
      userCursorsAfter: (board, after, since, limit) => userCursorsAfter(db, board, after, since, limit),
    }
    return new Board(this.#store, source, definition)
  }

  /** Runs what may change memory and store together; if it throws, memory is read anew from the store, for all who are at work. */
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
    const placements = await this.#changing(() =>
      this.#at(definition, changedAt).apply({
        changedAt,
        changes,
        wanted,
        under: this.#known(definition),
        isLate: systemNow() - changedAt > LATE,
      }),
    )
    const rowsWritten = this.#store.sql.rowsWritten - before
    await this.#scheduleUpkeep()
    return { placements, rowsWritten }
  }

  /** A page of a ranking (L9); null where the leaderboard was deleted. */
  async page(request: z.input<typeof PageRequest>): Promise<z.input<typeof PageReply> | null> {
    const { definition, now, ...rest } = PageRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readPage(this.#at(definition, now), rest)
  }

  /** A page of the groups of a run; null where the leaderboard was deleted. */
  async groups(request: z.input<typeof GroupsRequest>): Promise<z.input<typeof GroupsReply> | null> {
    const { definition, now, ...rest } = GroupsRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readGroups(this.#at(definition, now), rest)
  }

  /** A user's place (L10); null where the leaderboard was deleted. */
  async place(request: z.input<typeof PlaceRequest>): Promise<z.input<typeof PlaceReply> | null> {
    const { definition, now, ...rest } = PlaceRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readPlace(this.#at(definition, now), rest)
  }

  /** A user's best places in periods (R1); null where the leaderboard was deleted. */
  async best(request: z.input<typeof BestRequest>): Promise<z.input<typeof BestReply> | null> {
    const { definition, now, ...rest } = BestRequest.parse(request)
    if (!(await this.#isThere(definition))) return null
    return readBest(this.#at(definition, now), rest)
  }

  /** The board as the store has it; null where there was never anything to keep, or the leaderboard was deleted. */
  get #kept(): Board | null {
    const definition = this.#isUsed ? this.#store.note('board') : null
    if (definition === null) return null
    this.#board ??= this.#open(Definition.parse(definition))
    return this.#board
  }

  /** All that is held of a user (U8). */
  held(request: z.input<typeof HeldRequest>): z.input<typeof HeldReply> {
    const asked = HeldRequest.parse(request)
    return this.#kept === null ? { runs: [], hasMore: false } : readHeld(this.#kept, asked)
  }

  /** Takes a user out of everything; in final runs the others keep their ranks (U8). */
  async erase(request: z.input<typeof UserRequest>): Promise<void> {
    const { now, ...user } = UserRequest.parse(request)
    await this.#changing(() => {
      // How the last day ended is written down first: the user was there.
      const board = this.#kept
      if (board === null) return
      board.events.now = now
      board.roll(utcDay(now))
      board.erase([user])
    })
    await this.#scheduleUpkeep()
  }

  /** Does what is due. */
  async runDue(request: z.input<typeof RunDueRequest>): Promise<z.input<typeof RunDueReply>> {
    const { definition, ...moments } = RunDueRequest.parse(request)
    if (!(await this.#isThere(definition))) throw new Error(GONE)
    const work = this.#upkeep.then(() =>
      this.#changing(async () => {
        const board = this.#at(definition, moments.now)
        const dueAt = await runDue(board, { ...moments, mayRewind: this.#db.testClock })
        return { dueAt, ...board.events.outbox() }
      }),
    )
    this.#upkeep = work.catch(() => undefined)
    return work
  }

  /** Counts users anew from D1. */
  async recount(request: z.input<typeof RecountRequest>): Promise<void> {
    const { definition, now, userIds } = RecountRequest.parse(request)
    if (!(await this.#isThere(definition))) throw new Error(GONE)
    await this.#changing(() => this.#at(definition, now).recountNow(now, userIds))
    await this.#scheduleUpkeep()
  }

  /** Forgets what it had to tell and the couriers have now. */
  handed(request: z.input<typeof HandedRequest>): void {
    this.#kept?.events.handed(HandedRequest.parse(request).rows)
  }

  /**
   * Has the flush that has become due be made in its time: once for each, and off the way of whoever waits. If that is lost, the hourly
   * upkeep makes it (C2).
   */
  async #scheduleUpkeep(): Promise<void> {
    const due = this.#board?.events.takeHaste() ?? null
    if (this.#board === null || due === null) return
    const { id, tenantId } = this.#board.definition
    const db = this.#db.of(tenantId)
    const noted = db.batch([makeDue(db, 'leaderboard', id, due)]).catch(() => undefined)
    this.ctx.waitUntil(noted.then(() => ensureAlarm({ env: this.env }, tenantId)))
    // Whoever moves a test clock next finds it there (C1).
    if (this.#db.testClock) await noted
  }

  /** Forgets everything but that the leaderboard was deleted, so that what arrives late leaves nothing behind. */
  async forget(): Promise<void> {
    if (this.#isPurged) return
    this.#board?.close()
    this.#board = null
    await this.ctx.storage.deleteAll()
    this.#opened = new BoardStore(new Sql(this.ctx.storage))
    this.#store.setNote('deleted', true)
  }

  /**
   * Forgets everything, for good: the tenant is erased. What is at work stores nothing any more; what arrives later finds the tenant gone.
   */
  async purge(): Promise<void> {
    this.#isPurged = true
    this.#board?.close()
    this.#board = null
    this.#opened?.sql.close()
    await this.ctx.storage.deleteAll()
  }
}
