import type * as z from 'zod'
import { type AuditEntry, type Change, entriesOf } from '../../configuration/audit.rules'
import { configurationOf, configure, type Decision } from '../../configuration/configuration'
import { withIds } from '../../configuration/keys.rules'
import type { AuditKind, Configuration, Resource as Row, System } from '../../configuration/model'
import { errors, type FieldError, throwIfInvalid } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import { type Endpoint, ok, type RawRequest } from '../endpoint'
import type { itemName } from '../fields'
import {
  byIdOrKey,
  createEach,
  Draft,
  deleteEach,
  demandMatch,
  etagOf,
  type Issue,
  type Keyed,
  type ListedPage,
  type Names,
  page,
  revised,
  updateEach,
} from './drafts.rules'
import { type Declared, partsOf, resourceEndpoints, type Schemas, schemasOf } from './endpoints'
import { columns, type Fields, fieldOf, type Item, type Part, type RowOf, shownFields } from './fields'
import { type Columns, type ResourceTable, storeDraft } from './store.sql.ts'

/*
 * A kind of thing that admins configure. One declaration gives its schemas, its five operations and their
 * handlers, the entries of the audit log, and how it is stored.
 */

type ListsOf<T> = {
  [K in keyof T as T[K] extends readonly Keyed[] ? K : never]: T[K] extends readonly (infer R)[] ? R : never
}
type InSystem = ListsOf<System>
type Listed = ListsOf<Configuration> & InSystem

/** One write while it is decided. */
export type Write<R extends Keyed, X = undefined> = {
  scope: Scope
  config: Configuration
  /** The resources with the changes of the items before. */
  draft: Draft<R>
  /** The points system that contains the resources. Null for other kinds of resources. */
  system: System | null
  /** What was read for the write beside the configuration. */
  facts: X
}

/** What a resource is shown with: the moment, and what was read beside the configuration. */
type Showing<X = undefined> = { now: Scope['now']; facts: X }

/** What a write causes beside the change of the resources. `after` runs when it is stored. */
type Effects = Partial<Omit<Decision<unknown>, 'result'>> & {
  after?: (() => Promise<unknown>) | undefined
  /** Whether the configuration does not have the changed resources, so that its version stays. */
  isApart?: boolean
}

type Read<R, X> = { resources: readonly R[]; facts: X }

type AskedItem<F extends Fields> = z.input<z.ZodObject<Part<F, 'create'>>>
type CreateItem<F extends Fields> = z.output<z.ZodObject<Part<F, 'create'>>>
type UpdateItem<F extends Fields> = z.output<z.ZodObject<typeof itemName & Part<F, 'update'>>>
type Shown<F extends Fields> = z.input<z.ZodObject<Part<F, 'item'>>>
/** The fields of answers that no column with the same name gives. */
type Further<F extends Fields, R> = {
  [N in keyof Shown<F> as N extends keyof R
    ? never
    : F[N & keyof F] extends { shown: unknown } | { column: string }
      ? never
      : N]: Shown<F>[N]
}
type NewRow<F extends Fields, K> = RowOf<F> & Row & (K extends keyof InSystem ? { systemId: string } : object)

/*
 * The functions of a declaration are methods, so that the kit can call those of any kind. Its types are `C` for
 * an item of a create, `U` for one of an update, `S` for an answer, `N` for the row of a new resource, and `X`
 * for the facts.
 */
type Spec<F extends Fields, R extends Keyed, X, C, U, S, N, Must> = Declared<F> & {
  kind: AuditKind
  table: ResourceTable
  columns?: Columns
  check?(scope: Scope, json: unknown): FieldError[]
  /** The fields of answers that the columns don't give. An undefined field is left out. */
  show?(resource: R, showing: Showing<X>): Must & Partial<S>
  /** Reads what only GET shows, beside the configuration. In answers to writes, it is undefined. */
  readShown?(scope: Scope, resources: readonly R[]): Promise<X>
  /** What only the answer to a create shows, such as a secret. */
  showOnce?: { of(resource: R, item: C, showing: Showing<X>): object }
  /** The resource in the audit log, if it is not what an answer shows. */
  audited?(resource: R, shown: S): object
  /** The internal id of the user whom a resource belongs to; null for most. */
  ownerOf?(resource: R): string | null
  room?(write: Write<R, X>, item: C): string | null
  make(row: N, write: Write<R, X>, item: C): R | string
  /** A changed resource, or the reason why it can't be changed. `after` has the fields that the item names. */
  patch?(after: R, before: R, write: Write<R, X>, item: U): R | string
  kept?(id: string, write: Write<R, X>): string | null
  effects?(write: Write<R, X>): Effects | Promise<Effects>
  /**
   * A further field of requests that tells apart resources with the same key. `both` is the 422 for a key
   * that two resources have, if the request does not say which one is meant (O1).
   */
  apart?: { both: (key: string) => string }
  /** How resources are read that the configuration does not have, and facts about all. */
  reads?: {
    page?(scope: Scope, systemId: string, query: ListedPage): Promise<Read<R, X>>
    named?(scope: Scope, systemId: string, names: Names): Promise<Read<R, X>>
    forNew(scope: Scope, systemId: string, items: readonly C[]): Promise<X>
  }
  /** Further fields of an issue about a resource, in addition to `id` (G7). */
  also?(id: string): { boostId?: string }
}

type Answer<Name extends string, T> = Promise<{ [N in Name]: T[] } & { issues: Issue[] }>

/** A declared kind of resource: its schemas and endpoints, and the verbs that they and others call. */
type Verbs<R extends Keyed, X, C, S> = {
  endpoints: Endpoint[]
  /** The resource with this id or key. Throws 404 if there is none (O1). */
  find(scope: Scope, idOrKey: string): Promise<R>
  show(resource: R, showing: Showing<X>): S
  create(scope: Scope, items: readonly C[]): Answer<'created', S>
  /**
   * Changes resources in another way: `edit` changes the draft, and its result is returned. `audit` makes
   * other entries of the audit log than those of an update.
   */
  change<T>(
    scope: Scope,
    edit: (write: Write<R, X>) => T,
    audit?: (changes: readonly Change<R>[]) => AuditEntry[],
  ): Promise<T>
  /** The resource that an item asks for, or the reason why there can't be one. */
  make(item: C, write: Write<R, X>): R | string
  decide(write: Write<R, X>): Promise<Effects>
  entries(changes: readonly Change<R>[], showing: Showing<X>): AuditEntry[]
  /** The part of the demo that has its items. They are parsed only then, so that other starts don't pay. */
  demo: { isDone(config: Configuration): boolean; make(scope: Scope): Promise<unknown> }
}

const IN_SYSTEM = ['levels', 'triggers', 'boosts'] as const satisfies (keyof InSystem)[]
const isInSystem = (list: keyof Listed): list is keyof InSystem => IN_SYSTEM.some((name) => name === list)

/** The points system with this id or key (O1). Throws 404 if there is none. */
export const presentSystem = ({ systems }: Configuration, idOrKey: string): System =>
  byIdOrKey(systems, idOrKey, 'This points system')

type AnyWrite = Write<Keyed, unknown>
type AnySpec = Spec<Fields, Keyed, unknown, Item, Item, Item, Item, object> & {
  list: keyof Listed
  demo?: readonly Item[]
}

/** Declares a kind of admin resource. `list` names its list in the configuration or in a points system. */
export function defineResource<F extends Fields, K extends keyof Listed, X = undefined>(
  spec: { list: K } & Spec<
    F,
    Listed[K] & Keyed,
    X,
    CreateItem<F>,
    UpdateItem<F>,
    Shown<F>,
    NewRow<F, K>,
    Further<F, Listed[K]>
  > & {
      /** Its items in the demo, if they refer to no other resource (`src/worker/demo.ts`). */
      demo?: readonly AskedItem<F>[]
    },
): Schemas<F> & Verbs<Listed[K] & Keyed, X, CreateItem<F>, Shown<F>>
export function defineResource(spec: AnySpec): unknown {
  const { fields, list, showOnce, reads, apart, also } = spec
  const what = isInSystem(list) ? `${spec.one} of this points system` : spec.one
  const schemas = schemasOf(spec)
  const fixedIn = (resource: object) =>
    Object.keys(fields).filter((name) => fields[name]?.isFixed?.(resource))
  const isMeant = (one: object, asked: object) =>
    apart === undefined || [undefined, fieldOf(one, apart.field)].includes(fieldOf(asked, apart.field))

  const present = (config: Configuration, system: System | null): readonly Keyed[] =>
    isInSystem(list) ? (system?.[list] ?? []) : config[list]
  /** The configuration with the changes of the items before. */
  const seen = ({ config, draft }: AnyWrite): Configuration =>
    isInSystem(list) ? config : { ...config, [list]: draft.list }
  const systemIn = (config: Configuration, idOrKey: string) =>
    isInSystem(list) ? presentSystem(config, idOrKey) : null

  const show = (resource: Keyed, showing: Showing<unknown>): Item =>
    shownFields(fields, resource, spec.show?.(resource, showing) ?? {})
  const showing = ({ scope: { now }, facts }: Pick<AnyWrite, 'scope' | 'facts'>) => ({ now, facts })

  const entries = (changes: readonly Change<Keyed>[], at: Showing<unknown>) =>
    changes.flatMap((change) => {
      const own = entriesOf(spec.kind, [change], (one) => {
        const shown = show(one, at)
        return spec.audited?.(one, shown) ?? shown
      })
      const resource = change.after ?? change.before
      const iid = (resource && spec.ownerOf?.(resource)) ?? null
      return iid === null ? own : own.map((entry) => ({ ...entry, user: { iid } }))
    })

  async function decide(write: AnyWrite, entriesOfChanges = entries): Promise<Effects> {
    const { scope, draft } = write
    const caused = (await spec.effects?.(write)) ?? {}
    const { statements = [], beside = [], audit = [], isApart, ...effects } = caused
    const stored = [...storeDraft(scope, spec.table, draft, spec.columns), ...statements]
    return {
      ...effects,
      statements: isApart ? [] : stored,
      beside: isApart ? [...stored, ...beside] : beside,
      audit: [...entriesOfChanges(draft.changes, showing(write)), ...audit],
    }
  }

  async function changeIn<T>(
    scope: Scope,
    systemId: string,
    edit: (write: AnyWrite) => T,
    read?: () => Promise<{ resources?: readonly Keyed[]; facts: unknown }>,
    audit?: (changes: readonly Change<Keyed>[]) => AuditEntry[],
  ): Promise<T> {
    const { result, after } = await configure(scope, async (config) => {
      const system = systemIn(config, systemId)
      const { resources = present(config, system), facts } = (await read?.()) ?? { facts: undefined }
      const write = { scope, config, system, facts, draft: new Draft(resources) }
      const result = edit(write)
      const { statements = [], audit: entries = [], after, ...effects } = await decide(write, audit)
      return { ...effects, statements, audit: entries, result: { result, after } }
    })
    await after?.()
    return result
  }

  /** The resource that an item asks for whose references are ids. */
  function makeWithIds(item: Item, write: AnyWrite): Keyed | string {
    const { now } = write.scope
    const inSystem = write.system === null ? {} : { systemId: write.system.id }
    const row = {
      id: newId(now),
      created: now,
      updated: now,
      ...inSystem,
      ...columns(fields, 'create', item),
    }
    return spec.make(row, { ...write, config: seen(write) }, item)
  }

  function make(asked: Item, write: AnyWrite): Keyed | string {
    const item = withIds(seen(write), asked)
    return typeof item === 'string' ? item : makeWithIds(item, write)
  }

  function createIn(scope: Scope, systemId: string, given: readonly Item[]) {
    throwIfInvalid(spec.check?.(scope, given) ?? [])
    const read = reads && (async () => ({ facts: await reads.forNew(scope, systemId, given) }))
    const edit = (write: AnyWrite) => {
      const created: object[] = []
      const issues = createEach(write.draft, given, (asked) => {
        const item = withIds(seen(write), asked)
        if (typeof item === 'string') return item
        const made = spec.room?.(write, item) ?? makeWithIds(item, write)
        if (typeof made === 'string') return made
        created.push({ ...show(made, showing(write)), ...showOnce?.of(made, item, showing(write)) })
        return made
      })
      return { created, issues }
    }
    return changeIn(scope, systemId, edit, read)
  }

  /** What a write of this kind can change: the ETag is made of it (G15). */
  const stateOf = (resource: Keyed) => [
    resource.updated,
    ...Object.entries(fields).map(([name, { column = name }]) => column && fieldOf(resource, column)),
  ]
  const matchingIn = (write: AnyWrite, ifMatch: string | undefined) => ({
    also,
    demand: (one: Keyed | undefined) =>
      demandMatch(ifMatch, one ? show(one, showing(write)) : null, one && stateOf(one)),
  })

  function updateIn(scope: Scope, systemId: string, given: readonly Item[], ifMatch?: string) {
    throwIfInvalid(spec.check?.(scope, given) ?? [])
    // The keys may also be new ones. Then these are the resources that have them now.
    const [ids, keys] = [given.flatMap(({ id }) => textOf(id)), given.flatMap(({ key }) => textOf(key))]
    const edit = (write: AnyWrite) => {
      const change = (before: Keyed, asked: Item) => {
        const item = withIds(seen(write), asked)
        if (typeof item === 'string') return item
        const changed = { ...before, ...columns(fields, 'update', item) }
        const key = fields.key?.isFixed?.(changed) ? before.key : (textOf(item.key)[0] ?? before.key)
        const named = { ...changed, key }
        const after = spec.patch?.(named, before, { ...write, config: seen(write) }, item) ?? named
        return typeof after === 'string' ? after : revised(before, after, scope.now)
      }
      const matching = { fixedIn, isMeant, ...matchingIn(write, ifMatch) }
      const { updated, issues } = updateEach(write.draft, given, what, change, matching)
      const [first, ...others] = updated
      return {
        ...ok({ updated: updated.map((one) => show(one, showing(write))), issues }),
        headers: first && others.length === 0 ? { etag: etagOf(stateOf(first)) } : {},
      }
    }
    return changeIn(scope, systemId, edit, readNamed(scope, systemId, { ids, keys }))
  }

  const readNamed = (scope: Scope, systemId: string, names: Names) => {
    const { named } = reads ?? {}
    return named && (() => named(scope, systemId, names))
  }

  function removeIn(scope: Scope, systemId: string, names: Names, ifMatch?: string) {
    const edit = (write: AnyWrite) => {
      const problem = (id: string) => spec.kept?.(id, { ...write, config: seen(write) }) ?? null
      const matching = { isMeant: (one: object) => isMeant(one, names), ...matchingIn(write, ifMatch) }
      return deleteEach(write.draft, names, what, problem, matching)
    }
    return changeIn(scope, systemId, edit, readNamed(scope, systemId, names))
  }

  async function listIn(scope: Scope, systemId: string, query: ListedPage) {
    const config = await configurationOf(scope)
    const system = systemIn(config, systemId)
    const listed = page(present(config, system), query)
    const { resources, facts } = (await reads?.page?.(scope, systemId, query)) ?? {
      resources: listed,
      facts: await spec.readShown?.(scope, listed),
    }
    return resources.map((one) => show(one, { now: scope.now, facts }))
  }

  async function findIn(scope: Scope, systemIdOrKey: string, idOrKey: string, asked: Item = {}) {
    const config = await configurationOf(scope)
    const system = systemIn(config, systemIdOrKey)
    const names = { ids: [idOrKey.toLowerCase()], keys: [idOrKey] }
    const { resources, facts } = (await reads?.named?.(scope, system?.id ?? '', names)) ?? {
      resources: present(config, system),
      facts: undefined,
    }
    const found = byIdOrKey(resources, idOrKey, `This ${spec.one.replace(/^an? /, '')}`)
    const same = resources.filter(({ key }) => key === found.key)
    if (apart === undefined || found.id === idOrKey.toLowerCase() || same.length === 1)
      return { resource: found, facts }
    const meant = same.find((one) => fieldOf(one, apart.field) === asked[apart.field])
    if (meant === undefined) throw errors.unprocessable(apart.both(found.key))
    return { resource: meant, facts }
  }

  const endpoints = resourceEndpoints(partsOf(spec, isInSystem(list), schemas), {
    stage: {
      find: async (scope, param) =>
        isInSystem(list) ? presentSystem(await configurationOf(scope), param('systemId')).id : '',
      check: (scope: Scope, { json }: RawRequest) => spec.check?.(scope, json) ?? [],
    },
    list: (scope, query, system) => listIn(scope, system, query),
    create: (scope, body, system) => createIn(scope, system, body),
    update: (scope, body, system, ifMatch) => updateIn(scope, system, body, ifMatch),
    remove: (scope, query, system, ifMatch) => removeIn(scope, system, query, ifMatch),
    get: async (scope, param, _json, query) => {
      const asked = apart && { [apart.field]: query(apart.field) }
      const { resource, facts: read } = await findIn(scope, param('systemId'), param('id'), asked)
      const facts = read ?? (await spec.readShown?.(scope, [resource]))
      const body = show(resource, { now: scope.now, facts })
      return { ...ok(body), headers: { etag: etagOf(stateOf(resource)) } }
    },
  })

  return {
    ...schemas,
    endpoints,
    find: async (scope: Scope, idOrKey: string) => (await findIn(scope, '', idOrKey)).resource,
    show,
    create: (scope: Scope, given: readonly Item[]) => createIn(scope, '', given),
    change: <T>(
      scope: Scope,
      edit: (write: AnyWrite) => T,
      audit?: (changes: readonly Change<Keyed>[]) => AuditEntry[],
    ) => changeIn(scope, '', edit, undefined, audit),
    make,
    decide,
    entries,
    demo: {
      isDone: (config: Configuration) => present(config, null).length > 0,
      make: (scope: Scope) => createIn(scope, '', schemas.Create.parse(spec.demo)),
    },
  }
}

const textOf = (value: unknown): string[] => (typeof value === 'string' ? [value] : [])
