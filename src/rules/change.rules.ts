import {
  type Achievement,
  type Configuration,
  living,
  NO_PREFERENCES,
  type Preferences,
} from '../configuration/model'
import { type Instant, instant } from '../lib/clock'
import { childId } from '../lib/ids'
import { jsonBytes, packsOf } from '../lib/packed'
import { dayIn, localDay, offsetMinutes } from '../lib/zone'
import { complete, countForAchievements, countsItself, keepRevoked } from './achievements.rules'
import { awardPoints, type TriggerInput } from './points/points.rules'
import {
  type AwardRecord,
  type EventRecord,
  type LocalTime,
  NO_PROFILE,
  type Profile,
  STREAK,
  type UserState,
} from './state'
import { changeStreak, STREAK_AS_IT_WAS, type StreakChange } from './streaks/streak-change.rules'
import { extensionsOf, type StreakEntry, type StreakState, termsOf } from './streaks/streak-state.rules'
import { isStale, lengthOf, scheduled, streakAsOf } from './streaks/streaks.rules'

/** The effect of a command or of due work on one user. All of it is stored, or nothing (E2). */
export type Change = StreakChange & {
  before: UserState | null
  after: UserState
  event: EventRecord | null
  awards: readonly AwardRecord[]
  /** Ids of the achievements that the change completed. */
  completed: readonly string[]
  /** Whether its completions and points come without messages (A4). */
  isBackdated?: boolean
}

/**
 * Awards make their ids with numbers from 0, completions with numbers from this one (see childId). A change
 * makes fewer awards than that.
 */
const FIRST_COMPLETION = 2_500

/** How many of the zones that the user has left last are kept. */
const MOST_LEFT_ZONES = 10

/** The input of a change. The profile and the metric total of `user` have the change already. */
export type ChangeInput = {
  before: UserState | null
  user: UserState
  at: Instant
  /** The ids of awards and completions derive from this id. */
  id: string
  event: TriggerInput['event']
  /** Whether an achievement is checked. */
  isTried: (achievement: Achievement) => boolean
}

/**
 * Applies the consequences for a user in E5's order: streak, achievements, points. The local day and the UTC
 * offset, which the event, its awards and its completions store, follow from the zone after the change (E8).
 */
export function applyChange(
  config: Configuration,
  { before, user, at, id, event, isTried }: ChangeInput,
): Change {
  const local: LocalTime = { at, utcOffset: offsetMinutes(user.profile.tz ?? 'UTC', at) }
  const isNew = before === null
  const activeDay = event === null ? user.activeDay : localDay(local.at, local.utcOffset)
  // First by the state before: the configuration may have changed since then (V4).
  const revoked = keepRevoked(config, before ?? user)
  const { tz } = (before ?? user).profile
  const left = tz === user.profile.tz ? [] : [[at, tz ?? 'UTC'] as const]
  const leftZones = [...user.leftZones, ...left].slice(-MOST_LEFT_ZONES)
  const next = { ...user, seq: (before?.seq ?? 0) + 1, changed: at, activeDay, leftZones, revoked }
  const { user: streaked, change: streak } = changeStreak(config, before, next, local, event)
  const counted = countForAchievements(config, streaked, isNew, event)
  const extendedTo = extensionsOf(streak.streakEvents)
  const rewarding = { local, id, created: isNew, event, extendedTo, isTried }
  const tried = { ...counted, revoked: keepRevoked(config, counted, streak) }
  const { after, awards, counterIds, completed } = rewarded(config, tried, rewarding)
  const record = event && recordOf(event, { ...local, id, seq: next.seq, counterIds })
  const change = { ...streak, before, event: record, awards, completed }
  return { ...change, after: noteInputs(config, trimmed(config, after), change) }
}

const recordOf = (
  { metricId, value, attributes }: NonNullable<TriggerInput['event']>,
  rest: Omit<EventRecord, 'metricId' | 'value' | 'attributes'>,
): EventRecord => ({ ...rest, metricId, value, attributes })

/**
 * Completes achievements and then awards points, as in E5. If the streak was extended, whatever the cause,
 * achievements by streak are checked too (S2).
 */
export function rewarded(
  config: Configuration,
  user: UserState,
  { isTried, ...input }: Omit<TriggerInput, 'completed'> & Pick<ChangeInput, 'isTried'>,
): ReturnType<typeof awardPoints> & Pick<Change, 'completed'> {
  const { id, event, local, extendedTo } = input
  const achieved = complete(config, user, {
    local,
    // A completion by a request gets the id of the command.
    newId: (n) => (n === 0 && event === null ? id : childId(id, FIRST_COMPLETION + n)),
    isTried: (one) => isTried(one) || (one.trigger === 'streak' && extendedTo.length > 0),
  })
  const { completed } = achieved
  return { ...awardPoints(config, achieved.user, { ...input, completed }), completed }
}

/** The user without counters that no trigger or achievement uses any more. */
function trimmed(config: Configuration, user: UserState): UserState {
  if (user.counters.size === 0) return user
  const triggers = config.systems.flatMap((system) => system.triggers)
  const counting = [...triggers, ...config.achievements.filter(countsItself)]
  const ids = counting.map(({ counterId: id }) => ({ id }))
  const counters = living(user.counters, ids)
  return counters === user.counters ? user : { ...user, counters }
}

/** Notes the totals that a change is about, so that a leaderboard notices if it has missed a change (L11). */
export function noteInputs<U extends Pick<UserState, 'seq' | 'lastSeqByInput'>>(
  config: Configuration,
  user: U,
  change: {
    event: Pick<EventRecord, 'metricId'> | null
    awards: readonly Pick<AwardRecord, 'systemId'>[]
    growth: number
    isExtended?: boolean
  },
): U {
  const { event, awards, growth, isExtended = false } = change
  // If this event started a new streak, the length may equal the old one, and still it is a new value.
  const hasStreak = growth !== 0 || isExtended
  if (event === null && awards.length === 0 && !hasStreak) return user
  const lastSeqByInput = new Map(user.lastSeqByInput)
  if (event !== null) lastSeqByInput.set(event.metricId, user.seq)
  if (hasStreak) lastSeqByInput.set(STREAK, user.seq)
  for (const { systemId } of awards) lastSeqByInput.set(systemId, user.seq)
  return {
    ...user,
    lastSeqByInput: living(lastSeqByInput, [{ id: STREAK }, ...config.metrics, ...config.systems]),
  }
}

/**
 * A change of one user among many at once, by due work or an admin. It has no event. Each statement skips
 * users whose `seq` has changed since the read. The last ones raise `seq`, so all statements affect the same
 * users.
 */
export type BulkChange = Change & {
  before: NonNullable<Change['before']>
  /** Whether only the streak changed. Then no other column is read or written. */
  onlyStreak?: boolean
  /** Whether `ended` replaces all stored past streaks of the user (S9). */
  replacesRuns?: boolean
}

/**
 * A change that only completes anniversaries at a moment (A7), with ids from `id`. Null if the user qualifies for
 * none of those that are tried. Unlike `applyChange`, it may be about a moment before the user's last change.
 */
export function ofAnniversaries(
  config: Configuration,
  before: UserState,
  { at, id, isTried }: Pick<ChangeInput, 'at' | 'id' | 'isTried'>,
): BulkChange | null {
  const local = { at, utcOffset: offsetMinutes(before.profile.tz ?? 'UTC', at) }
  const user = { ...before, seq: before.seq + 1, changed: instant(Math.max(before.changed, at)) }
  const isOne = (one: Achievement) => one.trigger === 'anniversary' && isTried(one)
  const rewarding = { local, id, created: false, event: null, extendedTo: [], isTried: isOne }
  const { after, awards, completed } = rewarded(config, user, rewarding)
  if (completed.length === 0) return null
  const change = { ...STREAK_AS_IT_WAS, before, event: null, awards, completed }
  return { ...change, after: noteInputs(config, trimmed(config, after), change) }
}

/** The second change after one that sets `signUpDate`: it completes silently what has come by then (A7), or null. */
export function uponSignUp(
  config: Configuration,
  { before, after }: Change,
  newId: (at: Instant) => string,
): BulkChange | null {
  const at = after.changed
  if ((before?.profile.signUpDate ?? null) === after.profile.signUpDate) return null
  const silent = ofAnniversaries(config, after, { at, id: newId(at), isTried: () => true })
  return silent && { ...silent, isBackdated: true }
}

type Told = Pick<StreakChange, 'ended' | 'streakEvents' | 'streakEntries'>

/**
 * A change of only a user's streak at a moment, by due work, a recount or an admin. If it extends the streak,
 * points and achievements follow, with ids from `id` (S2). Then the user must have been read completely.
 */
export function streakOnly(
  config: Configuration,
  before: UserState,
  streak: StreakState,
  { ended, streakEvents, streakEntries = [], isExtended = false }: Told & { isExtended?: boolean },
  { at, id }: { at: Instant; id: string },
): BulkChange {
  const growth = lengthOf({ ...before, streak }) - lengthOf(before)
  const streakChange = { isExtended, growth, ended, streakEvents, streakEntries }
  const changed = instant(Math.max(before.changed, at))
  const isAltered = growth !== 0 && !isExtended && streak.run !== null
  const known = isAltered ? { ...streak, altered: changed } : streak
  const next = { ...before, seq: before.seq + 1, changed, streak: known }
  const user = { ...next, revoked: keepRevoked(config, next, streakChange, true) }
  const extendedTo = extensionsOf(streakEvents)
  const local = { at: changed, utcOffset: offsetMinutes(user.profile.tz ?? 'UTC', changed) }
  const rewarding = { local, id, created: false, event: null, extendedTo, isTried: () => false }
  const isExtendedNow = extendedTo.length > 0
  const nothing = { after: user, awards: [], completed: [] }
  const { after, awards, completed } = isExtendedNow ? rewarded(config, user, rewarding) : nothing
  const change = { before, event: null, awards, completed, ...streakChange }
  return { ...change, after: noteInputs(config, after, change), onlyStreak: !isExtendedNow }
}

/**
 * The change of a user whose streak is settled as of a moment, with the next deadline. None if that changes
 * nothing, or if the streak must be counted again first (S9). `open` is a streak that an admin has changed.
 */
export function judged(
  config: Configuration,
  user: UserState,
  at: Instant,
  newId: (at: Instant) => string,
  open: Told & Pick<UserState, 'streak'> = { streak: user.streak, ended: [], streakEvents: [] },
): BulkChange[] {
  const terms = termsOf(config, user.preferences)
  if (isStale(user.streak, terms)) return []
  const today = dayIn(user.profile.tz, at)
  const now = streakAsOf({ ...user, streak: open.streak }, terms, today, at)
  const streak = scheduled(user, now.streak, terms, today)
  if (streak === user.streak) return []
  const ended = [...open.ended, ...now.ended]
  const streakEvents = [...open.streakEvents, ...now.streakEvents]
  return [streakOnly(config, user, streak, { ...open, ended, streakEvents }, { at, id: newId(at) })]
}

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
  return [
    ...differences('', fieldsBefore, fields),
    ...differences('attributes.', Object.fromEntries(valuesBefore), Object.fromEntries(values)),
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
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name): ChangedField[] => {
    const [was, is] = [before[name] ?? null, after[name] ?? null]
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [[`${prefix}${name}`, was, is]]
  })
