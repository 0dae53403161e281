import * as z from 'zod'
import { endpointsOf, ok } from '../../../api/endpoint'
import { DateResponse, UserId } from '../../../api/fields'
import { integerQuery } from '../../../api/queries'
import { UserAchievementResponse, userAchievementResponse } from '../../../api/shapes/achievements'
import { leaderboardFields, UserLeaderboardResponse } from '../../../api/shapes/leaderboards'
import { systemFields } from '../../../api/shapes/points'
import { StreakFrequency } from '../../../api/shapes/streaks'
import { User, userResponse } from '../../../api/shapes/users'
import { configurationOf } from '../../../configuration/configuration'
import type { Configuration, Leaderboard, Metric } from '../../../configuration/model'
import { type BestFound, definitionOf } from '../../../leaderboards/board'
import { isShown } from '../../../leaderboards/leaderboards'
import { boardObject } from '../../../leaderboards/updates'
import { MICROS_PER_UNIT } from '../../../lib/decimal'
import { errors } from '../../../lib/errors'
import { within } from '../../../lib/system-clock'
import { dateOfDay, dayIn, localDay, periodEnd, periodStart, yearOf } from '../../../lib/zone'
import type { Scope } from '../../../platform/context'
import { logProblem } from '../../../platform/log'
import { sharedScans } from '../../../platform/scans'
import { firstDayOf, lastDayOf } from '../../../rules/runs.rules'
import type { UserState } from '../../../rules/state'
import { termsOf } from '../../../rules/streaks/streak-state.rules'
import { isStale, streakAsOf } from '../../../rules/streaks/streaks.rules'
import { runsSince } from '../../../store/users/streaks.sql.ts'
import { findUser } from '../../../store/users/users.sql.ts'
import { distributionName, requestDistributions } from './distributions'
import {
  activityOf,
  type DayChange,
  type Days,
  daysOfYear,
  isIn,
  longestIn,
  type Periods,
  percentChange,
  percentile,
  type Sums,
  sumsIn,
} from './wrapped.rules'
import {
  type AttributeSums,
  attributesStatement,
  knownStatement,
  type Placing,
  parseAttributes,
  parseKnown,
  parsePlaces,
  placesStatement,
  readDays,
} from './wrapped.sql.ts'

/** The last year in which a date can be written (G4). */
const LAST_YEAR = 9_999

/** The year to sum up. Without it, the current year in the user's zone (R1). */
const WrappedQuery = z.object({ year: integerQuery({ min: 1, max: LAST_YEAR, fallback: undefined }) })

/** The total at the period's end, the change in it, and the place among all users by it (R1, R2). */
const Changed = z.object({
  name: z.string(),
  currentTotal: z.number(),
  changeThisPeriod: z.number(),
  percentChange: z.number(),
  percentileThisPeriod: z.int32().optional(),
})

/** A metric, or its events with one value of an event attribute. */
const MetricChanged = Changed.extend({ units: z.string().nullable() })

/** A metric in a period. `byAttribute` is by event attribute key, then by value (R1). */
const WrappedMetric = MetricChanged.extend({
  byAttribute: z.record(z.string(), z.record(z.string(), MetricChanged)),
}).meta({ id: 'WrappedMetric' })

/** A points system in a period (R1). */
const WrappedPoints = Changed.extend({ description: z.string().nullable() }).meta({
  id: 'WrappedPoints',
})

/** The longest streak of the year, with the first period of that length. The dates are null without one. */
const WrappedStreak = z
  .object({
    length: z.int32(),
    frequency: StreakFrequency,
    periodStart: DateResponse.nullable(),
    periodEnd: DateResponse.nullable(),
    started: DateResponse.nullable(),
  })
  .meta({ id: 'WrappedStreak' })

/** The results of a period, by the keys of metrics, points systems and leaderboards (R1). */
const WrappedActivityPeriod = z
  .object({
    metrics: z.record(z.string(), WrappedMetric),
    points: z.record(z.string(), WrappedPoints),
    achievements: z.array(UserAchievementResponse),
    leaderboards: z.record(z.string(), UserLeaderboardResponse),
  })
  .meta({ id: 'WrappedActivityPeriod' })

/** The user's year (R1). Months count from 0. */
const WrappedResponse = z
  .object({
    user: User,
    activity: z
      .object({
        daysActive: z.int32(),
        weeksActive: z.int32(),
        monthsActive: z.int32(),
        mostActiveDay: WrappedActivityPeriod.extend({ date: DateResponse }),
        mostActiveWeek: WrappedActivityPeriod.extend({ start: DateResponse, end: DateResponse }),
        mostActiveMonth: WrappedActivityPeriod.extend({ month: z.int32() }),
        entireYear: WrappedActivityPeriod.extend({ longestStreak: WrappedStreak }),
      })
      .meta({ id: 'WrappedActivity' }),
  })
  .meta({ id: 'WrappedResponse' })

type Story = {
  config: Configuration
  user: UserState
  /** Changes by local day, by the id of the metric or points system. */
  changes: ReadonlyMap<string, readonly DayChange[]>
  periods: Periods
  attributes: readonly AttributeSums[]
  /** Percentage of users with less, by `period subject` (R2). */
  percentiles: ReadonlyMap<string, number>
}

/** The results of a period (R1): metrics with an event in it, and points systems with an award in it. */
function periodResponse(
  story: Story,
  kind: keyof Periods,
  leaderboards: BestPlaces,
): z.infer<typeof WrappedActivityPeriod> {
  const { config, user, changes, periods } = story
  const sumsFor = (id: string, total: number, unit: number) => {
    const sums = sumsIn(periods[kind], changes.get(id) ?? [], total)
    const percentileThisPeriod = story.percentiles.get(`${kind} ${id}`)
    return (
      sums && { ...changed(sums, unit), ...(percentileThisPeriod !== undefined && { percentileThisPeriod }) }
    )
  }
  const metrics = config.metrics.flatMap((metric): [string, z.infer<typeof WrappedMetric>][] => {
    const total = user.metrics.get(metric.id)?.total ?? 0
    const sums = sumsFor(metric.id, total, MICROS_PER_UNIT)
    return sums === null
      ? []
      : [[metric.key, { ...named(metric), ...sums, byAttribute: byAttribute(story, metric, kind) }]]
  })
  const points = config.systems.flatMap((system) => {
    const sums = sumsFor(system.id, user.points.get(system.id) ?? 0, 1)
    const { name, description } = systemFields(system)
    return sums === null ? [] : [[system.key, { name, description, ...sums }] as const]
  })
  return {
    metrics: Object.fromEntries(metrics),
    points: Object.fromEntries(points),
    achievements: achievementsIn(story, periods[kind]),
    leaderboards,
  }
}

const named = ({ name, units }: Metric) => ({ name, units: units === '' ? null : units })

const changed = (sums: Sums, unit: number) => ({
  currentTotal: sums.total / unit,
  changeThisPeriod: sums.change / unit,
  percentChange: percentChange(sums),
})

/** A metric's changes in a period by event attribute and value, for attributes that are configured now. */
function byAttribute(
  { config, attributes }: Story,
  metric: Metric,
  kind: keyof Periods,
): z.infer<typeof WrappedMetric>['byAttribute'] {
  const own = attributes.filter(({ metricId, period }) => metricId === metric.id && period === kind)
  return Object.fromEntries(
    config.attributes.flatMap(({ id, key }) => {
      const values = own.filter(({ attribute }) => attribute === id)
      const sumsFor = values.map((sums) => [
        sums.value,
        { ...named(metric), ...changed(sums, MICROS_PER_UNIT) },
      ])
      return sumsFor.length === 0 ? [] : [[key, Object.fromEntries(sumsFor)]]
    }),
  )
}

/** The visible achievements completed on these days, by stored local date, oldest first (A1, E8). */
function achievementsIn({ config, user }: Story, days: Days) {
  return [...user.achievements]
    .filter(([, { at, utcOffset }]) => isIn(days, localDay(at, utcOffset)))
    .sort(([, one], [, other]) => one.at - other.at)
    .flatMap(([id, completion]) => {
      const achievement = config.achievements.find((one) => one.id === id)
      return achievement === undefined || achievement.status === 'inactive'
        ? []
        : [userAchievementResponse(config, achievement, completion)]
    })
}

const wrappedScansOf = sharedScans<Wrapped>()

/** If a user has at least this many changes, a wrapped waits for its turn, since it reads the log (P11). */
const LONG = 20_000

type Wrapped = z.input<typeof WrappedResponse>

/**
 * Sums up a user's year; without `asked`, the current year in the user's zone (R1, R2). Throws 422 if the
 * year is in the future. For a user with a long log, throws 429 as any scan.
 */
async function readWrapped(scope: Scope, user: UserState, asked: number | undefined): Promise<Wrapped> {
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
  const [{ attributes }, { places, isKnown }] =
    db.name === home.name
      ? await db.batchOf({ ...ofUser, ...ofAll }).then((all) => [all, all] as const)
      : await Promise.all([db.batchOf(ofUser), home.batchOf(ofAll)])
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

/** How long a wrapped waits for a leaderboard before it leaves it out, in milliseconds. */
const PATIENCE = 1_500

/** The most leaderboards for one wrapped, the newest: the platform limits the subrequests of a request. */
const MOST_BOARDS = 100

/** Leaderboards by key, with the user's best rank in a period (R1). */
type BestPlaces = Record<string, z.infer<typeof UserLeaderboardResponse>>

/** The user's best places in each of the periods, without leaderboards that can't be reached. */
async function bestPlaces(
  scope: Scope,
  config: Configuration,
  user: UserState,
  year: Days,
  periods: readonly Days[],
): Promise<BestPlaces[]> {
  const boards = config.leaderboards
    .filter((board) => mayHold(board, user, year) && isShown(board, scope.now))
    .slice(-MOST_BOARDS)
  const found = await Promise.all(boards.map((board) => bestOf(scope, config, board, user, periods)))
  return periods.map((_, nth) =>
    Object.fromEntries(
      boards.flatMap((board, index) => {
        const place = found[index]?.[nth] ?? null
        return place === null
          ? []
          : [[board.key, { ...leaderboardFields(config, board, scope.now), ...place }]]
      }),
    ),
  )
}

/** Whether the user may have had a place in the leaderboard in that year. */
function mayHold(board: Leaderboard, user: UserState, year: Days): boolean {
  if (firstDayOf(board) > year.last || (lastDayOf(board) ?? year.first) < year.first) return false
  if (board.metricId !== null) return user.metrics.has(board.metricId)
  return board.systemId !== null ? user.points.has(board.systemId) : user.streak.frequency !== null
}

async function bestOf(
  scope: Scope,
  config: Configuration,
  board: Leaderboard,
  { id, iid, profile }: UserState,
  periods: readonly Days[],
): Promise<BestFound> {
  try {
    const work = boardObject(scope, board.id).best({
      definition: definitionOf(config, board),
      now: scope.now,
      userId: id,
      iid,
      today: dayIn(profile.tz, scope.now),
      periods: periods.map(({ first, last }) => [first, last]),
    })
    return (await within(PATIENCE, work)) ?? []
  } catch (error) {
    logProblem('warn', { leaderboard: board.id, error: `leaderboard not reached: ${String(error)}` })
    return []
  }
}

const endpoint = endpointsOf('application')

/** The endpoints of users' years. */
export const wrappedEndpoints = [
  endpoint(
    'GET /users/{id}/wrapped',
    {
      id: 'users_wrapped',
      summary: "Sum up a user's year",
      params: z.object({ id: UserId }),
      query: WrappedQuery,
      responses: { 200: { description: 'The year.', body: WrappedResponse } },
    },
    { find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => ok(await readWrapped(scope, user, query.year)),
  ),
]
