import type { Instant } from '../lib/clock'
import { errors } from '../lib/errors'
import type { Resource } from './configuration.types'

/** The reason why an item of an admin write was not done, or a warning about it (G7). */
export type Issue = {
  id?: string | undefined
  userId?: string | undefined
  boostId?: string | undefined
  index?: number | undefined
  severity: 'error' | 'warning'
  message: string
}

/** Fields that an admin write may leave out. */
export type Optional<T> = { [K in keyof T]?: T[K] | undefined }
/** Fields that it may leave out, or clear with null. */
export type Clearable<T> = { [K in keyof T]?: T[K] | null | undefined }

/** The item of an issue: `index` on create, `id` otherwise, with `boostId` for boosts (G7). */
type About = { index: number } | { id: string; boostId?: string }

/**
 * The issue of an item that was not done. The message has one sentence about the problem, and one about how
 * to fix it (G7).
 */
export const issueOf = (about: About, message: string): Issue => ({ ...about, severity: 'error', message })

/** The issue of an id that no resource has. `what` is the kind with its article, such as `a metric`. */
export const unknownIssue = (id: string, what: string): Issue => issueOf({ id }, unknown(id, what))

const unknown = (id: string, what: string) =>
  `The id ${id} is not the id of ${what}. Check it against the list.`

/**
 * Resources of one kind while an admin write changes them, item by item. Each item sees the changes of the
 * items before it. At the end, the draft lists the changes to store.
 */
export class Draft<R extends Resource> {
  readonly #before: ReadonlyMap<string, R>
  readonly #now: Map<string, R>

  constructor(resources: readonly R[]) {
    this.#before = new Map(resources.map((resource) => [resource.id, resource]))
    this.#now = new Map(this.#before)
  }

  /** All resources that are not deleted, in order of creation. */
  get list(): R[] {
    return [...this.#now.values()]
  }

  find(id: string): R | undefined {
    return this.#now.get(id)
  }

  /** Adds a resource, or replaces the one with its id. */
  put(resource: R): void {
    this.#now.set(resource.id, resource)
  }

  remove(id: string): void {
    this.#now.delete(id)
  }

  /** The new resources, in order of creation. */
  get added(): R[] {
    return this.list.filter(({ id }) => !this.#before.has(id))
  }

  /**
   * The resources that existed before and have changed. `revised` returns the same object if nothing has
   * changed.
   */
  get changed(): R[] {
    return this.list.filter((one) => this.#before.has(one.id) && this.#before.get(one.id) !== one)
  }

  /** The ids of the removed resources. */
  get removed(): string[] {
    return [...this.#before.keys()].filter((id) => !this.#now.has(id))
  }
}

/**
 * Creates a resource for each item. `make` returns the resource, or the reason why it can't be created, which
 * becomes an issue (G7).
 */
export function createEach<I, R extends Resource>(
  draft: Draft<R>,
  items: readonly I[],
  make: (item: I) => R | string,
): { created: R[]; issues: Issue[] } {
  const issues: Issue[] = []
  for (const [index, item] of items.entries()) {
    const made = make(item)
    if (typeof made === 'string') issues.push(issueOf({ index }, made))
    else draft.put(made)
  }
  return { created: draft.added, issues }
}

/** The keys of resources. */
export const keysIn = (list: readonly { key: string }[]): ReadonlySet<string> =>
  new Set(list.map(({ key }) => key))

/** Further fields of an issue about a resource, in addition to `id`. */
type Also = (id: string) => { boostId?: string }

/**
 * Changes the resource of each item. `change` returns the new resource, or the reason why it can't be
 * changed. `what` is the kind with its article, such as `a metric`.
 */
export function updateEach<I extends { id: string }, R extends Resource>(
  draft: Draft<R>,
  items: readonly I[],
  what: string,
  change: (before: R, item: I) => R | string,
  also: Also = () => ({}),
): { updated: R[]; issues: Issue[] } {
  const issues: Issue[] = []
  const updated: R[] = []
  for (const item of items) {
    const about = { id: item.id, ...also(item.id) }
    const before = draft.find(item.id)
    const after = before === undefined ? unknown(item.id, what) : change(before, item)
    if (typeof after === 'string') issues.push(issueOf(about, after))
    else {
      draft.put(after)
      updated.push(after)
    }
  }
  return { updated, issues }
}

/** Deletes the resources with these ids. `problem` returns the reason why one can't be deleted, or null. */
export function deleteEach<R extends Resource>(
  draft: Draft<R>,
  ids: readonly string[],
  what: string,
  problem: (id: string) => string | null = () => null,
  also: Also = () => ({}),
): { deleted: { id: string }[]; issues: Issue[] } {
  const issues: Issue[] = []
  const deleted: { id: string }[] = []
  for (const id of ids) {
    const why = draft.find(id) === undefined ? unknown(id, what) : problem(id)
    if (why !== null) issues.push(issueOf({ id, ...also(id) }, why))
    else {
      draft.remove(id)
      deleted.push({ id })
    }
  }
  return { deleted, issues }
}

/** Returns `after` with the update time `now`. If no field has changed, returns `before` itself. */
export function revised<R extends Resource>(before: R, after: R, now: Instant): R {
  return JSON.stringify(before) === JSON.stringify(after) ? before : { ...after, updated: now }
}

/** The page of a list that the query asks for (G7). */
export function page<T>(list: readonly T[], { limit, skip }: { limit: number; skip: number }): T[] {
  return list.slice(skip, skip + limit)
}

/**
 * The resource with this id, in any letter case. Throws a 404 that begins with `what`, such as `This metric`.
 */
export function byId<R extends { id: string }>(list: readonly R[], id: string, what: string): R {
  const found = list.find((one) => one.id === id.toLowerCase())
  if (found === undefined) throw errors.notFound(what)
  return found
}
