import type * as z from 'zod'
import type { Claim } from '../../access/access'
import { signTicket } from '../../access/credentials'
import { confirmAgain, holderOf, rememberOpen } from '../../access/open-claims'
import type { LiveEvent, LiveQuery, LiveTicketResponse } from '../../api/shapes/leaderboards'
import { EventStream, realTimers, type Timers } from '../../api/streams'
import { configurationOf } from '../../configuration/configuration'
import type { Leaderboard } from '../../configuration/model'
import { type Instant, iso, SECOND } from '../../lib/clock'
import { ApiError, errors, isLonger, throwIfInvalid } from '../../lib/errors'
import { MOST_GROUP_CHARACTERS } from '../../lib/limits'
import { within } from '../../lib/system-clock'
import { localDay } from '../../lib/zone'
import { perInstance, type Scope } from '../../platform/context'
import { type Definition, definitionOf } from '../board'
import { asked, groupAsked, isShown } from '../leaderboards'
import { SEEN_EVERY, type ViewRequest, WATCH_HEADER, WATCH_STATUS, type WatcherMessage } from './view'

/** How long one confirmation of a stream may take, and the pause after one that failed. */
const CONFIRM_PATIENCE = 8 * SECOND
const CONFIRM_PAUSE = 5 * SECOND
/** How long a stream lives without a confirmation, so that none outlives its key by a minute (Y2). */
const UNCONFIRMED = 50 * SECOND

/** Real time, as the streams of an isolate see it. Tests replace it. */
export const streamTimers = perInstance<Timers>(() => realTimers)

/**
 * Opens a stream of a leaderboard (Y1). Throws 422 for an impossible group, 404 if the leaderboard was
 * deleted, 429 if the key has too many streams, and 503 if the leaderboard or the tenant has (Y3).
 */
export async function watchLeaderboard(
  scope: Scope,
  board: Leaderboard,
  { limit, userAttributes }: z.output<typeof LiveQuery>,
  claim: Claim,
): Promise<EventStream<z.infer<typeof LiveEvent>>> {
  const config = await configurationOf(scope)
  const { group, fieldErrors } = groupAsked(config, board, userAttributes)
  const isTooLong = isLonger(JSON.stringify(group), MOST_GROUP_CHARACTERS)
  const message = `must have at most ${MOST_GROUP_CHARACTERS} characters, all values together`
  throwIfInvalid(isTooLong ? [{ path: 'userAttributes', message }] : fieldErrors)
  const definition = definitionOf(config, board)
  const forget = rememberOpen(scope, claim)
  try {
    const socket = await socketTo(scope, board, definition, { limit, group }, holderOf(claim))
    return new LiveStream(scope, board, claim, socket, config.version, forget).stream
  } catch (error) {
    forget()
    throw error
  }
}

/** A ticket that opens streams as the key of the request may (Y2). */
export async function ticketFor(
  scope: Scope,
  { access, credential }: Claim,
): Promise<z.infer<typeof LiveTicketResponse>> {
  const holder = { access, credential, tenantId: scope.tenant.id }
  const { token, expires } = await signTicket(scope.variables, holder)
  return { ticket: token, expires: iso(expires) }
}

async function socketTo(
  scope: Scope,
  board: Leaderboard,
  definition: Definition,
  view: ViewRequest,
  holder: string | null,
): Promise<WebSocket> {
  const asking = JSON.stringify({ ...view, definition, now: scope.now, holder })
  const headers = { upgrade: 'websocket', [WATCH_HEADER]: encodeURIComponent(asking) }
  return asked(scope, board, async (object) => {
    const { status, webSocket } = await object.fetch('https://leaderboard/live', { headers })
    if (webSocket !== null || status === WATCH_STATUS.gone) return webSocket
    throw status === WATCH_STATUS.many ? errors.tooManyStreams() : errors.tooManyWatchers()
  })
}

/** One stream: the events of a leaderboard's object, as long as the key, the tenant and the board exist. */
class LiveStream {
  readonly stream: EventStream<z.infer<typeof LiveEvent>>
  readonly #scope: Scope
  readonly #board: Leaderboard
  readonly #claim: Claim
  readonly #socket: WebSocket
  readonly #timers: Timers
  /** The last moment, in real time, at which the claim held. */
  #confirmed: Instant
  /** The version of the configuration and the UTC day that the object has heard of. */
  #known: string
  #received = 0
  #isOver = false

  constructor(
    scope: Scope,
    board: Leaderboard,
    claim: Claim,
    socket: WebSocket,
    version: number,
    forget: () => void,
  ) {
    this.#scope = scope
    this.#board = board
    this.#claim = claim
    this.#socket = socket
    this.#timers = streamTimers(scope.instance)
    this.#confirmed = this.#timers.now()
    this.#known = knownOf(version, scope.now)
    this.stream = new EventStream(this.#timers, {
      onBeat: () => void this.#confirm(),
      onEnd: () => {
        this.#isOver = true
        forget()
        socket.close(1000, 'the stream is over')
      },
    })
    socket.addEventListener('message', ({ data }) => this.#receive(String(data)))
    socket.addEventListener('close', () => this.stream.end())
    socket.addEventListener('error', () => this.stream.end())
    socket.accept()
  }

  #receive(text: string): void {
    this.#received += 1
    if (this.#received % SEEN_EVERY === 0) this.#tell({ type: 'seen' })
    if (text.startsWith('event: ranking\n')) this.stream.show(text)
    else this.stream.tell(text)
  }

  #tell(message: WatcherMessage): void {
    try {
      this.#socket.send(JSON.stringify(message))
    } catch {
      this.stream.end()
    }
  }

  /** Ends the stream if its key, user, tenant or board has ended (Y2). Tries again if D1 can't be reached. */
  async #confirm(): Promise<void> {
    try {
      this.#confirmed = await within(CONFIRM_PATIENCE, this.#look())
    } catch (error) {
      const isOut = this.#timers.now() - this.#confirmed >= UNCONFIRMED
      if (error instanceof ApiError || isOut) return this.stream.end()
      this.#timers.after(CONFIRM_PAUSE, () => {
        if (!this.#isOver) void this.#confirm()
      })
    }
  }

  /** Confirms the claim and the board. Tells the object of another day or version. Returns when it held. */
  async #look(): Promise<Instant> {
    const { scope, at } = await confirmAgain(this.#scope, 'application', this.#claim, this.#timers.now)
    const config = await configurationOf(scope)
    const board = config.leaderboards.find(({ id }) => id === this.#board.id)
    if (board === undefined || !isShown(board, scope.now))
      throw errors.notFound(`The leaderboard ${JSON.stringify(this.#board.key)}`)
    const known = knownOf(config.version, scope.now)
    if (known !== this.#known && !this.#isOver)
      this.#tell({ type: 'definition', definition: definitionOf(config, board), now: scope.now })
    this.#known = known
    return at
  }
}

const knownOf = (version: number, now: Instant): string => `${version} ${localDay(now, 0)}`
