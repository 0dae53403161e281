import { eventText } from '../../api/streams'
import { type Instant, instant, SECOND } from '../../lib/clock'
import { MOST_MIXED_VIEWS, MOST_STREAMS_OF_KEY, MOST_VIEWS, MOST_WATCHERS } from '../../lib/limits'
import { systemNow, wait } from '../../lib/system-clock'
import { localDay } from '../../lib/zone'
import { logProblem } from '../../platform/log'
import { latestRuns, type Run, servedRun, statusOf } from '../../rules/runs.rules'
import { groupOf, type Page, type Row } from '../board'
import {
  firstDate,
  keyOf,
  MOST_UNSEEN,
  named,
  pageOf,
  SEEN_EVERY,
  View,
  type ViewRequest,
  type WatchedBoard,
  WatcherNote,
} from './view'

/** The least time between two rankings of a stream (Y1), and between the beginnings of two rounds. */
const PAUSE = SECOND
/** The longest wait of a stream for which a round waits too. The next round serves the other streams. */
const SHORT_WAIT = PAUSE / 4
const PAUSE_AFTER_FAILURE = 5 * SECOND
/** The most runs that a stream is told about at once. Only a test clock makes several runs final at once. */
const MOST_FINALS = 10
/**
 * A round sends to a fiftieth of the streams at once, and to 20 at least. Then other work has its turn for 10
 * milliseconds: an event must not wait until thousands of streams are served.
 */
const PARTS = 50
const SENDS_AT_ONCE = 20
const PAUSE_AFTER_SENDS = 10

type Sockets = Pick<DurableObjectState, 'acceptWebSocket' | 'getWebSockets'>

type WatchSource = {
  /** The board; null if it was deleted. */
  board: () => WatchedBoard | null
  /** The present time. If the test clock is set, it is the time of that clock (C1). */
  now: () => Promise<Instant>
  /** The names of users by their internal ids. */
  namesOf: (board: WatchedBoard, userIds: readonly string[]) => Promise<ReadonlyMap<string, string | null>>
}

/** An event as the streams send it, its version in milliseconds, and the hash of a ranking. */
type LiveText = { version: number; hash: string | null; text: string }

type Watcher = Pick<WatcherNote, 'holder' | 'shown' | 'version' | 'openFrom'> & {
  readonly view: View
  /** When it got its last ranking, in real time. */
  sent: Instant
  /** How many events were sent since the stream last said that it receives them. */
  unseen: number
  /** Whether the note at its socket is outdated. */
  isUnsaved: boolean
}

/** A stream that has got nothing yet. */
const BEGIN = { shown: null, version: 0, unseen: 0, isUnsaved: true }

/**
 * The streams that watch a board (Y). A change of the board begins a round, at most one a second: each view
 * that the change may concern is read once, and its watchers get the same text. No row is written, and
 * between rounds there is no timer, so that the object can sleep while its sockets stay open.
 */
export class Watchers {
  readonly #sockets: Sockets
  readonly #source: WatchSource
  readonly #views = new Map<string, View>()
  /** Null until it is needed: a new object may have sockets from before it slept. */
  #watchers: Map<WebSocket, Watcher> | null = null
  /** The holders of the keys of streams that are about to open. */
  readonly #opening: (string | null)[] = []
  /** Users and groups that have changed since the last round; `isAny` if any view may have changed. */
  readonly #changedUsers = new Set<string>()
  readonly #changedGroups = new Set<string | null>()
  #isAny = true
  #served: string | null = null
  /** The last version, in milliseconds. */
  #version = 0
  /** When the last round began, in real time. */
  #lastRound = 0
  #timer: ReturnType<typeof setTimeout> | null = null
  /** The reads in progress: one at a time, so that no view becomes older. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(sockets: Sockets, source: WatchSource) {
    this.#sockets = sockets
    this.#source = source
  }

  /** The open streams. After the object has slept, they are made from the notes at the sockets. */
  get #open(): Map<WebSocket, Watcher> {
    if (this.#watchers !== null) return this.#watchers
    const open = new Map<WebSocket, Watcher>()
    this.#watchers = open
    for (const socket of this.#sockets.getWebSockets()) {
      const note = WatcherNote.safeParse(socket.deserializeAttachment())
      if (!note.success) {
        close(socket)
        continue
      }
      const { limit, group, ...state } = note.data
      const view = this.#viewOf({ limit, group })
      view.watchers += 1
      this.#version = Math.max(this.#version, state.version)
      // A version is the moment at which it was sent.
      open.set(socket, { view, ...state, sent: instant(state.version), unseen: 0, isUnsaved: false })
    }
    return open
  }

  get #isWatched(): boolean {
    return this.#open.size + this.#opening.length > 0
  }

  #viewOf(request: ViewRequest): View {
    const key = keyOf(request)
    const known = this.#views.get(key)
    if (known !== undefined) return known
    const view = new View(key, request)
    this.#views.set(key, view)
    return view
  }

  /** Notes that a score has moved. Costs nothing if nobody watches (Y3). */
  moved(before: Row | null, after: Row): void {
    if (!this.#isWatched) return
    this.#changedUsers.add(after.iid)
    this.#changedGroups.add(before?.group ?? null).add(after.group)
    this.#schedule()
  }

  /** Notes that anything may have changed, or that time has passed. */
  look(): void {
    if (!this.#isWatched) return
    this.#isAny = true
    this.#schedule()
  }

  /**
   * Opens a stream, and sends it the present ranking. Returns the client's end of its socket; `full` if there
   * are too many streams or views, `many` if the holder of the key has too many streams (Y3), and `gone` if the
   * board is not served any more.
   */
  async open(request: ViewRequest, holder: string | null): Promise<WebSocket | 'full' | 'many' | 'gone'> {
    if (holder !== null && this.#streamsOf(holder) >= MOST_STREAMS_OF_KEY) return 'many'
    if (this.#isFull(request)) return 'full'
    const view = this.#viewOf(request)
    view.watchers += 1
    this.#opening.push(holder)
    try {
      if (!(await this.#read([view]))) return 'gone'
      const { 0: client, 1: server } = new WebSocketPair()
      this.#sockets.acceptWebSocket(server)
      view.watchers += 1
      const openFrom = this.#source.board()?.progress.openFrom ?? 0
      this.#open.set(server, { ...BEGIN, view, holder, openFrom, sent: systemNow() })
      this.#show(server, this.#ranking(view))
      this.#save(server)
      if (this.#timer === null && this.#isBehind) this.#schedule()
      return client
    } finally {
      this.#opening.splice(this.#opening.indexOf(holder), 1)
      this.#release(view)
    }
  }

  get #isBehind(): boolean {
    for (const { isOutdated } of this.#views.values()) if (isOutdated) return true
    for (const { shown, view } of this.#open.values()) if (shown !== view.hash) return true
    return false
  }

  #streamsOf(holder: string): number {
    const holders = [...this.#opening, ...[...this.#open.values()].map((watcher) => watcher.holder)]
    return holders.filter((one) => one === holder).length
  }

  #isFull(request: ViewRequest): boolean {
    if (this.#open.size + this.#opening.length >= MOST_WATCHERS) return true
    if (this.#views.has(keyOf(request))) return false
    const mixed = [...this.#views.values()].filter(({ whole }) => whole === null)
    return (
      this.#views.size >= MOST_VIEWS || (groupOf(request.group) === null && mixed.length >= MOST_MIXED_VIEWS)
    )
  }

  seen(socket: WebSocket): void {
    const watcher = this.#open.get(socket)
    if (watcher !== undefined) watcher.unseen = Math.max(0, watcher.unseen - SEEN_EVERY)
  }

  left(socket: WebSocket): void {
    const watcher = this.#open.get(socket)
    if (watcher === undefined) return
    this.#open.delete(socket)
    this.#release(watcher.view)
  }

  #release(view: View): void {
    view.watchers -= 1
    if (view.watchers === 0) this.#views.delete(view.key)
  }

  /** Ends all streams: the board has ended (Y2). */
  endAll(): void {
    for (const socket of this.#open.keys()) this.#drop(socket)
  }

  #drop(socket: WebSocket): void {
    this.left(socket)
    close(socket)
  }

  #schedule(pause = PAUSE): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(
      () => {
        this.#round().catch((error: unknown) => this.#failed(error))
      },
      leftOf(pause, this.#lastRound),
    )
  }

  #failed(error: unknown): void {
    const leaderboard = this.#source.board()?.definition.id
    const problem = `the watchers were not told: ${String(error)}`
    logProblem('warn', { ...(leaderboard !== undefined && { leaderboard }), error: problem })
    this.#timer = null
    this.#schedule(PAUSE_AFTER_FAILURE)
  }

  /** Reads all views that may have changed, and sends them to the watchers who have not seen them. */
  async #round(): Promise<void> {
    this.#lastRound = systemNow()
    if (this.#isWatched && (await this.#read([...this.#views.values()]))) {
      await this.#tellFinals()
      await this.#showAll()
    }
    this.#timer = null
    const hasMoved = this.#isAny || this.#changedGroups.size > 0
    if (this.#isWatched && (hasMoved || this.#isBehind)) this.#schedule()
    else for (const socket of this.#open.keys()) this.#save(socket)
  }

  #markOutdated(): void {
    for (const view of this.#views.values()) {
      const isConcerned = view.whole === null || this.#changedGroups.has(view.whole)
      if (!this.#isAny && !(isConcerned && this.#changedGroups.size > 0)) continue
      view.isOutdated = true
      for (const iid of this.#changedUsers) view.changed.add(iid)
    }
    this.#isAny = false
    this.#changedUsers.clear()
    this.#changedGroups.clear()
  }

  /**
   * Brings views up to date, with one query for all their names. If the board is not served any more, all
   * streams end, and it returns false. If it throws, the views are still outdated.
   */
  #read(views: readonly View[]): Promise<boolean> {
    const turn = this.#turn.then(() => this.#readNow(views))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #readNow(views: readonly View[]): Promise<boolean> {
    const now = await this.#source.now()
    const board = this.#source.board()
    const status = board && statusOf(board.definition, now)
    if (board === null || (status !== 'active' && status !== 'finished')) {
      this.endAll()
      return false
    }
    const run = servedRun(board.definition, localDay(now, 0))
    const served = JSON.stringify([run.start, status])
    if (served !== this.#served) this.#isAny = true
    this.#served = served
    this.#markOutdated()
    const outdated = views.filter((view) => view.isOutdated)
    const pages = outdated.map((view) => ({ view, ...pageOf(board, view, run, served) }))
    const fresh = pages.filter(({ view, key, page }) => !view.hasPage(key, page))
    for (const view of outdated) view.changed.clear()
    try {
      const names = await this.#namesIn(
        board,
        fresh.map(({ page }) => page),
      )
      for (const { view, page, key } of fresh) {
        view.set(key, { run: firstDate(board, run), status, rankings: named(page, names) })
      }
      for (const view of outdated) view.isOutdated = false
      return true
    } catch (error) {
      for (const view of outdated) view.pageKey = null
      this.#isAny = true
      throw error
    }
  }

  async #namesIn(board: WatchedBoard, pages: readonly Page[]): Promise<ReadonlyMap<string, string | null>> {
    const userIds = [...new Set(pages.flat().map(({ userId }) => userId))]
    return userIds.length === 0 ? new Map() : this.#source.namesOf(board, userIds)
  }

  async #tellFinals(): Promise<void> {
    const board = this.#source.board()
    if (board === null) return
    const { openFrom } = board.progress
    const last = servedRun(board.definition, localDay(await this.#source.now(), 0)).start
    const events = new Map<string, LiveText>()
    for (const [socket, watcher] of this.#open) {
      if (watcher.openFrom === openFrom) continue
      const until = Math.min(openFrom - 1, last)
      for (const run of latestRuns(board.definition, until, watcher.openFrom - 1).slice(-MOST_FINALS)) {
        const key = JSON.stringify([run.start, watcher.view.key])
        const event = events.get(key) ?? (await this.#final(board, watcher.view, run))
        events.set(key, event)
        this.#send(socket, event)
      }
      watcher.openFrom = openFrom
      watcher.isUnsaved = true
    }
  }

  async #final(board: WatchedBoard, view: View, run: Run): Promise<LiveText> {
    const { page } = pageOf(board, view, run, '')
    const names = await this.#namesIn(board, [page])
    const content = JSON.stringify({ run: firstDate(board, run), rankings: named(page, names) })
    return this.#event('finished', content, null)
  }

  /** Sends unseen rankings. Watchers who got one less than a second ago wait for the next round. */
  async #showAll(): Promise<void> {
    const events = new Map<View, LiveText>()
    const atOnce = Math.max(SENDS_AT_ONCE, Math.ceil(this.#open.size / PARTS))
    let sent = 0
    for (const [socket, watcher] of this.#open) {
      const { view } = watcher
      const early = leftOf(PAUSE, watcher.sent)
      if (watcher.shown === view.hash || early > SHORT_WAIT) continue
      if (early > 0) await wait(early)
      const known = events.get(view)
      // A stream that was opened meanwhile may have brought the view up to date.
      const event = known?.hash === view.hash ? known : this.#ranking(view)
      events.set(view, event)
      this.#show(socket, event)
      sent += 1
      if (sent % atOnce === 0) await wait(PAUSE_AFTER_SENDS)
    }
  }

  #show(socket: WebSocket, event: LiveText): void {
    const watcher = this.#open.get(socket)
    if (watcher === undefined) return
    watcher.shown = event.hash
    watcher.sent = systemNow()
    this.#send(socket, event)
  }

  #send(socket: WebSocket, { version, text }: LiveText): void {
    const watcher = this.#open.get(socket)
    if (watcher === undefined) return
    if (watcher.unseen >= MOST_UNSEEN) {
      this.#drop(socket)
      return
    }
    watcher.version = version
    watcher.unseen += 1
    watcher.isUnsaved = true
    try {
      socket.send(text)
    } catch {
      this.#drop(socket)
    }
  }

  #ranking(view: View): LiveText {
    return this.#event('ranking', view.content, view.hash)
  }

  /** An event with a version of its own. `content` is JSON of its other fields, and `hash` its hash. */
  #event(name: 'ranking' | 'finished', content: string, hash: string | null): LiveText {
    const version = this.#nextVersion()
    const shown = version / SECOND
    return { version, hash, text: eventText(name, shown, `{"version":${shown},${content.slice(1)}`) }
  }

  /** The present time, but later than the last one: versions grow without a row, also after a start (Y4). */
  #nextVersion(): number {
    this.#version = Math.max(systemNow(), this.#version + 1)
    return this.#version
  }

  /** Notes the state of a watcher at its socket, since the object may sleep now. */
  #save(socket: WebSocket): void {
    const watcher = this.#open.get(socket)
    if (!watcher?.isUnsaved) return
    watcher.isUnsaved = false
    const { view, holder, shown, version, openFrom } = watcher
    const note: WatcherNote = { ...view.request, holder, shown, version, openFrom }
    socket.serializeAttachment(note)
  }
}

/** The milliseconds that are left of a pause since a moment. 0 if the machine's clock went back since. */
function leftOf(pause: number, since: number): number {
  const passed = systemNow() - since
  return passed < 0 ? 0 : Math.max(0, pause - passed)
}

function close(socket: WebSocket): void {
  try {
    socket.close(1000, 'the stream is over')
  } catch {
    // It was closed already.
  }
}
