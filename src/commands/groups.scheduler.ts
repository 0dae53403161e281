import { systemNow, wait } from '../lib/system-clock'
import { perInstance } from '../runtime/instance'
import type { Member } from './commit.service'
import type { Settlement } from './result.presenter'

/** Most users to one commit, and most commands, unless the first has more. */
const MOST_MEMBERS = 30
const MOST_COMMANDS = 60
/** Commits of a tenant that are on their way at once: while some are, those who come wait for each other, and go together. */
const MOST_GROUPS = 2
/** Most users of a tenant that wait here; one more goes alone. */
const MOST_WAITING = 1_000
/** How often one who waits looks whether whoever works is still alive, in ms. It also shows the run time that it isn't stuck. */
const WATCH = 1_000
/** How long a group may show no sign of life before it is thought dead, in ms: its leader's request was cancelled. */
const LEASE = 5_000

/**
 * Commits members together. Once what they wait for in common is done it answers, in their order, how each will end, which none has to
 * wait for another to learn; null for who has to go alone.
 */
export type CommitMembers = (members: readonly Member[]) => Promise<(Promise<Settlement[]> | null)[]>

/** How a member ended: null if it has to go alone. */
type End = { settlements: Settlement[] | null } | { error: unknown }

/** Those who are committed together, when their leader last showed a sign of life, and whether somebody thinks it dead. */
type Group = { entries: Entry[]; since: number }

/** A member that waits, and what wakes its request: because it is done, or because it is to lead. */
type Entry = { member: Member; group: Group | null; isLed: boolean; end: End | null; wake: () => void }

/** The users of one tenant in this isolate whose commands are to be committed. */
type Line = { waiting: Entry[]; groups: Set<Group> }

/**
 * Group commit in one isolate: what different users of a tenant wait for at the same moment shares batches of D1. One of the requests
 * leads, and does the input and output of all in its group. None depends on its survival: where it shows no sign of life, each of the
 * others goes alone, and the guards and the log tell what it had done.
 *
 * Holds at most 1,000 users a tenant; an entry goes with its end.
 */
export class Groups {
  readonly #lines = new Map<string, Line>()

  /**
   * Has a member committed together with others of its tenant. Answers null where it has to go alone: because somebody got in its way,
   * the group failed, too many wait, or another member of the same user does. `waitUntil` keeps the work for others alive when the caller
   * has gone.
   */
  async submit(
    tenantId: string,
    member: Member,
    commit: CommitMembers,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<Settlement[] | null> {
    const line = this.#lines.get(tenantId) ?? { waiting: [], groups: new Set() }
    if (line.waiting.length >= MOST_WAITING) return null
    // A batch decides each of its members on what it has read: two of one user would both be stored, and one of them be lost.
    if (line.waiting.some((one) => one.member.userId === member.userId)) return null
    this.#lines.set(tenantId, line)
    const entry: Entry = { member, group: null, isLed: false, end: null, wake: () => undefined }
    line.waiting.push(entry)
    this.#advance(tenantId, line)
    while (entry.end === null) {
      if (entry.group?.entries[0] === entry && !entry.isLed) {
        entry.isLed = true
        const work = this.#lead(tenantId, line, entry.group, commit)
        waitUntil(work)
        // If the others have given it up, its own command is done although the work for them hangs.
        await Promise.race([work, woken(entry)])
        continue
      }
      await Promise.race([woken(entry), wait(WATCH)])
      if (entry.end === null && !isHopeful(entry)) entry.end = { settlements: null }
      if (entry.group === null) this.#advance(tenantId, line)
    }
    if (entry.group === null) line.waiting = line.waiting.filter((one) => one !== entry)
    if ('error' in entry.end) throw entry.end.error
    return entry.end.settlements
  }

  /** Forms a group of those who wait longest, if one more may be on its way. */
  #advance(tenantId: string, line: Line): void {
    for (const group of line.groups) if (isDead(group)) line.groups.delete(group)
    if (line.groups.size < MOST_GROUPS && line.waiting.length > 0) {
      const group: Group = { entries: line.waiting.splice(0, sizeOf(line.waiting)), since: systemNow() }
      for (const entry of group.entries) entry.group = group
      line.groups.add(group)
      group.entries[0]?.wake()
    }
    const isOver = line.groups.size === 0 && line.waiting.length === 0
    if (isOver && this.#lines.get(tenantId) === line) this.#lines.delete(tenantId)
  }

  /** Commits a group, makes room for the next as soon as it is stored, and tells each how it ended. */
  async #lead(tenantId: string, line: Line, group: Group, commit: CommitMembers): Promise<void> {
    const ends = await commit(group.entries.map((entry) => watched(group, entry))).catch(() => [])
    group.since = systemNow()
    line.groups.delete(group)
    this.#advance(tenantId, line)
    await Promise.all(
      group.entries.map(async (entry, index) => {
        const end = await endOf(ends[index] ?? null)
        entry.end ??= end
        entry.wake()
      }),
    )
  }
}

/** The member, whose writing is a sign of the group's life too, and who may not be written once it went alone. */
const watched = (group: Group, entry: Entry): Member => ({
  ...entry.member,
  mayWrite: () => {
    group.since = systemNow()
    return entry.end === null && entry.member.mayWrite()
  },
})

/** How many of those who wait go into one group. */
function sizeOf(waiting: readonly Entry[]): number {
  let commands = 0
  const end = waiting.findIndex(({ member }, index) => {
    commands += member.jobs.length
    return index === MOST_MEMBERS || (index > 0 && commands > MOST_COMMANDS)
  })
  return end < 0 ? waiting.length : end
}

/** Whether an entry has reason to wait on: it still counts, and whoever leads it is alive. */
const isHopeful = ({ member, group }: Entry): boolean =>
  member.mayWrite() && (group === null || !isDead(group))

const isDead = ({ since }: Group): boolean => systemNow() - since > LEASE

const endOf = (settlements: Promise<Settlement[]> | null): Promise<End> | End =>
  settlements === null
    ? { settlements: null }
    : settlements.then(
        (done) => ({ settlements: done }),
        (error: unknown) => ({ error }),
      )

/** Waits until the entry is done or is to lead. */
function woken(entry: Entry): Promise<void> {
  return new Promise((resolve) => {
    entry.wake = resolve
  })
}

export const groupsOf = perInstance(() => new Groups())
