import type * as z from 'zod'
import type { Configuration } from '../../../configuration/configuration.types'
import { type Instant, instant, iso } from '../../../lib/clock'
import { fromMicros, micros } from '../../../lib/decimal'
import { dateOfDay, uncheckedDateAt } from '../../../lib/zone'
import { OPEN_END } from '../../../rules/points/boosts.rules'
import type { UserState } from '../../../rules/state.types'
import { ANY_METRIC, type StreakRun } from '../../../rules/streaks/streak-state.types'
import type { StoredStreakEntry } from '../../../store/user-changes.repository'
import type { Held } from './export.repository'
import type { UserExport } from './export.schemas'

type Export = z.input<typeof UserExport>

/** The keys of configured items by their ids; null if the item was deleted. */
export type Keys = Record<'metric' | 'system' | 'achievement' | 'attribute', (id: string) => string | null>

export function keysOf(config: Configuration): Keys {
  const keyIn = (list: readonly { id: string; key: string }[]) => {
    const keys = new Map(list.map(({ id, key }) => [id, key]))
    return (id: string) => keys.get(id) ?? null
  }
  return {
    metric: keyIn(config.metrics),
    system: keyIn(config.systems),
    achievement: keyIn(config.achievements),
    attribute: keyIn(config.attributes),
  }
}

/**
 * A moment in UTC and on the user's clock at that time (E8). Called for up to a million events, so the date
 * is made without checks.
 */
export const momentOf = ({ at, utcOffset }: { at: Instant; utcOffset: number }) => ({
  date: iso(at),
  localDate: uncheckedDateAt(at, utcOffset),
  utcOffsetMinutes: utcOffset,
})

/** Values of attributes by their ids. */
export const attributesOf = (keys: Keys, values: Iterable<readonly [string, string]>) =>
  [...values].map(([id, value]) => ({ id, key: keys.attribute(id), value }))

const isoOrNull = (at: Instant | null) => (at === null ? null : iso(at))

/** A user's running totals and completed achievements. */
export function totalsOf(
  keys: Keys,
  { metrics, counters, points, achievements, revoked }: UserState,
): Pick<Export, 'metrics' | 'counters' | 'points' | 'achievements' | 'revokedAchievements'> {
  return {
    metrics: [...metrics].map(([metricId, { total, highest }]) => ({
      metricId,
      metricKey: keys.metric(metricId),
      total: fromMicros(total),
      highest: fromMicros(highest),
    })),
    counters: [...counters].map(([id, { total, highest }]) => ({
      id,
      total: fromMicros(total),
      highest: fromMicros(highest),
    })),
    points: [...points].map(([systemId, total]) => ({ systemId, systemKey: keys.system(systemId), total })),
    achievements: [...achievements].map(([achievementId, { id, ...at }]) => ({
      id,
      achievementId,
      achievementKey: keys.achievement(achievementId),
      ...momentOf(at),
    })),
    revokedAchievements: [...revoked].map((mark) => {
      const [achievementId = mark, triggerId = null] = mark.split(' ')
      return { achievementId, achievementKey: keys.achievement(achievementId), triggerId }
    }),
  }
}

/** A user's preferences, including settings that do not apply now (U7). */
export function preferencesOf(
  keys: Keys,
  { preferences: { notifications, streak } }: UserState,
): Export['preferences'] {
  const { enabled, evaluationMode, metrics } = streak
  const channels = Object.entries(notifications).map(([type, list]) => [type, [...list]])
  return {
    notifications: Object.fromEntries(channels),
    streak: {
      ...(enabled !== undefined && { enabled }),
      ...(evaluationMode !== undefined && { evaluationMode }),
      ...(metrics !== undefined && {
        metrics: metrics.map(({ metricId, threshold }) => ({
          metricId,
          metricKey: keys.metric(metricId),
          threshold: fromMicros(micros(threshold)),
        })),
      }),
    },
  }
}

const runOf = ({ started, first, last, history, length }: StreakRun) => ({
  started: dateOfDay(started),
  firstPeriod: dateOfDay(first),
  lastPeriod: dateOfDay(last),
  periods: history,
  length,
})

/** The effect of a change on the streak. */
export const exportedStreakEntry = ({
  pause,
  ...entry
}: z.output<typeof StoredStreakEntry>): Export['changes'][number]['streak'][number] => ({
  ...entry,
  ...(pause && { pause: { id: pause.id, start: dateOfDay(pause.start), end: dateOfDay(pause.end) } }),
})

/** A user's streak: current, as stored, and past runs. */
export function streakOf(
  keys: Keys,
  { user: { streak }, runs, pauses }: Held,
  now: Export['streak']['now'],
): Export['streak'] {
  const { frequency, run, freezes, sums, jumps, spared, journeys, altered } = streak
  return {
    now,
    stored: {
      frequency,
      run:
        run === null
          ? null
          : { ...runOf(run), extended: isoOrNull(run.extended), restored: isoOrNull(run.restored ?? null) },
      freezes,
      sums: sums.flatMap(([period, changes]) =>
        changes
          .filter(([metricId]) => metricId !== ANY_METRIC)
          .map(([metricId, change]) => ({
            period: dateOfDay(period),
            metricId,
            metricKey: keys.metric(metricId),
            change: fromMicros(micros(change)),
          })),
      ),
      zoneChanges: jumps.map(([at, from, to]) => ({
        date: iso(instant(at)),
        from: dateOfDay(from),
        to: dateOfDay(to),
      })),
      spared: spared === null ? null : dateOfDay(spared),
      journeys: journeys.map(({ since, from, until, run: before, freezes: inHand }) => ({
        date: iso(since),
        from: dateOfDay(from),
        until: dateOfDay(until),
        length: before?.length ?? 0,
        freezes: inHand,
      })),
      altered: isoOrNull(altered),
    },
    // A past run with the same start as the current one is not over: a journey only seemed to end it (S11).
    past: runs
      .filter(({ first }) => first !== run?.first)
      .map((past) => ({ ...runOf(past), lost: isoOrNull(past.lost) })),
    pauses: pauses.map(({ id, start, end, deleted }) => ({
      id,
      start: dateOfDay(start),
      end: dateOfDay(end),
      deleted: isoOrNull(deleted),
    })),
  }
}

/** The other data of a user that is short: own boosts and keys. */
export function belongingsOf(
  keys: Keys,
  { boosts, keys: apiKeys }: Held,
): Pick<Export, 'boosts' | 'applicationKeys'> {
  return {
    boosts: boosts.map(({ id, systemId, name, start, end, multiplier, rounding, ...times }) => ({
      id,
      systemId,
      systemKey: keys.system(systemId),
      name,
      start,
      end: end === OPEN_END ? null : end,
      multiplier,
      rounding,
      created: iso(instant(times.created)),
      updated: iso(instant(times.updated)),
      deleted: isoOrNull(times.deleted),
    })),
    applicationKeys: apiKeys.map(({ created, expires, ...key }) => ({
      ...key,
      expires: isoOrNull(expires),
      created: iso(created),
    })),
  }
}
