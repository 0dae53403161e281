import type { z } from 'zod'
import { refusals } from '../../errors'
import type { Issue as IssueSchema } from '../../http/fields'
import type { Instant } from '../../shared/clock'
import type { Resource } from './configuration'

/** What kept an item of an admin write from being done, or is worth knowing of it (G7). */
export type Issue = z.infer<typeof IssueSchema>

/** Which item an issue is about: `index` on create, `id` or `userId` otherwise, `boostId` beside it on boosts (G7). */
export type About = { index: number } | { id: string; boostId?: string } | { userId: string }

/** Gathers the issues of one admin write; a message is one sentence of what is wrong and one of how to mend it (G7). */
export class Issues {
  readonly list: Issue[] = []

  /** The item was not done. */
  error(about: About, message: string): void {
    this.list.push({ ...about, severity: 'error', message })
  }

  /** The item was done or had nothing to do, but there is something to know of it. */
  warning(about: About, message: string): void {
    this.list.push({ ...about, severity: 'warning', message })
  }

  /** Nothing living has this id; `what` is its kind with the article, such as `a metric`. A boost's stands twice (G7). */
  unknown(id: string, what: string, boostId?: string): void {
    this.error(
      { id, ...(boostId !== undefined && { boostId }) },
      `The id ${id} is not that of ${what}. Check it against the list.`,
    )
  }
}

/**
 * Resources of one kind as an admin write changes them, item by item, so that each item sees what those before it did;
 * at the end it tells what there is to store.
 */
export class Draft<R extends Resource> {
  readonly #before: ReadonlyMap<string, R>
  readonly #now: Map<string, R>

  constructor(resources: readonly R[]) {
    this.#before = new Map(resources.map((resource) => [resource.id, resource]))
    this.#now = new Map(this.#before)
  }

  /** All that live, in order of creation. */
  get list(): R[] {
    return [...this.#now.values()]
  }

  find(id: string): R | undefined {
    return this.#now.get(id)
  }

  /** Adds a resource, or puts it in the place of the one with its id. */
  put(resource: R): void {
    this.#now.set(resource.id, resource)
  }

  remove(id: string): void {
    this.#now.delete(id)
  }

  /** Those that are new, in order of creation. */
  get added(): R[] {
    return this.list.filter(({ id }) => !this.#before.has(id))
  }

  /** Those that were there before and are no longer the same, as `revised` tells. */
  get changed(): R[] {
    return this.list.filter((one) => this.#before.has(one.id) && this.#before.get(one.id) !== one)
  }

  /** The ids of those that are gone. */
  get removed(): string[] {
    return [...this.#before.keys()].filter((id) => !this.#now.has(id))
  }
}

/** `after`, stamped as updated now; where no field really changed, `before` itself. */
export function revised<R extends Resource>(before: R, after: R, now: Instant): R {
  return JSON.stringify(before) === JSON.stringify(after) ? before : { ...after, updated: now }
}

/** The page of a list that the query asks for (G7). */
export function page<T>(list: readonly T[], { limit, skip }: { limit: number; skip: number }): T[] {
  return list.slice(skip, skip + limit)
}

/** The one with this id, in either case of letters. Throws 404, naming `what` as in `This metric`. */
export function byId<R extends { id: string }>(list: readonly R[], id: string, what: string): R {
  const found = list.find((one) => one.id === id.toLowerCase())
  if (found === undefined) throw refusals.notFound(what)
  return found
}
