import { beginsAt, DAY, finalAt, MINUTE, midnight, offsetAt, utcDate } from './calendar.oracle'
import type { OracleBoard, Status, View } from './leaderboards.oracle'
import { type Economy, Ledger, type Passed } from './ledger.oracle'

/** A leaderboard of a random world. It is created active or scheduled, or inactive and moved later. */
export type WorldBoard = OracleBoard & { max: number; opens: 'at once' | 'later' }

export type WorldEvent = { user: number; metric: string; value: string; passed: Passed }

/** A step of a random history. Numbers are taken modulo the length of the list that they index. */
export type Step = { look: number } & (
  | { do: 'events'; events: WorldEvent[] }
  | { do: 'identify'; user: number; passed: Passed }
  | { do: 'wait'; minutes: number }
  | { do: 'wait until'; what: 'midnight' | 'edge' | 'noon'; user: number; board: number; plus: number }
  | { do: 'max'; board: number; max: number }
  | { do: 'switch'; board: number }
  | { do: 'finish'; board: number }
)

export type World = {
  begins: number
  users: { id: string; passed: Passed }[]
  economy: Economy
  boards: WorldBoard[]
  steps: Step[]
}

/** A request to the service. */
export type Action =
  | { do: 'events'; events: { user: string; passed: Passed; metric: string; value: string; done: boolean }[] }
  | { do: 'identify'; user: string; passed: Passed }
  | { do: 'clock'; to: number }
  | { do: 'board'; key: string; status?: Status; maxParticipants?: number }

/** Plays a world: turns steps into actions, and records them in the ledger. */
export class Play {
  readonly world: World
  readonly ledger: Ledger
  private readonly set = new Map<string, { status: Status; max: number }>()

  constructor(world: World) {
    this.world = world
    this.ledger = new Ledger(world.begins, world.economy)
    for (const board of world.boards) this.put(board, this.firstStatus(board), board.max)
  }

  view(): View {
    return { ...this.ledger.view }
  }

  /** The status with which a leaderboard is created. */
  firstStatus({ start, opens }: WorldBoard): Status {
    if (start > utcDate(this.world.begins)) return 'scheduled'
    return opens === 'later' ? 'inactive' : 'active'
  }

  /** The current status of a leaderboard, automatic or by its last change (L7). */
  statusOf(board: WorldBoard): Status {
    const { status } = this.setOf(board)
    if (status === 'inactive' || status === 'finished') return status
    if (status === 'scheduled' && this.ledger.now < beginsAt(board.start)) return 'scheduled'
    const final = finalAt({ start: board.start, end: board.end })
    return final !== null && this.ledger.now >= final ? 'finished' : 'active'
  }

  /** The last UTC date on which a leaderboard was active, if it was finished by hand. No run is after it. */
  lastDateOf(board: WorldBoard): string {
    const end = this.ledger.log.find(
      (one) => one.kind === 'board' && one.board === board.key && one.status === 'finished',
    )
    return utcDate(end?.at ?? this.ledger.now + DAY)
  }

  maxOf(board: WorldBoard): number {
    return this.setOf(board).max
  }

  /** Plays a step. Null if the step does nothing. */
  step(step: Step): Action | null {
    if (step.do === 'events') return this.events(step.events)
    if (step.do === 'identify') {
      const { id } = this.userAt(step.user)
      const passed = this.passedBy(step.user, step.passed)
      this.ledger.identify(id, passed)
      return { do: 'identify', user: id, passed }
    }
    if (step.do === 'wait' || step.do === 'wait until') {
      const to = step.do === 'wait' ? this.ledger.now + step.minutes * MINUTE : this.moment(step)
      if (to < this.ledger.now) return null
      this.ledger.moveTo(to)
      return { do: 'clock', to }
    }
    const board = this.boardAt(step.board)
    if (board === undefined) return null
    if (step.do === 'max') {
      // A finished leaderboard cannot change its final runs.
      if (this.statusOf(board) === 'finished') return null
      this.put(board, this.setOf(board).status, step.max)
      return { do: 'board', key: board.key, maxParticipants: step.max }
    }
    const status = step.do === 'finish' ? this.finished(board) : this.switched(board)
    if (status === null) return null
    this.put(board, status, this.maxOf(board))
    return { do: 'board', key: board.key, status }
  }

  private events(list: readonly WorldEvent[]): Action {
    const first = new Map<string, WorldEvent & { isNew: boolean }>()
    const events = list.flatMap((event) => {
      const { user, metric, value } = event
      const { id } = this.userAt(user)
      const earlier = first.get(id)
      if (earlier !== undefined && !isAnyOrder(earlier, event)) return []
      first.set(id, earlier ?? { ...event, isNew: this.ledger.zoneOf(id) === undefined })
      const passed = this.passedBy(user, event.passed)
      return [{ user: id, passed, metric, value, done: this.ledger.event(id, passed, metric, value) }]
    })
    return { do: 'events', events }
  }

  /** A new user brings a zone and attributes. */
  private passedBy(index: number, passed: Passed): Passed {
    const { id, passed: first } = this.userAt(index)
    if (this.ledger.zoneOf(id) !== undefined) return passed
    const tz = passed.tz === undefined ? first.tz : passed.tz
    return { tz, attributes: { ...first.attributes, ...passed.attributes } }
  }

  /** L7: the possible change of status, in both directions. Null if there is none. */
  private switched(board: WorldBoard): Status | null {
    const status = this.statusOf(board)
    if (status === 'finished') return null
    if (status !== 'inactive') return 'inactive'
    const final = finalAt({ start: board.start, end: board.end })
    if (final !== null && this.ledger.now >= final) return 'finished'
    if (board.start <= utcDate(this.ledger.now)) return 'active'
    // In the last hours before its start date, it has begun in some zones but not in UTC. The test leaves it
    // alone.
    return this.ledger.now < beginsAt(board.start) ? 'scheduled' : null
  }

  /** L7: only an active leaderboard can be finished early. */
  private finished(board: WorldBoard): Status | null {
    return this.statusOf(board) === 'active' ? 'finished' : null
  }

  /** The next moment at which a day, run or status changes for a user, plus or minus some milliseconds. */
  private moment({ what, user, board, plus }: Extract<Step, { do: 'wait until' }>): number {
    const { now } = this.ledger
    if (what === 'noon') return next(now, 12 * 60 * MINUTE) + plus
    const zone = this.ledger.zoneOf(this.userAt(user).id) ?? 'UTC'
    const ahead = offsetAt(zone, now) * MINUTE
    const { from = null, to = null } = this.boardAt(board) ?? {}
    const edge = what === 'midnight' ? '00:00' : ((user % 2 === 0 ? from : to) ?? from ?? to ?? '00:00')
    return next(now + ahead, Date.parse(`1970-01-01T${edge}Z`)) - ahead + plus
  }

  userAt(index: number): World['users'][number] {
    const user = this.world.users[index % this.world.users.length]
    if (user === undefined) throw new Error('a world without users')
    return user
  }

  boardAt(index: number): WorldBoard | undefined {
    return this.world.boards[index % this.world.boards.length]
  }

  private setOf({ key }: WorldBoard) {
    const set = this.set.get(key)
    if (set === undefined) throw new Error(`no leaderboard ${key}`)
    return set
  }

  private put({ key }: WorldBoard, status: Status, max: number): void {
    this.set.set(key, { status, max })
    this.ledger.board(key, status, max)
  }
}

/**
 * True if parallel events of a user have the same result in any order: positive values of one metric, by an
 * existing user who does not change.
 */
function isAnyOrder(one: WorldEvent & { isNew: boolean }, other: WorldEvent): boolean {
  const isPlain = ({ passed: { attributes, tz }, value }: WorldEvent) =>
    Object.keys(attributes).length === 0 && tz === undefined && !value.startsWith('-')
  return !one.isNew && one.metric === other.metric && isPlain(one) && isPlain(other)
}

/** The first moment after another one at which `ofDay` milliseconds of a day have passed. */
function next(after: number, ofDay: number): number {
  const today = midnight(utcDate(after)) + ofDay
  return today > after ? today : today + DAY
}
