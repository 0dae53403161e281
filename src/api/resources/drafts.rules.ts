import { hash } from 'fast-sha256'
import type { Change } from '../../configuration/audit.rules'
import type { Resource } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { errors } from '../../lib/errors'

/** The reason why an item of an admin write was not done, or a warning about it (G7). */
export type Issue = {
  id?: string | undefined
  key?: string | undefined
  userId?: string | undefined
  boostId?: string | undefined
  index?: number | undefined
  severity: 'error' | 'warning'
  message: string
}

/** The item of an issue: `index` on create, else `id`, or `key` if the item names that (G7, O1). */
type About = { index: number } | { id: string; boostId?: string } | { key: string }

/** The issue of an item that was not done: one sentence on the problem, and one on how to fix it (G7). */
export const issueOf = (about: About, message: string): Issue => ({ ...about, severity: 'error', message })

/** The issue of an id that no resource has. `what` is the kind with its article, such as `a metric`. */
export const unknownIssue = (id: string, what: string): Issue => issueOf({ id }, unknown({ id }, what))

/** The message about an item for a user who does not exist. */
export const UNKNOWN_USER = 'There is no user with this id. Create the user first.'

/** The message about an item for a user whose database could not be reached any more, or who kept changing. */
export const USER_MISSED =
  'The database with this user was lost, or its users kept changing. See if it was done. If not, send this item again.'

const unknown = ({ id, key }: ItemName, what: string) =>
  id === undefined
    ? `The key ${JSON.stringify(key)} is not the key of ${what}. Check it against the list.`
    : `The id ${id} is not the id of ${what}. Check it against the list.`

/** How an item of a PATCH names its resource: by id, or by key. With both, `key` is the new key (O1). */
type ItemName = { id?: string | undefined; key?: string | undefined }

/** The resources that a DELETE names, by id and by key (O1). */
export type Names = { ids?: readonly string[] | undefined; keys?: readonly string[] | undefined }

/** A resource with a key. */
export type Keyed = Resource & { key: string }

/**
 * The resource that a path names: the one with this id, in any letter case; otherwise the one with this key. So
 * an id wins over a key that looks like one (O1). Throws a 404 that begins with `what`, such as `This metric`.
 */
export function byIdOrKey<R extends { id: string; key: string }>(
  list: readonly R[],
  idOrKey: string,
  what: string,
): R {
  const id = idOrKey.toLowerCase()
  const found = list.find((one) => one.id === id) ?? list.find((one) => one.key === idOrKey)
  if (found === undefined) throw errors.notFound(what)
  return found
}

/** Resources while an admin write changes them: each item sees the changes of the items before it. */
export class Draft<R extends Keyed> {
  readonly #before: ReadonlyMap<string, R>
  readonly #now: Map<string, R>

  constructor(resources: readonly R[]) {
    this.#before = new Map(resources.map((resource) => [resource.id, resource]))
    this.#now = new Map(this.#before)
  }

  get list(): R[] {
    return [...this.#now.values()]
  }

  find(id: string): R | undefined {
    return this.#now.get(id)
  }

  /** Adds a resource, or replaces the one with its id. One that is again as it was before has not changed. */
  put(resource: R): void {
    const before = this.#before.get(resource.id)
    const isAsBefore = JSON.stringify(before) === JSON.stringify(resource)
    this.#now.set(resource.id, isAsBefore && before !== undefined ? before : resource)
  }

  remove(id: string): void {
    this.#now.delete(id)
  }

  get added(): R[] {
    return this.list.filter(({ id }) => !this.#before.has(id))
  }

  /** Those that existed before and have changed. `revised` keeps the object if nothing has changed. */
  get changed(): R[] {
    return this.list.filter((one) => this.#before.has(one.id) && this.#before.get(one.id) !== one)
  }

  /** The changed resources before and after: created ones, then changed ones, then deleted ones. */
  get changes(): Change<R>[] {
    return [...this.added, ...this.changed, ...this.removed].map((one) => {
      const id = typeof one === 'string' ? one : one.id
      return { before: this.#before.get(id) ?? null, after: this.#now.get(id) ?? null }
    })
  }

  get removed(): string[] {
    return [...this.#before.keys()].filter((id) => !this.#now.has(id))
  }
}

/** Creates a resource for each item, by `make`. A text instead of one is the issue of the item (G7). */
export function createEach<I, R extends Keyed>(
  draft: Draft<R>,
  items: readonly I[],
  make: (item: I) => R | string,
): Issue[] {
  const issues: Issue[] = []
  for (const [index, item] of items.entries()) {
    const made = make(item)
    if (typeof made === 'string') issues.push(issueOf({ index }, made))
    else draft.put(made)
  }
  return issues
}

/** The keys of resources. */
export const keysIn = (list: readonly { key: string }[]): ReadonlySet<string> =>
  new Set(list.map(({ key }) => key))

/** How the items of a PATCH or DELETE are matched with resources of a kind, and how their issues look. */
type Matching<R, I> = {
  /** Further fields of an issue about a resource, in addition to `id`. */
  also?: ((id: string) => { boostId?: string }) | undefined
  /** Fields that never change. If an item names another value beside an id, it is ignored with a warning. */
  fixedIn?: (resource: R) => readonly string[]
  /** Gets the resource of the only item, or undefined. Throws if it is not as the caller has read it (G15). */
  demand?: ((resource: R | undefined) => void) | undefined
  /** Chooses the resource of an item if several resources have the item's key. */
  isMeant?: ((resource: R, item: I) => boolean) | undefined
}

/** Passes on the only resource of a write. If its key has two meanings, the issue says so. */
function demandOnly<R>(demand: Matching<R, never>['demand'], found: R | string, unknown: string): void {
  if (found === unknown) demand?.(undefined)
  else if (typeof found !== 'string') demand?.(found)
}

function named<R extends Keyed, I extends ItemName>(
  draft: Draft<R>,
  item: I,
  what: string,
  isMeant: (resource: R, item: I) => boolean = () => true,
): R | string {
  if (item.id !== undefined) return draft.find(item.id) ?? unknown(item, what)
  const [found, another] = draft.list.filter((one) => one.key === item.key && isMeant(one, item))
  if (another !== undefined)
    return `The key "${item.key}" is of a user attribute and of an event attribute. Pass type too.`
  return found ?? unknown(item, what)
}

/** Changes the resource of each item. `change` returns the new one, or why not; `what`: like `a metric`. */
export function updateEach<I extends ItemName, R extends Keyed>(
  draft: Draft<R>,
  items: readonly I[],
  what: string,
  change: (before: R, item: I) => R | string,
  { also = () => ({}), fixedIn = () => [], isMeant, demand }: Matching<R, I> = {},
): { updated: R[]; issues: Issue[] } {
  const issues: Issue[] = []
  const warnings: Issue[] = []
  const updated: R[] = []
  for (const item of items) {
    const before = named(draft, item, what, isMeant)
    if (items.length === 1) demandOnly(demand, before, unknown(item, what))
    const id = typeof before === 'string' ? item.id : before.id
    const about = id === undefined ? { key: item.key ?? '' } : { id, ...also(id) }
    const after = typeof before === 'string' ? before : change(before, item)
    if (typeof before === 'string' || typeof after === 'string') {
      issues.push(issueOf(about, String(after)))
      continue
    }
    draft.put(after)
    updated.push(after)
    for (const field of item.id === undefined ? [] : fixedIn(after)) {
      const given: unknown = Reflect.get(item, field)
      if (given === undefined || String(given) === String(Reflect.get(before, field))) continue
      const message = `The ${field} of ${what} never changes, so ${JSON.stringify(given)} is ignored.`
      warnings.push({ ...about, severity: 'warning', message })
    }
  }
  return { updated, issues: [...issues, ...warnings] }
}

/** Deletes the named resources, each once. `problem` says why one can't be deleted, or null. */
export function deleteEach<R extends Keyed>(
  draft: Draft<R>,
  { ids = [], keys = [] }: Names,
  what: string,
  problem: (id: string) => string | null = () => null,
  { also = () => ({}), isMeant, demand }: Omit<Matching<R, ItemName>, 'fixedIn'> = {},
): { deleted: { id: string }[]; issues: Issue[] } {
  const issues: Issue[] = []
  const deleted: { id: string }[] = []
  const done = new Set<string>()
  const items: ItemName[] = [...ids.map((id) => ({ id })), ...keys.map((key) => ({ key }))]
  const found = items.map((item) => ({ item, resource: named(draft, item, what, isMeant) }))
  for (const { item, resource } of found) {
    if (found.length === 1) demandOnly(demand, resource, unknown(item, what))
    const id = typeof resource === 'string' ? item.id : resource.id
    if (id !== undefined && done.has(id)) continue
    if (id !== undefined) done.add(id)
    const why = typeof resource === 'string' ? resource : problem(resource.id)
    if (why !== null || id === undefined) {
      issues.push(issueOf(id === undefined ? { key: item.key ?? '' } : { id, ...also(id) }, why ?? ''))
    } else {
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

/** The query of an admin list (G7, O1). */
export type ListedPage = { limit: number; skip: number; key?: readonly string[] | undefined }

/** The page of a list that the query asks for; with `key`, of the resources with these keys (G7, O1). */
export function page<T extends { key: string }>(list: readonly T[], { limit, skip, key }: ListedPage): T[] {
  const asked = key === undefined ? list : list.filter((one) => key.includes(one.key))
  return asked.slice(skip, skip + limit)
}

/** The ETag of a state, as its JSON (G15). */
export function etagOf(state: unknown): string {
  const digest = hash(new TextEncoder().encode(JSON.stringify(state))).subarray(0, 12)
  return `"${Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')}"`
}

/**
 * Throws 412 if the header `If-Match` is given and names another state (G15). `current` is the resource as it is
 * shown; null if there is none. A proxy that compresses an answer makes its ETag weak, as Cloudflare does, or adds the
 * name of the compression, as Caddy and Apache do. Both make no difference.
 */
export function demandMatch(
  ifMatch: string | undefined,
  current: object | null,
  state: unknown = current,
): void {
  // The run time drops an empty header of a request. So it counts as absent everywhere.
  if (ifMatch === undefined || ifMatch === '') return
  const tags = ifMatch
    .split(',')
    .map((tag) => tag.trim().replaceAll(/^W\/(?=")|-(?:gzip|br|zstd)(?="$)/g, ''))
  if (current === null || !(tags.includes('*') || tags.includes(etagOf(state)))) throw errors.changed(current)
}
