/** Entries of the audit log in words. */
import type { AuditLogEntry } from '@laurel/client'
import { ALL_PAGES, type KindWithPage } from '../../app/navigation'
import { formatMoment } from '../../ui/format'
import { nameOr } from '../../ui/text'

type Kind = AuditLogEntry['kind']

/** The pages of the kinds that have one. */
const PATHS: ReadonlyMap<Kind, string> = new Map(
  ALL_PAGES.flatMap(({ kind, path }) => (kind === undefined ? [] : [[kind, path]])),
)

/** The names of all other kinds. */
const OTHERS: Readonly<Record<Exclude<Kind, KindWithPage>, string>> = {
  event: 'event',
  event_batch: 'batch of events',
  points_level: 'level',
  points_trigger: 'trigger',
  points_boost: 'boost',
  points_adjustment: 'points adjustment',
  streak_settings: 'streak settings',
  streak: 'streak',
  streak_freezes: 'streak freezes',
  streak_pause: 'streak pause',
  achievement_completion: 'achievement of a user',
  user: 'user',
  application_key: 'application key',
  admin_key: 'admin key',
  settings: 'settings',
  tenant: 'tenant',
  test_clock: 'test clock',
  databases: 'databases',
}

/** The pages of kinds of which no item has a page. */
const OTHER_PATHS: Readonly<Partial<Record<Kind, string>>> = {
  streak_settings: '/streaks',
  settings: '/settings',
  tenant: '/settings',
  admin_key: '/api-keys',
  application_key: '/api-keys',
}

/** The kinds of resources with their names. */
export const KINDS: ReadonlyMap<string, string> = new Map([
  ...[...PATHS.keys()].map((kind) => [kind, kind.replaceAll('_', ' ')] as const),
  ...Object.entries(OTHERS),
])

export const isKind = (given: unknown): given is Kind => typeof given === 'string' && KINDS.has(given)

const ACTIONS: Readonly<Record<AuditLogEntry['action'], string>> = {
  create: 'Created',
  update: 'Changed',
  delete: 'Deleted',
  grant: 'Granted',
  restore: 'Restored',
  void: 'Voided',
  rotate: 'Replaced the secret of',
  send_sample: 'Tested',
  redeliver: 'Sent again to',
  try: 'Tried',
  archive: 'Archived',
  purge: 'Erased',
  reset: 'Reset',
}

type Subject = Pick<AuditLogEntry, 'action' | 'kind' | 'key' | 'fields'>

/** The verb of a change, such as "Created". */
export const actionOf = ({ action }: Pick<AuditLogEntry, 'action'>): string => ACTIONS[action]

/** The thing that was changed, such as "metric words", or the test clock with its new moment. */
export function subjectOf({ action, kind, key, fields }: Subject): string {
  const { after } = fields.now ?? {}
  if (kind === 'test_clock' && action !== 'reset' && typeof after === 'string')
    return `test clock to ${formatMoment(after)}`
  const name = KINDS.get(kind) ?? kind
  return key === null ? name : `${name} ${key}`
}

/** The key that made the change. */
export const actorOf = ({ actor: { name, keyId } }: Pick<AuditLogEntry, 'actor'>): string =>
  nameOr(name, keyId ?? 'unknown')

const SHOWN = 3

/** Kinds whose entries are about a user. They name the user by an internal id only (Z1). */
const OF_USERS: ReadonlySet<Kind> = new Set([
  'event',
  'points_adjustment',
  'achievement_completion',
  'streak',
  'streak_freezes',
  'streak_pause',
  'user',
  'application_key',
])
export const isOfUser = ({ kind }: Pick<AuditLogEntry, 'kind'>): boolean => OF_USERS.has(kind)

/** The name of a field in words: "points system" for `pointsSystemId`. */
export const fieldInWords = (name: string): string =>
  name
    .replace(/(.)Ids?$/, '$1')
    .replaceAll(/([A-Z])/g, ' $1')
    .toLowerCase()

/** The names of the changed fields. */
export function changedOf({ fields }: Pick<AuditLogEntry, 'fields'>): string {
  const names = Object.keys(fields).map(fieldInWords)
  const more = names.length - SHOWN
  return more > 0 ? `${names.slice(0, SHOWN).join(', ')} and ${more} more` : names.join(', ')
}

/** A value before or after a change, as text. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/**
 * The page of the thing that was changed; null if it is gone, or if the entry does not say which page it has:
 * entries about users have no id that a page knows.
 */
export function pathOf({ action, kind, key, resourceId, fields }: AuditLogEntry): string | null {
  if (action === 'delete' || action === 'purge') return null
  const path = PATHS.get(kind)
  if (path !== undefined) return `${path}/${encodeURIComponent(resourceId ?? key ?? '')}`
  const { after: systemId } = fields.pointsSystemId ?? {}
  // Levels, triggers and boosts are on the page of their system.
  return OTHER_PATHS[kind] ?? (typeof systemId === 'string' ? `/points/${systemId}` : null)
}
