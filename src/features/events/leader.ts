import { systemNow, wait } from '../../lib/system-clock'

/** How often a request checks its leader, in ms. This also shows the runtime that it is not stuck. */
const WATCH = 1_000
/** How long a leader may give no sign of life before it counts as dead, in ms. Its request was cancelled. */
const LEASE = 5_000
/** The lease doubles with each takeover up to this, in ms: a slow database is not many dead leaders. */
const LONGEST_LEASE = 80_000
/** How long after a group of several began or ended, in ms, later leaders wait for more items. */
const BUSY = 100
/** A leader waits for this part of the time of the last group of several, up to a limit in ms. */
const GATHERING_PART = 1 / 16
const MOST_GATHERING = 100
/** A group whose leader gave no sign of life for so long, in ms, keeps no other group from beginning. */
const QUIET = 2_000

/** How one item ended. A result of null means that its request must process it alone. */
export type End<Result> = { result: Result | null } | { error: unknown }

/** The differences between the two levels of waiting: commands of one user, and users of one tenant. */
type LeaderRules<Item, Result> = {
  /** The most items that wait in one queue. A further item is processed alone. */
  mostWaiting: number
  /** The most groups of one queue that are in progress at the same time. */
  mostGroups: number
  /**
   * Whether a further group may begin beside one in progress, by the number of items that wait and the number
   * in progress. If not, they wait until that group is done.
   */
  isEnough: (waiting: number, inProgress: number) => boolean
  /**
   * How long a leader waits at least for more items before its group begins, in ms, if a group of several
   * items began or ended shortly before. 0: it never waits.
   */
  gathering: number
  /** How many of the waiting items, in their order, make the next group: at least 1. */
  sizeOf: (items: readonly Item[]) => number
  /** True if two items must not wait in one queue: the later one is processed alone. Null if all may. */
  excludes: ((waiting: Item, item: Item) => boolean) | null
  /** True while its group must still process an item. */
  isWanted: (item: Item) => boolean
  /**
   * The rule for a group with a dead leader. `take over`: a waiting request leads the group's unfinished
   * items next, before all others. `part`: each of its items is processed alone.
   */
  afterDeath: 'take over' | 'part'
  /** True if an end is right even if it comes from a leader that was replaced: it says what is stored. */
  isCertain: (end: End<Result>) => boolean
}

type Led<Item> = {
  items: readonly Item[]
  /** The leader's sign of life, due before each write. False if another request leads the group now. */
  leads: () => boolean
  isOpen: (index: number) => boolean
}

/**
 * Does the work of a group. It resolves once the next group may begin. The ends are in the order of the
 * items, and may come later. An item without an end is processed alone. If it throws, all items are processed
 * alone.
 */
type Lead<Item, Result> = (
  group: Led<Item>,
) => Promise<readonly (End<Result> | Promise<End<Result>> | undefined)[]>

/** A waiting item. `wake` wakes its request when the item has ended or the request must lead. */
type Entry<Item, Result> = {
  item: Item
  end: End<Result> | null
  group: Group<Item, Result> | null
  leads: Group<Item, Result> | null
  wake: () => void
}

/** `since` is the leader's last sign of life. An open group still takes more items. */
type Group<Item, Result> = {
  entries: Entry<Item, Result>[]
  since: number
  isOpen: boolean
  isBegun: boolean
  isReplaced: boolean
}

type KeyedQueue<Item, Result> = {
  waiting: Entry<Item, Result>[]
  groups: Set<Group<Item, Result>>
  lease: number
}

/**
 * Lets requests of one isolate do the same kind of work together if they arrive at the same time.
 *
 * - **Queue.** Items with the same key wait in one queue. Queues do not depend on each other.
 * - **Leader.** The first waiting items make a group. The request of one of them leads it, and does the input
 *   and output for all items. Only a leader does the input and output of other requests. No request depends
 *   on another one's survival.
 * - **Handover.** When a group is done, the next one is made. The request of its first item is woken to lead
 *   it.
 * - **Lease.** A leader gives signs of life. If it gives none for 5 seconds, its request was cancelled.
 *   Waiting requests check that once a second. `afterDeath` says what happens then.
 *
 * Holds at most `mostWaiting` items for each key, in addition to the items in progress. A queue is deleted
 * with its last item.
 */
export class LeaderScheduler<Item, Result> {
  readonly #rules: LeaderRules<Item, Result>
  readonly #lines = new Map<string, KeyedQueue<Item, Result>>()
  /** When the last group of several items began or ended, and how long such a group took, in ms. */
  #lastShared = 0
  #lastTook = 0

  constructor(rules: LeaderRules<Item, Result>) {
    this.#rules = rules
  }

  isFull(key: string): boolean {
    return (this.#lines.get(key)?.waiting.length ?? 0) >= this.#rules.mostWaiting
  }

  /**
   * Processes an item together with others of its key. `lead` is called if this request must lead a group.
   * `waitUntil` keeps the request alive if the caller disconnects, since it may have to lead. Returns null if
   * the item must be processed alone: too many items wait, another one excludes it, its group has no leader
   * any more, or its group says so. Throws the error that the item ended with.
   */
  async submit(
    key: string,
    item: Item,
    lead: Lead<Item, Result>,
    waitUntil: (work: Promise<unknown>) => void,
  ): Promise<Result | null> {
    const { excludes } = this.#rules
    const line = this.#lines.get(key) ?? { waiting: [], groups: new Set(), lease: LEASE }
    if (this.isFull(key) || (excludes !== null && line.waiting.some((one) => excludes(one.item, item)))) {
      return null
    }
    this.#lines.set(key, line)
    const entry: Entry<Item, Result> = { item, end: null, group: null, leads: null, wake: () => undefined }
    line.waiting.push(entry)
    this.#advance(key, line)
    const { promise: hasEnded, resolve: markEnded } = Promise.withResolvers<void>()
    waitUntil(hasEnded)
    try {
      while (entry.end === null) {
        if (entry.leads !== null && !entry.leads.isBegun) {
          const work = this.#lead(key, line, entry.leads, lead)
          waitUntil(work)
          // If another leader has ended the item, this request is done, even if its work for the group hangs.
          await Promise.race([work, woken(entry)])
        } else {
          await Promise.race([woken(entry), wait(WATCH)])
          this.#watch(key, line, entry)
        }
      }
    } finally {
      markEnded()
      if (entry.group === null) line.waiting = line.waiting.filter((one) => one !== entry)
    }
    if ('error' in entry.end) throw entry.end.error
    return entry.end.result
  }

  /** Handover: makes the next group of the items that wait longest, if another group may be in progress. */
  #advance(key: string, line: KeyedQueue<Item, Result>): void {
    if (this.#rules.afterDeath === 'part') {
      for (const group of line.groups) if (isDead(line, group)) line.groups.delete(group)
    }
    if (this.#mayBegin(line)) this.#gather(line, null)
    const isOver = line.groups.size === 0 && line.waiting.length === 0
    if (isOver && this.#lines.get(key) === line) this.#lines.delete(key)
  }

  #mayBegin({ waiting, groups }: KeyedQueue<Item, Result>): boolean {
    const { mostGroups, isEnough } = this.#rules
    if (waiting.length === 0 || groups.size >= mostGroups) return false
    const alive = [...groups].filter(({ since }) => systemNow() - since <= QUIET)
    return alive.every(({ isOpen, entries }) => !isOpen && isEnough(waiting.length, entries.length))
  }

  /** Makes a group of the items that wait longest. This entry leads it, or else the first of them. */
  #gather(line: KeyedQueue<Item, Result>, leader: Entry<Item, Result> | null): void {
    const open = line.waiting.filter(({ end }) => end === null)
    const size = open.length === 0 ? 0 : this.#rules.sizeOf(open.map(({ item }) => item))
    line.waiting = open.slice(size)
    const entries = open.slice(0, size)
    const first = leader ?? entries[0]
    if (first === undefined) return
    const state = { isOpen: true, isBegun: false, isReplaced: false }
    const group: Group<Item, Result> = { entries, since: systemNow(), ...state }
    for (const entry of entries) entry.group = group
    line.groups.add(group)
    first.leads = group
    first.wake()
  }

  async #lead(
    key: string,
    line: KeyedQueue<Item, Result>,
    group: Group<Item, Result>,
    lead: Lead<Item, Result>,
  ): Promise<void> {
    group.isBegun = true
    const { gathering } = this.#rules
    if (gathering > 0 && systemNow() - this.#lastShared < BUSY) {
      await wait(Math.max(gathering, Math.min(MOST_GATHERING, this.#lastTook * GATHERING_PART)))
      this.#fill(line, group)
    }
    if (group.entries.length > 1) this.#lastShared = systemNow()
    const began = systemNow()
    group.isOpen = false
    const led = lead({
      items: group.entries.map(({ item }) => item),
      leads: () => {
        if (!group.isReplaced) group.since = systemNow()
        return !group.isReplaced
      },
      isOpen: (index) => group.entries[index]?.end === null,
    })
    // Others have waited to see whether this group takes them.
    this.#advance(key, line)
    const ends = await led.catch(() => [])
    const { isReplaced } = group
    group.since = systemNow()
    if (group.entries.length > 1) {
      this.#lastShared = systemNow()
      this.#lastTook = systemNow() - began
    }
    if (!isReplaced) {
      line.groups.delete(group)
      line.lease = LEASE
      this.#advance(key, line)
    }
    await Promise.all(
      group.entries.map(async (entry, index) => {
        const end = (await ends[index]) ?? { result: null }
        // A replaced leader can only say what is stored. The new leader decides everything else again.
        if (isReplaced && !this.#rules.isCertain(end)) return
        entry.end ??= end
        entry.wake()
      }),
    )
  }

  /** Adds waiting items to a group that has not begun: those that came while its leader waited for more. */
  #fill(line: KeyedQueue<Item, Result>, group: Group<Item, Result>): void {
    const { sizeOf, excludes } = this.#rules
    const items = group.entries.map(({ item }) => item)
    const fitting = line.waiting.filter(
      ({ item, end }) => end === null && !items.some((one) => excludes?.(one, item)),
    )
    const size = sizeOf([...items, ...fitting.map(({ item }) => item)])
    const more = new Set(fitting.slice(0, Math.max(0, size - items.length)))
    for (const entry of more) entry.group = group
    group.entries.push(...more)
    line.waiting = line.waiting.filter((entry) => !more.has(entry))
  }

  #watch(key: string, line: KeyedQueue<Item, Result>, entry: Entry<Item, Result>): void {
    if (entry.end !== null) return
    const { afterDeath, isWanted } = this.#rules
    const isLeft = entry.group !== null && isDead(line, entry.group)
    if (!isWanted(entry.item) || (afterDeath === 'part' && isLeft)) {
      entry.end = { result: null }
      return
    }
    if (afterDeath === 'part') {
      if (entry.group === null) this.#advance(key, line)
      return
    }
    for (const group of line.groups) if (isDead(line, group)) this.#takeOver(line, group, entry)
  }

  /** Makes an entry the leader in place of a dead one. The unfinished items of the group go first. */
  #takeOver(line: KeyedQueue<Item, Result>, group: Group<Item, Result>, entry: Entry<Item, Result>): void {
    const unfinished = group.entries.filter(({ end }) => end === null)
    for (const one of unfinished) one.group = null
    line.waiting.unshift(...unfinished)
    group.isReplaced = true
    line.groups.delete(group)
    line.lease = Math.min(2 * line.lease, LONGEST_LEASE)
    this.#gather(line, entry)
  }
}

const isDead = ({ lease }: { lease: number }, { since }: { since: number }): boolean =>
  systemNow() - since > lease

function woken(entry: { wake: () => void }): Promise<void> {
  return new Promise((resolve) => {
    entry.wake = resolve
  })
}
