import * as z from 'zod'
import { DateResponse, isRecord, Timestamp, UuidResponse } from '../../api/fields'
import { LevelThen, PointsBoost, PointsTrigger } from '../../api/shapes/points'
import { pauseFields } from '../../api/shapes/streaks'
import { NOTIFICATION_CHANNELS } from '../../configuration/enumerations'
import type { Configuration } from '../../configuration/model'
import { type Instant, instant, iso } from '../../lib/clock'
import { fromMicros, micros } from '../../lib/decimal'
import { namedId } from '../../lib/ids'
import { dateOfDay, uncheckedDateAt } from '../../lib/zone'
import { REVOKED } from '../../rules/change.rules'
import type { Completion } from '../../rules/state'
import { STREAK_ENTRY_KINDS } from '../../rules/streaks/streak-state.rules'
import type { triggerForms } from '../../store/awards.sql.ts'
import type { StoredStreakEntry } from '../../store/events.sql.ts'
import type { AwardRow, EventRow, HistoryRow, ReversalRow, RunRow, VoidRow } from './timeline.sql.ts'

/** A moment: in UTC, and on the user's clock at that time (E8). */
export const moment = { at: Timestamp, localDate: DateResponse, utcOffsetMinutes: z.int() }

/** An event of the log. `metricKey` is null if the metric was deleted. */
export const LoggedEvent = z
  .object({
    id: UuidResponse,
    metricId: UuidResponse,
    metricKey: z.string().nullable(),
    value: z.number(),
    attributes: z.record(z.string(), z.string()),
    ...moment,
  })
  .meta({ id: 'LoggedEvent' })

/** The types of entries of a timeline (X2). */
export const TIMELINE_TYPES = [
  'event',
  'award',
  'level_changed',
  'achievement',
  'streak',
  'adjustment',
  'void',
  'notification',
  'change',
] as const
export type TimelineType = (typeof TIMELINE_TYPES)[number]

/** The schema of the entries of a type. `when` is what they have of a moment. */
const entryShape = <Type extends TimelineType, When extends z.ZodRawShape, Fields extends z.ZodRawShape>(
  id: string,
  type: Type,
  when: When,
  fields: Fields,
) => z.object({ id: UuidResponse, ...when, type: z.literal(type), ...fields }).meta({ id })

const time = { at: Timestamp }
const nullable = z.string().nullable()
const system = { systemId: UuidResponse, systemKey: nullable }
const booked = { ...system, awarded: z.int32(), total: z.int32() }

const TimelineEntry = z
  .discriminatedUnion('type', [
    LoggedEvent.extend({
      type: z.literal('event'),
      /** When the event was voided (V2); else null. */
      voided: Timestamp.nullable(),
    }).meta({ id: 'TimelineEvent' }),
    entryShape('TimelineAward', 'award', moment, {
      ...booked,
      trigger: PointsTrigger.nullable(),
      boosts: z.array(PointsBoost),
    }),
    entryShape('TimelineLevelChange', 'level_changed', time, {
      ...system,
      before: LevelThen.nullable(),
      after: LevelThen.nullable(),
    }),
    entryShape('TimelineAchievement', 'achievement', moment, {
      achievementId: UuidResponse,
      achievementKey: nullable,
      achievementName: nullable,
    }),
    // `change` decides which optional fields it has.
    entryShape(
      'TimelineStreak',
      'streak',
      { at: Timestamp.nullable() },
      {
        change: z.enum([...STREAK_ENTRY_KINDS, 'lost']),
        length: z.int().optional(),
        earned: z.int().optional(),
        freezes: z.int().optional(),
        started: DateResponse.optional(),
        lastPeriod: DateResponse.optional(),
        pause: z.object({ id: UuidResponse, start: DateResponse, end: DateResponse }).optional(),
      },
    ),
    // An entry of the ledger that an admin made (V1), or that took points of a completion back (V4).
    entryShape('TimelineAdjustment', 'adjustment', time, {
      ...booked,
      reason: nullable,
      reverses: UuidResponse.nullable(),
    }),
    entryShape('TimelineVoid', 'void', time, {
      eventId: UuidResponse,
      metricId: UuidResponse,
      metricKey: nullable,
      value: z.number(),
      reason: nullable,
      reversals: z.array(z.object({ id: UuidResponse, ...booked, reverses: UuidResponse.nullable() })),
    }),
    entryShape('TimelineNotification', 'notification', time, {
      channel: z.enum(NOTIFICATION_CHANNELS),
      notification: z.string(),
      status: z.string(),
      title: nullable,
    }),
    entryShape('TimelineChange', 'change', time, {
      fields: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
    }),
  ])
  .meta({ id: 'TimelineEntry' })

export const Timeline = z.array(TimelineEntry).meta({ id: 'Timeline' })
/** An entry as it is answered. */
export type Entry = z.input<typeof TimelineEntry>

/** A moment in UTC and on the user's clock at that time (E8). */
export const momentOf = ({ at, utcOffset }: { at: Instant; utcOffset: number }) => ({
  at: iso(at),
  localDate: uncheckedDateAt(at, utcOffset),
  utcOffsetMinutes: utcOffset,
})

/** The key of a configured item, or null if the item was deleted. */
export const keyOf = (list: readonly { id: string; key: string }[], id: string): string | null =>
  list.find((one) => one.id === id)?.key ?? null

/** An event of the log. The name of an attribute is its key, or its id if the attribute was deleted. */
export const eventResponse = (
  { attributes, metrics }: Pick<Configuration, 'attributes' | 'metrics'>,
  event: Pick<EventRow, 'id' | 'metricId' | 'at' | 'value' | 'utcOffset' | 'attributes'>,
): z.input<typeof LoggedEvent> => ({
  id: event.id,
  metricId: event.metricId,
  metricKey: keyOf(metrics, event.metricId),
  value: fromMicros(event.value),
  attributes: Object.fromEntries(
    Object.entries(event.attributes).map(([id, value]) => [keyOf(attributes, id) ?? id, value]),
  ),
  ...momentOf(event),
})

/**
 * The place of an entry in a timeline: its moment in milliseconds, the user's `seq` after the change, its
 * place in the change, and its id. An entry without a known `seq` is after all others of its moment. An entry
 * without a known moment has the moment -1, so it is the oldest.
 */
export type Key = readonly [at: number, seq: number, place: number, id: string]

/** The `seq` of entries whose `seq` is not known. */
const NO_SEQ = Number.MAX_SAFE_INTEGER
/** The moment of entries whose moment is not known. */
export const NO_MOMENT = -1
/** The place before the newest entry. */
export const NEWEST: Key = [Number.MAX_SAFE_INTEGER, NO_SEQ, NO_SEQ, '']

/** Places in a change, in the order in which things happen: fields, event, streak, completions, awards. */
export const PLACES = {
  history: -1_000_000_000_000,
  event: 0,
  streak: 1,
  other: 1_000,
  award: 10_000,
} as const

/** Compares two keys: above 0 if the first one is newer. */
function compareKeys(a: Key, b: Key): number {
  for (const index of [0, 1, 2] as const) if (a[index] !== b[index]) return a[index] - b[index]
  return a[3] === b[3] ? 0 : a[3] < b[3] ? -1 : 1
}

export type Keyed<T> = { key: Key; entry: T }

/** The entries of one source, down to the key `end`, itself included. Null if there is nothing more. */
export type Part<T> = { entries: readonly Keyed<T>[]; end: Key | null }

/**
 * The next page: the newest entries of all sources before `after`. No entry is older than the newest `end`,
 * because a source may have more entries there. `next` is where the page after it begins; null if there is
 * none.
 */
export function merged<T>(
  parts: readonly Part<T>[],
  { after, limit }: { after: Key; limit: number },
): { entries: readonly T[]; next: Key | null } {
  const ends = parts.flatMap(({ end }) => (end === null ? [] : [end]))
  const end = ends.toSorted(compareKeys).at(-1) ?? null
  const found = parts
    .flatMap(({ entries }) => entries)
    .filter(({ key }) => compareKeys(key, after) < 0 && (end === null || compareKeys(key, end) >= 0))
    .toSorted((a, b) => compareKeys(b.key, a.key))
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const next = found.length > limit && last !== undefined ? last.key : end
  return { entries: page.map(({ entry }) => entry), next }
}

/** The entries of an event: the event, and what it did to the streak. */
export function eventEntries(config: Configuration, row: EventRow): Keyed<Entry>[] {
  const { at, seq, id } = row
  return [
    {
      key: [at, seq, PLACES.event, id],
      entry: {
        ...eventResponse(config, row),
        type: 'event',
        voided: row.voidedAt === undefined ? null : iso(row.voidedAt),
      },
    },
    ...row.streak.map((one, n) =>
      streakEntry(one, { at, seq, place: PLACES.streak + n, name: `streak ${id} ${n}` }),
    ),
  ]
}

type At = { at: Instant; seq: number; place: number; name: string }

/** An entry about the streak. Its id is made from its name. */
function streakEntry(
  { kind, pause, ...rest }: z.output<typeof StoredStreakEntry>,
  { at, seq, place, name }: At,
): Keyed<Entry> {
  const id = namedId(at, name)
  const days = pause && pauseFields(pause)
  return {
    key: [at, seq, place, id],
    entry: { id, at: iso(at), type: 'streak', change: kind, ...rest, ...(days && { pause: days }) },
  }
}

/** The entries of an award or an adjustment: itself, and the change of the level. */
export function awardEntries(
  config: Configuration,
  forms: Awaited<ReturnType<typeof triggerForms>>,
  row: AwardRow,
): Keyed<Entry>[] {
  if (row.type !== null) return adjustmentEntries(config, row, { ...row, reverses: null })
  const { id, at, seq } = row
  const award: Keyed<Entry> = {
    key: [at, seq, PLACES.award + 2 * row.position, id],
    entry: {
      ...{ id, ...momentOf(row), type: 'award', ...appliedOf(config, row) },
      trigger: forms.get(`${row.triggerId} ${row.triggerVersion}`) ?? null,
      boosts: row.boosts ?? [],
    },
  }
  return [award, ...levelEntries(config, row, row)]
}

type Moment = { at: Instant; seq: number }

/** An entry of the ledger, wherever its row is. */
type Applied = Pick<ReversalRow, 'id' | 'position' | 'systemId' | 'awarded' | 'total' | 'levels' | 'reason'>

const appliedOf = (
  { systems }: Configuration,
  { systemId, awarded, total }: Pick<Applied, 'systemId' | 'awarded' | 'total'>,
) => ({ systemId, systemKey: keyOf(systems, systemId), awarded, total })

/** The change of the level by an entry of the ledger, at a moment. */
function levelEntries(
  { systems }: Configuration,
  { at, seq }: Moment,
  { id: awardId, position, systemId, levels }: Applied,
): Keyed<Entry>[] {
  if (levels === null) return []
  const id = namedId(at, `level ${awardId}`)
  const [before, after] = levels
  const system = { systemId, systemKey: keyOf(systems, systemId) }
  const entry: Entry = { id, at: iso(at), type: 'level_changed', ...system, before, after }
  return [{ key: [at, seq, PLACES.award + 2 * position + 1, id], entry }]
}

/** The entries of an adjustment or a reversal of a completion's points: itself, and the level's change. */
export function adjustmentEntries(
  config: Configuration,
  moment: Moment,
  row: Applied & { reverses: string | null },
): Keyed<Entry>[] {
  const { id, position, reason, reverses } = row
  const { at, seq } = moment
  const entry: Entry = {
    ...{ id, at: iso(at), type: 'adjustment', ...appliedOf(config, row), reason, reverses },
  }
  return [{ key: [at, seq, PLACES.award + 2 * position, id], entry }, ...levelEntries(config, moment, row)]
}

/** The entries of a void: the void with its reversals, and the changes of levels. */
export function voidEntries(
  config: Configuration,
  row: VoidRow,
  reversals: readonly ReversalRow[],
): Keyed<Entry>[] {
  const { at, seq, id: eventId, metricId, value, reason } = row
  const id = namedId(at, `void ${eventId}`)
  const entry: Entry = {
    ...{ id, at: iso(at), type: 'void', eventId, metricId, metricKey: keyOf(config.metrics, metricId) },
    value: fromMicros(value),
    reason,
    reversals: reversals.map((one) => ({
      ...{ id: one.id, ...appliedOf(config, one), reverses: one.reverses },
    })),
  }
  return [
    { key: [at, seq, PLACES.event, id], entry },
    ...reversals.flatMap((one) => levelEntries(config, row, one)),
  ]
}

/** The entry of a completion. */
export function completionEntry(
  { achievements }: Configuration,
  achievementId: string,
  completion: Completion,
): Keyed<Entry> {
  const achievement = achievements.find(({ id }) => id === achievementId)
  const { id, at } = completion
  return {
    key: [at, NO_SEQ, PLACES.other, id],
    entry: {
      ...{ id, ...momentOf(completion), type: 'achievement', achievementId },
      achievementKey: achievement?.key ?? null,
      achievementName: achievement?.name ?? null,
    },
  }
}

/** The entry of a lost streak. One with an unknown moment is at the end of the timeline. */
export function lossEntry(iid: string, { first, last, started, length, lost }: RunRow): Keyed<Entry> {
  const id = namedId(lost ?? instant(0), `lost ${iid} ${first}`)
  return {
    key: lost === null ? [NO_MOMENT, first, PLACES.other, id] : [lost, NO_SEQ, PLACES.other, id],
    entry: {
      ...{ id, at: lost && iso(lost), type: 'streak', change: 'lost', length },
      ...{ started: dateOfDay(started), lastPeriod: dateOfDay(last) },
    },
  }
}

/** The place of an entry of a user's history in its change, by the position of its row and its own. */
export const historyPlace = (position: number, n: number): number =>
  PLACES.history + position * MOST_ENTRIES + n

/** The position of the last row of a change's history whose entries may be at a place or before it. */
export const historyPosition = (place: number): number => Math.floor((place - PLACES.history) / MOST_ENTRIES)

/** More than a row of the history has entries. */
const MOST_ENTRIES = 1_000_000

/** The entries of a row of a user's history: changed fields, and changes of the streak. */
export function historyEntries(config: Configuration, iid: string, row: HistoryRow): Keyed<Entry>[] {
  const { at, seq, position } = row
  const { fields, streak } = row.entries
  const name = (n: number) => `history ${iid} ${seq} ${position} ${n}`
  const entries = streak.map((one, n) =>
    streakEntry(one, { at, seq, place: historyPlace(position, n + 1), name: name(n + 1) }),
  )
  if (fields.length === 0) return entries
  const id = namedId(at, name(0))
  const named = fields.map(([field, before, after]) => {
    const shown = (value: unknown) => shownValue(config, field, value)
    return [nameOf(config, field), { before: shown(before), after: shown(after) }] as const
  })
  const entry: Entry = { id, at: iso(at), type: 'change', fields: Object.fromEntries(named) }
  return [{ key: [at, seq, historyPlace(position, 0), id], entry }, ...entries]
}

const ATTRIBUTE = 'attributes.'

/** The name of a field: attributes and achievements by key, or by id if they were deleted. */
function nameOf({ attributes, achievements }: Configuration, field: string): string {
  for (const [prefix, list] of [
    [ATTRIBUTE, attributes],
    [REVOKED, achievements],
  ] as const) {
    const id = field.slice(prefix.length)
    if (field.startsWith(prefix)) return `${prefix}${keyOf(list, id) ?? id}`
  }
  return field
}

/** Is true if a row of a user's history says that a completion was taken back (V4). */
export const isRevoke = ({ entries: { fields } }: HistoryRow): boolean =>
  fields.some(([name]) => name.startsWith(REVOKED))

const RevokedCompletion = z.object({ id: z.string(), at: z.number().transform(instant) })

/** Shows metrics of a user's own streak by key, thresholds in units, and completions with their time. */
function shownValue({ metrics }: Configuration, field: string, value: unknown): unknown {
  if (field.startsWith(REVOKED) && value !== null) {
    const { id, at } = RevokedCompletion.parse(value)
    return { completionId: id, achievedAt: iso(at) }
  }
  if (field !== 'preferences.streak.metrics' || !Array.isArray(value)) return value
  return value.filter(isRecord).map(({ metricId, threshold }) => ({
    key: keyOf(metrics, String(metricId)),
    threshold: fromMicros(micros(Number(threshold))),
  }))
}
