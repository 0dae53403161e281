import { type Achievement, type Configuration, living } from '../config/configuration.types'
import type { Instant } from '../lib/clock'
import { childId } from '../lib/ids'
import { localDay, offsetMinutes } from '../lib/zone'
import { complete, countForAchievements, countsItself } from './achievements.rules'
import { awardPoints, type TriggerInput } from './points/points.rules'
import { type AwardRecord, type EventRecord, type LocalTime, STREAK, type UserState } from './state.types'
import { changeStreak, type StreakChange } from './streaks/streak-change.rules'

/** What a command, or what falls due, does to a user: all of it or nothing (E2). */
export type Change = StreakChange & {
  before: UserState | null
  after: UserState
  event: EventRecord | null
  awards: readonly AwardRecord[]
  /** The ids of the achievements that it completed. */
  completed: readonly string[]
}

/** Places among the ids that come of one change: its awards are counted from 0, completions from here (see childId). */
const FIRST_COMPLETION = 2_500

/** Something that happens to a user, whose profile and metric total have it already. */
export type ChangeInput = {
  before: UserState | null
  user: UserState
  at: Instant
  /** The id of which those of awards and completions are made. */
  id: string
  event: TriggerInput['event']
  /** The achievements that are looked at. */
  isTried: (achievement: Achievement) => boolean
}

/** What comes of something that happens to a user, in E5's order: streak, achievements, points. */
export function applyChange(
  config: Configuration,
  { before, user, at, id, event, isTried }: ChangeInput,
): Change {
  const local: LocalTime = { at, utcOffset: offsetMinutes(user.profile.tz ?? 'UTC', at) }
  const isNew = before === null
  const activeDay = event === null ? user.activeDay : localDay(local.at, local.utcOffset)
  const next = { ...user, seq: (before?.seq ?? 0) + 1, changed: at, activeDay }
  const { user: streaked, change: streak } = changeStreak(config, before, next, local, event)
  const counted = countForAchievements(config, streaked, isNew, event)
  const achieved = complete(config, counted, {
    local,
    newId: (n) => (n === 0 && event === null ? id : childId(id, FIRST_COMPLETION + n)),
    isTried,
  })
  const { after, awards } = awardPoints(config, achieved.user, {
    local,
    id,
    created: isNew,
    event,
    extendedTo: streak.isExtended ? (streaked.streak.run?.length ?? null) : null,
    completed: achieved.completed,
  })
  const record =
    event === null
      ? null
      : {
          ...local,
          id,
          metricId: event.metricId,
          seq: next.seq,
          value: event.value,
          attributes: event.attributes,
        }
  const change = { ...streak, before, event: record, awards, completed: achieved.completed }
  return { ...change, after: touch(config, trimmed(config, after), change) }
}

/** The user without the counters of what no longer counts. */
function trimmed(config: Configuration, user: UserState): UserState {
  const { counters } = user
  if (counters.size === 0) return user
  const counting = [
    ...config.systems.flatMap(({ triggers }) => triggers),
    ...config.achievements.filter(countsItself),
  ]
  const kept = living(
    counters,
    counting.map(({ counterId }) => ({ id: counterId })),
  )
  return kept === counters ? user : { ...user, counters: kept }
}

/** The user with a note of which totals this change was about, so that whoever follows them sees a gap. */
export function touch<U extends Pick<UserState, 'seq' | 'lastSeqByInput'>>(
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
  // One that was lost and begun anew by this very event may have the length of before, which was reached anew.
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
 * Changes of many users at once, made by what falls due or by an admin, none of which is an event. Each statement leaves those users
 * alone whose `seq` is no longer what was read; the last ones move it, so that all of them mean the same users.
 */
export type BulkChange = Change & {
  before: NonNullable<Change['before']>
  /** Whether nothing but the streak is another one, so that nothing else need be known or written. */
  onlyStreak?: boolean
  /** Whether the streaks that ended are all that there ever were (S9). */
  replacesRuns?: boolean
}
