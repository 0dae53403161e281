import { DurableObject } from 'cloudflare:workers'
import type { z } from 'zod'
import { Database, noCost } from '../../db/database'
import { type Bindings, variables } from '../../env'
import type { Instant } from '../../shared/clock'
import { Board, type Source } from './board'
import {
  type BestReply,
  BestRequest,
  Definition,
  Delivery,
  type DeliveryReply,
  type PageReply,
  PageRequest,
  type PlaceReply,
  PlaceRequest,
  RecountRequest,
  type TendReply,
  TendRequest,
  type Told,
} from './board.messages'
import { readBest, readPage, readPlace } from './board.reads'
import { BoardStore } from './board.store'
import { tend } from './board.upkeep'
import { marksAfter, recountUsers } from './recount.repository'

/**
 * One object a leaderboard, named by its id: it puts the changes of its scores in one order. A thin shell; what it does is in
 * board.ts and its neighbours. All that it keeps can be made anew from D1, but the day-end history and the final rankings.
 */
export class LeaderboardObject extends DurableObject<Bindings> {
  #store = new BoardStore(this.ctx.storage.sql)
  readonly #db = new Database(this.env.DB, noCost(), variables(this.env).TEST_CLOCK === 'on')
  #board: Board | null = null
  /** The upkeep that is under way: one at a time. */
  #upkeep: Promise<unknown> = Promise.resolve()

  /** What a call says of the configuration, parsed. */
  #known(told: Told): Definition {
    const known = this.#board?.definition
    return known !== undefined && known.version === told.version ? known : Definition.parse(told)
  }

  /** The board as the caller knows it to be configured. */
  #at(told: Told, now: Instant): Board {
    const definition = this.#known(told)
    this.#board ??= this.#open(definition)
    this.#board.adopt(definition, now)
    return this.#board
  }

  get #isDeleted(): boolean {
    return this.#store.note('deleted') !== null
  }

  #open(definition: Definition): Board {
    if (this.#isDeleted) throw new Error('the leaderboard was deleted')
    const source: Source = {
      recount: (board, userIds, extent) => recountUsers(this.#db, board, userIds, extent),
      marksAfter: (board, after, since, limit) => marksAfter(this.#db, board, after, since, limit),
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
    const { definition, at, changes, wanted } = Delivery.parse(request)
    const before = this.#store.rowsWritten
    const placements = await this.#changing(() =>
      this.#at(definition, at).apply({ at, changes, wanted, under: this.#known(definition) }),
    )
    return { placements, rowsWritten: this.#store.rowsWritten - before }
  }

  /** A page of a ranking (L9); null where the leaderboard was deleted. */
  page(request: z.input<typeof PageRequest>): z.input<typeof PageReply> | null {
    if (this.#isDeleted) return null
    const { definition, now, ...rest } = PageRequest.parse(request)
    return readPage(this.#at(definition, now), rest)
  }

  /** A user's place (L10); null where the leaderboard was deleted. */
  place(request: z.input<typeof PlaceRequest>): z.input<typeof PlaceReply> | null {
    if (this.#isDeleted) return null
    const { definition, now, ...rest } = PlaceRequest.parse(request)
    return readPlace(this.#at(definition, now), rest)
  }

  /** A user's best places in periods (R1); null where the leaderboard was deleted. */
  best(request: z.input<typeof BestRequest>): z.input<typeof BestReply> | null {
    if (this.#isDeleted) return null
    const { definition, now, ...rest } = BestRequest.parse(request)
    return readBest(this.#at(definition, now), rest)
  }

  /** Does what is due. */
  async tend(request: z.input<typeof TendRequest>): Promise<z.input<typeof TendReply>> {
    const { definition, ...moments } = TendRequest.parse(request)
    const work = this.#upkeep.then(() =>
      this.#changing(async () => ({
        dueAt: await tend(this.#at(definition, moments.now), { ...moments, mayRewind: this.#db.testClock }),
      })),
    )
    this.#upkeep = work.catch(() => undefined)
    return work
  }

  /** Counts users anew from D1. */
  async recount(request: z.input<typeof RecountRequest>): Promise<void> {
    const { definition, now, userIds } = RecountRequest.parse(request)
    await this.#changing(() => this.#at(definition, now).recountNow(now, userIds))
  }

  /** Forgets everything but that the leaderboard was deleted, so that what arrives late leaves nothing behind. */
  async forget(): Promise<void> {
    this.#board?.close()
    this.#board = null
    await this.ctx.storage.deleteAll()
    this.#store = new BoardStore(this.ctx.storage.sql)
    this.#store.setNote('deleted', true)
  }
}
