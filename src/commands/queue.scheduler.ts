import { systemNow, wait } from '../lib/system-clock'
import { perInstance } from '../runtime/instance'
import type { Job } from './attempts.types'
import { Deposed } from './commit.service'
import type { Settlement } from './result.presenter'

/** Most commands to one commit; those that wait longer go into the next. */
const GROUP = 30
/** Most commands of one user that wait here; one more goes its own way, which is right too, only dearer. */
const MOST_WAITING = 5_000
/** How often one who waits looks whether whoever works is still alive, in ms. It also shows the run time that it isn't stuck. */
const WATCH = 1_000
/** How long a leader may show no sign of life before it is thought dead, in ms: its request was cancelled. */
const LEASE = 5_000
/** The lease doubles with each takeover, up to this, so that a slow database is not taken for a row of dead leaders. */
const LONGEST_LEASE = 80_000

/**
 * Commits a group of one user. `mayWrite` turns false when somebody else has taken the group over; asking it is the leader's sign
 * of life.
 */
export type CommitGroup = (jobs: readonly Job[], mayWrite: () => boolean) => Promise<Settlement[]>

/** How a command ended. */
type End = { settlement: Settlement } | { error: unknown }

/** A command that waits, its end, and what wakes its request: because it is done, or because it is to lead. */
type Ticket = { job: Job; end: End | null; wake: () => void }

/** The commands of one user in this isolate. */
type Waiting = {
  tickets: Ticket[]
  /** Who works, on what and since when. */
  leader: Ticket | null
  group: Ticket[]
  since: number
  /** How long the leader may be silent, in ms. */
  lease: number
  /** Counts the leaders: a request may lead again while a commit of its earlier term is still on its way. */
  term: number
}

/**
 * The queue of commands in one isolate. Commands of one user that arrive together are committed together; those of
 * different users don't see each other. One of the waiting requests leads: it commits a group, its own command among
 * it, and hands on to the next. No request does another's input or output, and none depends on another's survival: if
 * a leader was cancelled, one of those who wait takes the group over, and the guards and the log tell what it had done.
 *
 * Holds at most 5,000 commands a user, by tenant and user; an entry goes with its last command.
 */
export class UserQueues {
  readonly #users = new Map<string, Waiting>()

  /**
   * Commits one command of a user, together with others that wait. `waitUntil` keeps a commit alive whose caller has
   * gone. Throws what the commit threw.
   */
  async submit(
    user: string,
    job: Job,
    commit: CommitGroup,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<Settlement> {
    const ticket: Ticket = { job, end: null, wake: () => undefined }
    const waiting = this.#users.get(user) ?? {
      tickets: [],
      leader: null,
      group: [],
      since: 0,
      lease: LEASE,
      term: 0,
    }
    if (waiting.tickets.length >= MOST_WAITING) return first(await commit([job], () => true))
    this.#users.set(user, waiting)
    waiting.tickets.push(ticket)
    if (waiting.leader === null) appoint(waiting, ticket)
    while (ticket.end === null) {
      if (waiting.leader === ticket) {
        const work = this.#lead(user, waiting, commit)
        waitUntil(work)
        // If somebody else has taken over and settled it, the command is done although the work here hangs.
        await Promise.race([work, woken(ticket)])
      } else {
        await sleep(ticket)
        if (waiting.leader !== null && systemNow() - waiting.since > waiting.lease) takeOver(waiting, ticket)
      }
    }
    if ('error' in ticket.end) throw ticket.end.error
    return ticket.end.settlement
  }

  /** Commits the first that wait, tells them, and hands on. */
  async #lead(user: string, waiting: Waiting, commit: CommitGroup): Promise<void> {
    const { term } = waiting
    const group = waiting.tickets.splice(0, GROUP).filter(({ end }) => end === null)
    waiting.group = group
    const mayWrite = () => {
      const leads = waiting.term === term
      if (leads) waiting.since = systemNow()
      return leads
    }
    const ends = group.length === 0 ? [] : await commitEach(group, commit, mayWrite)
    const deposed = waiting.term !== term
    for (const [index, ticket] of group.entries()) {
      const end = ends[index]
      // One who was taken over can only tell what stands in the log: all else is decided anew by the successor.
      if (deposed && !isRecorded(end)) continue
      ticket.end ??= end ?? { error: new Error('a commit left a command without an end') }
      ticket.wake()
    }
    if (deposed) return
    waiting.group = []
    waiting.lease = LEASE
    const next = waiting.tickets.find(({ end }) => end === null)
    if (next === undefined) {
      waiting.leader = null
      this.#users.delete(user)
    } else {
      appoint(waiting, next)
      next.wake()
    }
  }
}

/** Waits until the command is done or is to lead. */
function woken(ticket: Ticket): Promise<void> {
  return new Promise((resolve) => {
    ticket.wake = resolve
  })
}

/** Waits until the command is done or is to lead; not longer than a second, so that a dead leader is noticed. */
function sleep(ticket: Ticket): Promise<void> {
  return Promise.race([woken(ticket), wait(WATCH)])
}

/** Whether the end of a command is that its event is in the log. */
function isRecorded(end: End | undefined): boolean {
  return (
    end !== undefined &&
    'settlement' in end &&
    end.settlement.kind === 'event' &&
    end.settlement.status === 201
  )
}

function appoint(waiting: Waiting, leader: Ticket): void {
  waiting.leader = leader
  waiting.term += 1
  waiting.since = systemNow()
}

/** Takes over from a leader that is thought dead: what it had not finished goes first. */
function takeOver(waiting: Waiting, ticket: Ticket): void {
  const unfinished = waiting.group.filter(({ end }) => end === null)
  waiting.tickets.unshift(...unfinished)
  waiting.group = []
  waiting.lease = Math.min(2 * waiting.lease, LONGEST_LEASE)
  appoint(waiting, ticket)
}

/** Commits a group; where it fails as a whole, each on its own, so that none pays for another's fault. */
async function commitEach(
  group: readonly Ticket[],
  commit: CommitGroup,
  mayWrite: () => boolean,
): Promise<End[]> {
  const jobs = group.map(({ job }) => job)
  try {
    return (await commit(jobs, mayWrite)).map((settlement) => ({ settlement }))
  } catch (error) {
    if (group.length === 1 || error instanceof Deposed) return group.map(() => ({ error }))
    const ends: End[] = []
    for (const job of jobs) {
      ends.push(await commit([job], mayWrite).then((settled) => ({ settlement: first(settled) }), toError))
    }
    return ends
  }
}

const toError = (error: unknown): End => ({ error })

function first([settlement]: readonly Settlement[]): Settlement {
  if (settlement === undefined) throw new Error('a commit left a command without an end')
  return settlement
}

export const queuesOf = perInstance(() => new UserQueues())
