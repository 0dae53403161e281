import type * as z from 'zod'
import { userResponse } from '../../api/shapes/user.presenter'
import { configurationOf } from '../../configuration/configuration.service'
import type { Configuration } from '../../configuration/configuration.types'
import { errors } from '../../lib/errors'
import { periodEnd, periodStart } from '../../lib/periods'
import { dateOfDay, dayIn } from '../../lib/zone'
import type { Scope } from '../../platform/context'
import { sharedScans } from '../../platform/shared-scans'
import type { UserState } from '../../rules/state.types'
import { isStale, streakAsOf } from '../../rules/streaks/streaks.rules'
import { termsOf } from '../../rules/streaks/terms.rules'
import { runsSince } from '../../store/streaks/streaks.repository'
import { bestPlaces } from './best.service'
import { distributionName, requestDistributions } from './distributions.job'
import {
  knownStatement,
  type Placing,
  parseKnown,
  parsePlaces,
  placesStatement,
} from './distributions.repository'
import { periodResponse, type Story } from './wrapped.presenter'
import { attributesStatement, parseAttributes, readDays } from './wrapped.repository'
import { activityOf, type Days, daysOfYear, longestIn, percentile, sumsIn, yearOf } from './wrapped.rules'
import type { WrappedResponse, WrappedStreak } from './wrapped.schemas'

const wrappedScansOf = sharedScans<Wrapped>()

/** From so many changes of the user on, a wrapped waits for its turn: it reads the log (P11). */
const LONG = 20_000

/** A wrapped in a response. */
export type Wrapped = z.input<typeof WrappedResponse>

/**
 * Sums up a user's year; without `asked`, the current year in the user's zone (R1, R2). Throws 422 if the
 * year is in the future. For a user with a long log, throws 429 as any scan.
 */
export async function readWrapped(
  scope: Scope,
  user: UserState,
  asked: number | undefined,
): Promise<Wrapped> {
  const today = dayIn(user.profile.tz, scope.now)
  const present = yearOf(today)
  const year = asked ?? present
  if (year > present) {
    const message = `must be at most ${present}, the current year in the user's zone`
    throw errors.invalid([{ path: 'year', message }])
  }
  if (user.seq < LONG) return wrappedOf(scope, user, year, today)
  const read = () => wrappedOf(scope, user, year, today)
  const { tenant, instance, waitUntil } = scope
  const name = JSON.stringify([user.iid, year])
  return wrappedScansOf(instance).run({ tenantId: tenant.id, name, read, mayBeOlder: () => false }, waitUntil)
}

async function wrappedOf(scope: Scope, user: UserState, year: number, today: number): Promise<Wrapped> {
  const wholeYear = daysOfYear(year)
  const [config, days, longestStreak] = await Promise.all([
    configurationOf(scope),
    readDays(scope.db, user, wholeYear),
    longestStreakOf(scope, user, wholeYear, today),
  ])
  const { periods, ...active } = activityOf(wholeYear, days.events)
  const { day, week, month } = periods
  const list = [day, week, month, wholeYear]
  const changes = Map.groupBy([...days.events, ...days.awards], ({ subject }) => subject)
  const [story, [ofDay = {}, ofWeek = {}, ofMonth = {}, ofYear = {}]] = await Promise.all([
    readStory(scope, config, user, year, { changes, periods }),
    bestPlaces(scope, config, user, wholeYear, list),
  ])
  const monday = periodStart(week.first, 'weekly')
  return {
    user: userResponse(config, user),
    activity: {
      ...active,
      mostActiveDay: { date: dateOfDay(day.first), ...periodResponse(story, 'day', ofDay) },
      mostActiveWeek: {
        start: dateOfDay(monday),
        end: dateOfDay(periodEnd(monday, 'weekly')),
        ...periodResponse(story, 'week', ofWeek),
      },
      mostActiveMonth: {
        month: Number(dateOfDay(month.first).slice(5, 7)) - 1,
        ...periodResponse(story, 'month', ofMonth),
      },
      entireYear: { longestStreak, ...periodResponse(story, 'year', ofYear) },
    },
  }
}

/** Requests the year's distributions if the user was active in it and they are not known (R2). */
async function readStory(
  scope: Scope,
  config: Configuration,
  user: UserState,
  year: number,
  known: Pick<Story, 'changes' | 'periods'>,
): Promise<Story> {
  const { db, databases, tenant } = scope
  const home = databases.home(tenant.id)
  const placings = placingsOf(config, known)
  const hasAttributes = config.attributes.some(({ type }) => type === 'event')
  const metricIds = hasAttributes
    ? config.metrics.map(({ id }) => id).filter((id) => user.metrics.has(id))
    : []
  const ofUser = { attributes: attributesStatement(db, user, metricIds, known.periods) }
  const ofAll = {
    places: placesStatement(home, year, placings),
    isKnown: knownStatement(home, year, String(year), scope.now),
  }
  // The distributions are in the first database, which may be another one than the user's.
  const [{ attributes }, { places, isKnown }] = databases.isSeveral
    ? await Promise.all([db.batchOf(ofUser), home.batchOf(ofAll)])
    : await db.batchOf({ ...ofUser, ...ofAll }).then((all) => [all, all] as const)
  if (placings.length > 0 && !parseKnown(isKnown)) scope.waitUntil(requestDistributions(scope, year))
  const percentiles = new Map(
    parsePlaces(places).map(({ nth, less, users }) => {
      const { kind, subject } = placings[nth] ?? { kind: '', subject: '' }
      return [`${kind} ${subject}`, percentile(less, users)]
    }),
  )
  return { ...known, config, user, attributes: parseAttributes(attributes), percentiles }
}

/** The changes that get a place among all users' changes: the changes of weeks, months and years (R2). */
function placingsOf(
  { metrics, systems }: Configuration,
  { changes, periods }: Pick<Story, 'changes' | 'periods'>,
) {
  const kinds = ['week', 'month', 'year'] as const
  return [...metrics, ...systems].flatMap(({ id }) =>
    kinds.flatMap((kind): (Placing & { kind: string })[] => {
      const sums = sumsIn(periods[kind], changes.get(id) ?? [], 0)
      const period = distributionName(kind, periods[kind])
      return sums === null ? [] : [{ kind, period, subject: id, change: sums.change }]
    }),
  )
}

/** The longest streak of a year, with the current one (S3). None if streaks are off or recounted. */
async function longestStreakOf(
  scope: Scope,
  user: UserState,
  year: Days,
  today: number,
): Promise<z.input<typeof WrappedStreak>> {
  const terms = termsOf(await configurationOf(scope), user.preferences)
  const { frequency } = terms
  const { streak, ended } = streakAsOf(user, terms, today, scope.now)
  const none = { length: 0, frequency, periodStart: null, periodEnd: null, started: null }
  if (!terms.isOn || isStale(streak, terms)) return none
  const over = await runsSince(scope.db, user.iid, periodStart(year.first, frequency))
  const present = streak.run === null ? [] : [streak.run]
  const longest = longestIn(year, [...over, ...ended, ...present], frequency)
  if (longest === null) return none
  const { length, start, end, started } = longest
  return {
    length,
    frequency,
    periodStart: dateOfDay(start),
    periodEnd: dateOfDay(end),
    started: dateOfDay(started),
  }
}
