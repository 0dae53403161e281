import { systemNow, wait } from '../lib/system-clock'

/** How often one who waits looks whether the leader is still alive, in ms. This also shows the run time that its request is not stuck. */
const WATCH = 1_000
/** How long a leader may show no sign of life before it is thought dead, in ms: its request was cancelled. */
const LEASE = 5_000
/** The lease doubles with each takeover, up to this, so that a slow database is not taken for a row of dead leaders. */
const LONGEST_LEASE = 80_000

/** How one item ended. A result of null means that it has to go its own way. */
export type End<Result> = { result: Result | null } | { error: unknown }

/** What is different between the two levels that wait: commands of one user, and users of one tenant. */
export type LeaderRules<Item, Result> = {
  /** The most items that wait in one line; one more goes its own way. */
  mostWaiting: number
  /** The most groups of one line that are worked on at once. */
  mostGroups: number
  /** How many of the items that wait, in their order, make the next group: at least 1. */
  sizeOf: (items: readonly Item[]) => number
  /** True if two items must not wait in one line: the later one goes its own way. Null if any may. */
  excludes: ((waiting: Item, item: Item) => boolean) | null
  /** True while an item is still to be done by its group. */
  isWanted: (item: Item) => boolean
  /**
   * What happens to a group whose leader is dead. `take over`: one who waits leads the group's unfinished items from now on, before all
   * others. `part`: each of its items goes its own way.
   */
  afterDeath: 'take over' | 'part'
  /** True if an end is right even if it comes from a leader that was replaced: it says what is stored. */
  isCertain: (end: End<Result>) => boolean
}

/** A group for its leader: the items, in order of their arrival, and what the leader may still do. */
export type Led<Item> = {
  items: readonly Item[]
  /** The leader's sign of life, to be given before each write. False once somebody else leads the group. */
  leads: () => boolean
  /** True while an item of the group has no end. */
  isOpen: (index: number) => boolean
}

/**
 * Does the work of a group. It resolves once the next group may begin; the ends, in order of the items, may come later. An item without an
 * end goes its own way, and if it throws, all of them do.
 */
export type Lead<Item, Result> = (
  group: Led<Item>,
) => Promise<readonly (End<Result> | Promise<End<Result>> | undefined)[]>

/** An item that waits, and what wakes its request: because the item has ended, or because the request is to lead a group. */
type Entry<Item, Result> = {
  item: Item
  end: End<Result> | null
  group: Group<Item, Result> | null
  leads: Group<Item, Result> | null
  wake: () => void
}

/** Items that are worked on together, when their leader last showed a sign of life, and whether it has begun or was replaced. */
type Group<Item, Result> = {
  entries: readonly Entry<Item, Result>[]
  since: number
  isBegun: boolean
  isReplaced: boolean
}

/** The items with one key, and how long a leader may be silent, in ms. */
type KeyedQueue<Item, Result> = {
  waiting: Entry<Item, Result>[]
  groups: Set<Group<Item, Result>>
  lease: number
}

/**
 * Lets requests of one isolate that want the same kind of work at the same moment do it together.
 *
 * - **Line.** Items with the same key wait in one line. Lines do not see each other.
 * - **Leader.** The first that wait make a group, and the request of one of them leads it: it does the input and output of all. No request
 *   does another's input or output unless it leads, and none depends on another's survival.
 * - **Hand-over.** When a group is done, the next one is made, and the request of its first item is woken to lead it.
 * - **Lease.** A leader shows signs of life. If it shows none for 5 seconds, its request was cancelled. Those who wait look once a second.
 *   What happens then says `afterDeath`.
 *
 * Holds at most `mostWaiting` items by key besides those that are worked on; a line goes with its last item.
 */
export class LeaderScheduler<Item, Result> {
  readonly #rules: LeaderRules<Item, Result>
  readonly #lines = new Map<string, KeyedQueue<Item, Result>>()

  constructor(rules: LeaderRules<Item, Result>) {
    this.#rules = rules
  }

  /** True if no more items with this key may wait. */
  isFull(key: string): boolean {
    return (this.#lines.get(key)?.waiting.length ?? 0) >= this.#rules.mostWaiting
  }

  /**
   * Has an item done together with others of its key. `lead` is called if this request has to lead a group; `waitUntil` keeps that work
   * alive if the caller goes away. Answers null if the item has to go its own way: too many wait, another one excludes it, its group has
   * no leader any more, or its group says so. Throws the error that the item ended with.
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
    while (entry.end === null) {
      if (entry.leads !== null && !entry.leads.isBegun) {
        const work = this.#lead(key, line, entry.leads, lead)
        waitUntil(work)
        // If somebody else has ended the item meanwhile, this request is done although its work for the group hangs.
        await Promise.race([work, woken(entry)])
      } else {
        await Promise.race([woken(entry), wait(WATCH)])
        this.#watch(key, line, entry)
      }
    }
    if (entry.group === null) line.waiting = line.waiting.filter((one) => one !== entry)
    if ('error' in entry.end) throw entry.end.error
    return entry.end.result
  }

  /** Hand-over: makes the next groups of those who wait longest, as many as may be worked on. */
  #advance(key: string, line: KeyedQueue<Item, Result>): void {
    if (this.#rules.afterDeath === 'part') {
      for (const group of line.groups) if (isDead(line, group)) line.groups.delete(group)
    }
    if (line.groups.size < this.#rules.mostGroups && line.waiting.length > 0) this.#gather(line, null)
    const isOver = line.groups.size === 0 && line.waiting.length === 0
    if (isOver && this.#lines.get(key) === line) this.#lines.delete(key)
  }

  /** Makes a group of those who wait longest, led by this entry, or by the first of them. */
  #gather(line: KeyedQueue<Item, Result>, leader: Entry<Item, Result> | null): void {
    const open = line.waiting.filter(({ end }) => end === null)
    const size = open.length === 0 ? 0 : this.#rules.sizeOf(open.map(({ item }) => item))
    line.waiting = open.slice(size)
    const entries = open.slice(0, size)
    const first = leader ?? entries[0]
    if (first === undefined) return
    const group: Group<Item, Result> = { entries, since: systemNow(), isBegun: false, isReplaced: false }
    for (const entry of entries) entry.group = group
    line.groups.add(group)
    first.leads = group
    first.wake()
  }

  /** Does the work of a group, hands over to the next one, and ends each item. */
  async #lead(
    key: string,
    line: KeyedQueue<Item, Result>,
    group: Group<Item, Result>,
    lead: Lead<Item, Result>,
  ): Promise<void> {
    group.isBegun = true
    const ends = await lead({
      items: group.entries.map(({ item }) => item),
      leads: () => {
        if (!group.isReplaced) group.since = systemNow()
        return !group.isReplaced
      },
      isOpen: (index) => group.entries[index]?.end === null,
    }).catch(() => [])
    const { isReplaced } = group
    group.since = systemNow()
    if (!isReplaced) {
      line.groups.delete(group)
      line.lease = LEASE
      this.#advance(key, line)
    }
    await Promise.all(
      group.entries.map(async (entry, index) => {
        const end = (await ends[index]) ?? { result: null }
        // A leader that was replaced can only tell what is stored: the successor decides anew about all else.
        if (isReplaced && !this.#rules.isCertain(end)) return
        entry.end ??= end
        entry.wake()
      }),
    )
  }

  /** What one who waits does if a leader is dead. */
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

  /** Has an entry lead in the place of a leader that is dead: what the group had not finished goes first. */
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

const isDead = (
  { lease }: Pick<KeyedQueue<unknown, unknown>, 'lease'>,
  { since }: { since: number },
): boolean => systemNow() - since > lease

/** Waits until the entry has ended or is to lead. */
function woken(entry: { wake: () => void }): Promise<void> {
  return new Promise((resolve) => {
    entry.wake = resolve
  })
}
