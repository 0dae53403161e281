import { NO_PREFERENCES, type Preferences } from '../configuration/model'
import { jsonBytes, packsOf } from '../lib/packed'
import type { Change } from './change.rules'
import { NO_PROFILE, type Profile, type UserState } from './state'
import type { StreakEntry } from './streaks/streak-state.rules'

/** Names of changed fields that are completions begin with this. The id of the achievement follows. */
export const REVOKED = 'achievements.'

/**
 * A changed field of the profile or the preferences: its name, and the values before and after. Names are
 * paths: `name`, `attributes.<attribute id>`, `preferences.streak.metrics`,
 * `achievements.<achievement id>`. Null: there was no value.
 */
type ChangedField = readonly [name: string, before: unknown, after: unknown]

/** The part of a user's history that no other row has: one or more rows for a change (X2). */
export type HistoryRow = { fields: readonly ChangedField[]; streak: readonly StreakEntry[] }

/** The completions that a change takes back (V4). Their moments are in milliseconds. */
function revokedFields(before: UserState | null, after: UserState): ChangedField[] {
  if (before === null || after.achievements === before.achievements) return []
  return [...before.achievements].flatMap(([of, { id, at }]): ChangedField[] =>
    after.achievements.has(of) ? [] : [[`${REVOKED}${of}`, { id, at }, null]],
  )
}

/** The most bytes of the fields of one row, unless it is a single field. */
const MOST_BYTES = 900_000

/** The rows that a change leaves in the user's history: what log, ledger and past streaks don't have (X2). */
export function historyRowsOf(change: Change): HistoryRow[] {
  const { before, after } = change
  const fields = [
    ...profileFields(before?.profile ?? NO_PROFILE, after.profile),
    ...preferenceFields(before?.preferences ?? NO_PREFERENCES, after.preferences),
    ...revokedFields(before, after),
  ]
  const streak = change.event === null ? streakEntriesOf(change) : []
  const packs = fields.length === 0 && streak.length > 0 ? [[]] : packsOf(fields, MOST_BYTES, jsonBytes)
  return packs.map((fields, index) => ({ fields, streak: index === 0 ? streak : [] }))
}

/** The entries of a change about the streak (X2). A loss has its moment in the row of the past streak. */
export function streakEntriesOf({ streakEvents, streakEntries = [] }: Change): StreakEntry[] {
  const events = streakEvents.flatMap((event): StreakEntry[] => (event.kind === 'lost' ? [] : [event]))
  return [...events, ...streakEntries]
}

function profileFields(before: Profile, after: Profile): ChangedField[] {
  if (before === after) return []
  const { attributes: valuesBefore, ...fieldsBefore } = before
  const { attributes: values, ...fields } = after
  const ids = new Set([...valuesBefore.keys(), ...values.keys()])
  return [
    ...differences('', { ...fieldsBefore }, { ...fields }),
    ...[...ids].flatMap((id) =>
      difference(`attributes.${id}`, valuesBefore.get(id) ?? null, values.get(id) ?? null),
    ),
  ]
}

function preferenceFields(before: Preferences, after: Preferences): ChangedField[] {
  if (before === after) return []
  return [
    ...differences('preferences.notifications.', before.notifications, after.notifications),
    ...differences('preferences.streak.', before.streak, after.streak),
  ]
}

type Values = Readonly<Record<string, unknown>>

const differences = (prefix: string, before: Values, after: Values): ChangedField[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) =>
    difference(`${prefix}${name}`, before[name] ?? null, after[name] ?? null),
  )

const difference = (name: string, before: unknown, after: unknown): ChangedField[] =>
  JSON.stringify(before) === JSON.stringify(after) ? [] : [[name, before, after]]
