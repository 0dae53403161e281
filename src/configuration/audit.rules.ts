import { isLonger } from '../lib/errors'
import type { AuditKind } from './model'

/** The changes that an admin can make to a resource (Z1). */
export const AUDIT_ACTIONS = [
  'create',
  'update',
  'delete',
  'grant',
  'restore',
  'void',
  'rotate',
  'send_sample',
  'redeliver',
  'try',
  'archive',
  'purge',
  'reset',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** The value of a field before and after a change, in the form of the admin interface. */
type FieldChange = { before: unknown; after: unknown }

/** The user that an entry is about, by the internal id or by the id that the caller chose. */
type AuditedUser = { iid: string } | { id: string }

/** An entry of an audit log, without the actor, the request and the time, which the request adds. */
export type AuditEntry = {
  action: AuditAction
  kind: AuditKind
  /** Null if there is only one such resource. Entries about a user have the user's internal id instead. */
  resourceId: string | null
  key: string | null
  /** Set if it is about something of one user. The erasure of the user empties its fields (U8). */
  user: AuditedUser | null
  fields: Readonly<Record<string, FieldChange>>
}

/** A resource as the admin interface shows it, without secrets; null if it does not exist. */
type Shown = object | null

/** The state of a resource before and after a change. */
export type Change<R> = { before: R | null; after: R | null }

/** The changes by which resources disappear. */
export const removals = <R>(resources: readonly R[]): Change<R>[] =>
  resources.map((before) => ({ before, after: null }))

/** Fields that an entry has elsewhere, or that change with every write. */
const LEFT_OUT: ReadonlySet<string> = new Set(['id', 'created', 'updated'])

/** The longest text of an entry, in characters. Longer texts are cut, so that an entry is never long. */
const MOST_TEXT = 2_000

/** A text of at most the given length. The end of a text that was cut is `…`. */
const cut = (text: string): string =>
  isLonger(text, MOST_TEXT) ? `${[...text].slice(0, MOST_TEXT).join('')}…` : text

/** A URL without its query, its fragment, and the name and password before its host, which may be secret. */
function withoutQuery(url: string): string {
  const [address = ''] = url.split(/[?#]/, 1)
  return address.replace(/^((?:[a-z][a-z0-9+.-]*:)?\/\/)[^/]*@/i, '$1')
}

/** The value of a field as an entry shows it: URLs without query, and long texts cut (Z1). */
function shownValue(name: string, value: unknown): unknown {
  if (typeof value === 'string') return cut(name === 'url' ? withoutQuery(value) : value)
  if (Array.isArray(value)) return value.map((item) => shownValue('', item))
  if (typeof value !== 'object' || value === null) return value ?? null
  return Object.fromEntries(Object.entries(value).map(([inner, item]) => [inner, shownValue(inner, item)]))
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

/**
 * The fields that differ between two states of a resource. A created resource has all its fields after, a
 * deleted one all its fields before. If only the query of a URL or the end of a long text differs, the field
 * is there too, with two equal values (Z1).
 */
export function fieldChanges(before: Shown, after: Shown): Record<string, FieldChange> {
  const [was, is] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))]
  const names = [...new Set([...was.keys(), ...is.keys()])].filter((name) => !LEFT_OUT.has(name))
  const changed = names.filter(
    (name) => before === null || after === null || !isSame(was.get(name), is.get(name)),
  )
  return Object.fromEntries(
    changed.map((name) => [
      name,
      { before: shownValue(name, was.get(name)), after: shownValue(name, is.get(name)) },
    ]),
  )
}

const textOf = (resource: Shown, name: 'id' | 'key'): string | null => {
  const value = new Map<string, unknown>(Object.entries(resource ?? {})).get(name)
  return typeof value === 'string' ? value : null
}

function actionOf({ before, after }: Change<object>): AuditAction {
  if (before === null) return 'create'
  return after === null ? 'delete' : 'update'
}

/** The entries of resources of which a shown field has changed. The key is the field `key` (Z1). */
export function entriesOf<R>(
  kind: AuditKind,
  changes: readonly Change<R>[],
  show: (resource: R) => object,
): AuditEntry[] {
  return changes.flatMap(({ before, after }) => {
    const shown = {
      before: before === null ? null : show(before),
      after: after === null ? null : show(after),
    }
    const fields = fieldChanges(shown.before, shown.after)
    if (Object.keys(fields).length === 0) return []
    const present = shown.after ?? shown.before
    const [resourceId, key] = [textOf(present, 'id'), textOf(present, 'key')]
    return { action: actionOf(shown), kind, resourceId, key, user: null, fields }
  })
}

/**
 * An entry about something of one user, such as a pause: its resource is the user, and the id of the thing is
 * a field (Z1). The fields must not have the caller's own id of the user.
 */
export function userEntry(
  kind: AuditKind,
  action: AuditAction,
  user: AuditedUser,
  fields: Readonly<Record<string, FieldChange>>,
): AuditEntry {
  return { action, kind, resourceId: null, key: null, user, fields }
}

const eachField = (values: object, changeOf: (shown: unknown) => FieldChange): Record<string, FieldChange> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, changeOf(shownValue(name, value))]))

/** The fields of something of a user that was made, with its id. */
export const madeFields = (made: object) => eachField(made, (after) => ({ before: null, after }))

/** The fields of something of a user that was deleted, with its id. */
export const goneFields = (gone: object) => eachField(gone, (before) => ({ before, after: null }))

/** The field of a secret that was replaced. No entry has a secret, so it has no values (Z1). */
export const HIDDEN: FieldChange = { before: null, after: null }
