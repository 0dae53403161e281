import { ApiError, errors } from '../../lib/errors'
import type { TenantDatabase } from '../database'
import { hasMoved, isDatabaseAway } from '../guard'

/** How often a question is asked again because users were moved meanwhile. */
const TRIES = 20

type Holder = { name: string; db: TenantDatabase }

/** A holder, with those of some items whose users it holds. */
export type Group<I> = Holder & { items: I[] }

/** Something about a user, and its place in the request. */
export type Placed<I> = { index: number; item: I }

type Finding = {
  home: TenantDatabase
  of(userId: string): TenantDatabase
  now(): Promise<{
    holders: readonly Holder[]
    holderOf: (userId: string) => Holder
    neverLeft: boolean
  }>
}

const SELECT_ONE = { sql: 'SELECT 1', params: [] }

/**
 * The users of a tenant, whichever databases hold them (B2). Callers never ask how many databases there are:
 * with one, it holds all users, and finding that out costs nothing.
 */
export class Users {
  readonly #finding: Finding

  constructor(finding: Finding) {
    this.#finding = finding
  }

  /**
   * The database of a user. Each batch is sent to the database that holds the user at that moment. So it may
   * be kept while the user is moved (B3).
   */
  of(userId: string): TenantDatabase {
    return this.#finding.of(userId)
  }

  /**
   * The databases that hold users now. If users are moved, a later batch to a database of the move is refused
   * (`hasMoved`): then the question must be asked again, so that each user is met once.
   */
  async holders(): Promise<readonly Holder[]> {
    return (await this.#finding.now()).holders
  }

  /** The database that holds a user now, for a batch about several of its users. It is refused like others. */
  async holderOf(userId: string): Promise<Holder> {
    return (await this.#finding.now()).holderOf(userId)
  }

  /** Whether all users have always been in the first database. */
  async neverLeft(): Promise<boolean> {
    return (await this.#finding.now()).neverLeft
  }

  /**
   * The databases that hold the users of some items now, with these items in their order; a database comes at
   * the place of its first item. A later batch is refused like others.
   */
  async groups<I>(items: readonly I[], userIdOf: (item: I) => string): Promise<Group<I>[]> {
    if (items.length === 0) return []
    const {
      holders: [only, ...others],
      holderOf,
    } = await this.#finding.now()
    // Then no user's bucket has to be computed.
    if (only !== undefined && others.length === 0) return [{ ...only, items: [...items] }]
    const groups = new Map<string, Group<I>>()
    for (const item of items) {
      const holder = holderOf(userIdOf(item))
      const group = groups.get(holder.name) ?? { ...holder, items: [] }
      group.items.push(item)
      groups.set(holder.name, group)
    }
    return [...groups.values()]
  }

  /**
   * Asks all databases that hold users, side by side. Returns their answers in the order of the databases. If
   * users were moved meanwhile, all are asked again, so that the answers have each user exactly once (B3,
   * B5). `ask` must only read. Throws 503 if a database can't be reached.
   */
  askAll<T>(ask: (db: TenantDatabase, name: string) => Promise<T>): Promise<T[]> {
    return answersOf(
      () => this.holders(),
      ({ db, name }) => ask(db, name),
    )
  }

  /**
   * Asks the databases that hold these users, side by side, each one about its own users, in the given order.
   * Repeats and throws like `askAll`. Without users it asks nothing.
   */
  askAbout<T>(
    userIds: readonly string[],
    ask: (db: TenantDatabase, userIds: readonly string[]) => Promise<T>,
  ): Promise<T[]> {
    return answersOf(
      () => this.groups(userIds, (id) => id),
      ({ db, items }) => ask(db, items),
    )
  }

  /**
   * Does work on users, once for the items of each database, side by side. `work` must store all of it in one
   * batch, or know which part it has stored already. If users were moved meanwhile, the items that were not
   * done are grouped again. If a database can't be reached, nothing is done and this throws, unless it was
   * lost after others had answered, or its users kept changing all the time. Then `missed` has its items, so that
   * a client does not send the others again. Without items, `work` is called once, with the first database.
   */
  async each<I, T>(
    items: readonly I[],
    userIdOf: (item: I) => string,
    work: (db: TenantDatabase, items: readonly Placed<I>[]) => Promise<T>,
  ): Promise<{ done: T[]; missed: Placed<I>[] }> {
    const done: T[] = []
    let open = items.map((item, index): Placed<I> => ({ index, item }))
    for (let tries = 0; tries < TRIES; tries += 1) {
      const some = await this.groups(open, ({ item }) => userIdOf(item))
      const groups = some.length > 0 ? some : [{ db: this.#finding.home, items: [] }]
      // A database that is away is found here, before the others store anything.
      const [missing] =
        groups.length === 1 ? [] : await problemsOf(groups.map(({ db }) => db.run(SELECT_ONE)))
      if (hasMoved(missing)) continue
      if (missing !== undefined) {
        if (done.length > 0) return { done, missed: open }
        throw missing
      }
      const results = await Promise.allSettled(groups.map((group) => work(group.db, group.items)))
      const problems = new Map<unknown, Placed<I>[]>()
      open = []
      for (const [nth, result] of results.entries()) {
        const own = groups[nth]?.items ?? []
        if (result.status === 'fulfilled') done.push(result.value)
        else if (hasMoved(result.reason)) open.push(...own)
        else problems.set(result.reason, own)
      }
      const [problem] = problems.keys()
      const isLost = done.length > 0 && [...problems.keys()].every(isUnfinished)
      if (problem !== undefined && !isLost) throw problem
      if (problem !== undefined || open.length === 0)
        return { done, missed: [...[...problems.values()].flat(), ...open] }
    }
    throw errors.unavailable()
  }
}

/**
 * Asks all of these places side by side, and waits for all answers. If users were moved meanwhile, it finds
 * the places again and asks again. Throws the first other error, and 503 if users are moved all the time.
 */
async function answersOf<P, T>(
  places: () => Promise<readonly P[]>,
  ask: (place: P) => Promise<T>,
): Promise<T[]> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answers = await Promise.allSettled((await places()).map(ask))
    const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    if (failures.length === 0)
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const other = failures.find((reason) => !hasMoved(reason))
    if (other !== undefined) throw other
  }
  throw errors.unavailable()
}

/** Whether a database could not be reached, or its users kept changing until the last attempt (E3). */
const isUnfinished = (error: unknown): boolean =>
  isDatabaseAway(error) || (error instanceof ApiError && error.status === 429)

async function problemsOf(works: readonly Promise<unknown>[]): Promise<unknown[]> {
  const results = await Promise.allSettled(works)
  const problems = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  // A database that is away counts more than users who were moved.
  return problems.sort((a, b) => Number(hasMoved(a)) - Number(hasMoved(b)))
}
