/** The application interface alone: all that a browser needs. */
import { Achievements, Points, Streaks } from './application/configured.js'
import { type NewEvent, sendEvent } from './application/events.js'
import { Leaderboards, LiveTickets } from './application/leaderboards.js'
import { Users } from './application/users.js'
import type { Call } from './core/call.js'
import { type AnswerOf, Core, type OperationId, type RequestOf } from './core/core.js'
import type { CallOptions, LaurelOptions } from './core/options.js'
import type { EventResponse } from './generated/types.js'

/** A client of the application interface of Laurel. */
export class Laurel {
  /** With it, Vue leaves a client alone that an app keeps in a `ref`. Its proxies cannot read private fields. */
  readonly [Symbol.toStringTag] = 'Laurel'
  readonly #core: Core
  readonly achievements: Achievements
  readonly leaderboards: Leaderboards
  readonly liveTickets: LiveTickets
  readonly points: Points
  readonly streaks: Streaks
  readonly users: Users

  constructor(options: LaurelOptions | Core) {
    const core = options instanceof Core ? options : new Core(options)
    this.#core = core
    this.achievements = new Achievements(core)
    this.leaderboards = new Leaderboards(core)
    this.liveTickets = new LiveTickets(core)
    this.points = new Points(core)
    this.streaks = new Streaks(core)
    this.users = new Users(core)
  }

  /** Sends an event: a user did something, and how much of it. Answers everything that it changed. */
  event(metric: string, event: NewEvent, options?: CallOptions): Call<EventResponse> {
    return sendEvent(this.#core, metric, event, options)
  }

  /**
   * Calls an operation by its method and path. If a request other than a `GET` may have been stored, it is not
   * repeated.
   */
  request<Id extends OperationId>(
    operation: Id,
    request: RequestOf<Id>,
    options?: CallOptions,
  ): Call<AnswerOf<Id>> {
    return this.#core.call(operation, request, { ...options, isRepeatable: operation.startsWith('GET ') })
  }

  /**
   * The time of the service, in milliseconds since 1970: the clock of this machine until an answer has shown
   * another one in its header `Date`.
   */
  now(): number {
    return this.#core.now()
  }

  /**
   * Forgets the key that the function `apiKey` has given. Call it when a user signs out: the next call gets the
   * key of the next one. Copies of the client forget it too.
   */
  forgetKey(): void {
    this.#core.forgetKey()
  }

  /** The same client with other options, such as another tenant. */
  with(options: Omit<CallOptions, 'signal'>): Laurel {
    return new Laurel(this.#core.with(options))
  }
}

export type { NewEvent } from './application/events.js'
export type { LiveOptions } from './application/live.js'
export type { Answered, Call } from './core/call.js'
export { LaurelError, type LaurelIssue } from './core/laurel-error.js'
export type { List } from './core/list.js'
export type { ApiKey, CallOptions, Fetch, LaurelOptions, Token } from './core/options.js'
export { startTimer } from './core/timers.js'
export type * from './generated/types.js'
