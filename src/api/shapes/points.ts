import * as z from 'zod'
import {
  BOOST_STATUSES,
  CORRECTION_TYPES,
  SWITCH_STATUSES,
  type TimeUnit,
} from '../../configuration/enumerations'
import {
  type Configuration,
  type Level,
  presentFields,
  type System,
  type Trigger,
} from '../../configuration/model'
import { TRIGGER_TYPES, type TriggerField } from '../../configuration/trigger-types'
import { instant, iso } from '../../lib/clock'
import { ROUNDINGS } from '../../lib/decimal'
import { PAGES } from '../../lib/limits'
import type { Change } from '../../rules/change.rules'
import { levelOf, type StoredAward } from '../../rules/points/points.rules'
import type { AwardRecord } from '../../rules/state'
import { shownFilterFields, shownFilters, Timestamp, UuidResponse } from '../fields'
import { booleanQuery, integerQuery, UserAttributesQuery } from '../queries'

/** How many of the newest awards to return. */
export const AwardsQuery = z.object({ awards: integerQuery({ min: 1, ...PAGES.awards }) })

/** Whether to list finished boosts too (P5). */
export const BoostsQuery = z.object({ includeFinished: booleanQuery(false) })

/** The users that a points summary counts: users with all these attribute values (P11). */
export const PointsSummaryQuery = z.object({ userAttributes: UserAttributesQuery.optional() })

/** The names of a time trigger's units in the application interface (G10). */
const TIME_UNIT_SHOWN = { hours: 'hour', days: 'day' } as const satisfies Record<TimeUnit, string>

/** The fields of only some types of triggers, with the names of the resources in them (G10). */
const typedFields = {
  achievementId: z.string().optional(),
  metricId: z.string().optional(),
  metricName: z.string().optional(),
  metricThreshold: z.int32().optional(),
  streakLengthThreshold: z.int32().optional(),
  achievementName: z.string().optional(),
  timeUnit: z.enum(TIME_UNIT_SHOWN).optional(),
  timeInterval: z.int32().optional(),
} satisfies Record<
  Exclude<TriggerField, 'streakLength'> | 'streakLengthThreshold' | 'metricName' | 'achievementName',
  z.ZodType
>

/** A trigger. Its type decides which optional fields it has (G10). */
export const PointsTrigger = z
  .object({
    id: z.string(),
    type: z.enum(TRIGGER_TYPES),
    points: z.int32(),
    status: z.enum([...SWITCH_STATUSES, 'archived']),
    ...typedFields,
    ...shownFilterFields,
    created: Timestamp,
    updated: Timestamp,
  })
  .meta({ id: 'PointsTrigger' })

/** A boost with its status as of now (P5). */
export const PointsBoost = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(BOOST_STATUSES),
    start: z.string(),
    end: z.string().nullable(),
    multiplier: z.number(),
    rounding: z.enum(ROUNDINGS),
  })
  .meta({ id: 'PointsBoost' })

/** An award, with trigger and boosts as they were then (P10). A correction has a type instead (V5). */
export const PointsAward = z
  .object({
    id: z.string(),
    awarded: z.int32(),
    date: z.string(),
    total: z.int32(),
    trigger: PointsTrigger.optional(),
    type: z.enum(CORRECTION_TYPES).optional(),
    boosts: z.array(PointsBoost),
  })
  .meta({ id: 'PointsAward' })

/** A level. Its description may be empty, but is never null (G10). */
export const PointsLevel = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string(),
    description: z.string(),
    badgeUrl: z.string().nullable(),
    points: z.int32(),
  })
  .meta({ id: 'PointsLevel' })

/** A level as it was when a user reached or left it. */
export const LevelThen = PointsLevel.omit({ description: true, badgeUrl: true }).extend({ id: UuidResponse })

export const PointsResponse = z.object({
  id: z.string(),
  key: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  badgeUrl: z.string().nullable(),
  maxPoints: z.int32().nullable(),
})

/** A user's points in one system. `level` is null if the total reaches no level (P9). */
export const GetUserPointsResponse = PointsResponse.extend({
  total: z.int32(),
  level: PointsLevel.nullable(),
  awards: z.array(PointsAward),
}).meta({ id: 'GetUserPointsResponse' })

/** The change of a user's points in one system by an event. `level` is present only if it changed (P9). */
export const MetricEventPointsResponse = PointsResponse.extend({
  total: z.int32(),
  level: PointsLevel.nullable().optional(),
  added: z.int32(),
  awards: z.array(PointsAward),
}).meta({ id: 'MetricEventPointsResponse' })

/** A points system with its active triggers in order of creation (P13). */
export const PointsSystemResponse = PointsResponse.omit({ key: true })
  .extend({ triggers: z.array(PointsTrigger) })
  .meta({ id: 'PointsSystemResponse' })

/** A points system in the list of all, with its key (P13). */
export const ListedPointsSystemResponse = PointsSystemResponse.extend({
  key: z.string(),
}).meta({ id: 'ListedPointsSystemResponse' })

export const PointsSystemsResponse = z.array(ListedPointsSystemResponse)

/** A user's points in all systems (P9, P10). */
export const AllUserPointsResponse = z.array(GetUserPointsResponse)

/** How many users have a total from `from` to `to`, both included (P11). */
export const PointsRange = z
  .object({ from: z.int32(), to: z.int32(), users: z.int32() })
  .meta({ id: 'PointsRange' })

export const PointsSummaryResponse = z.array(PointsRange).meta({ id: 'PointsSummaryResponse' })

/** How many users are at each level, by points (P11). */
export const PointsLevelSummaryResponse = z
  .array(z.object({ level: PointsLevel, users: z.int32() }))
  .meta({ id: 'PointsLevelSummaryResponse' })

export const PointsLevelsResponse = z.array(PointsLevel)
export const PointsBoostsResponse = z.array(PointsBoost)

/** A level as the application interface shows it. */
export function levelResponse(level: Level): z.infer<typeof PointsLevel> {
  const { id, key, name, description, badgeUrl, points } = level
  return { id, key, name, description, badgeUrl, points }
}

/** The fields of a points system that every response about it has (G10). */
export function systemFields({ id, key, name, description, badgeUrl, maxPoints }: System) {
  return { id, key, name, description: description === '' ? null : description, badgeUrl, maxPoints }
}

/** A trigger as the application interface shows it, and as awards store it (G10). */
export function triggerResponse(config: Configuration, trigger: Trigger): z.infer<typeof PointsTrigger> {
  const { streakLength, timeUnit, ...fields } = presentFields(trigger)
  const metric = config.metrics.find(({ id }) => id === fields.metricId)
  const achievement = config.achievements.find(({ id }) => id === fields.achievementId)
  return {
    id: trigger.id,
    type: trigger.type,
    points: trigger.points,
    status: trigger.status,
    ...fields,
    ...(achievement !== undefined && { achievementName: achievement.name }),
    ...(metric !== undefined && { metricName: metric.name }),
    ...(streakLength !== undefined && { streakLengthThreshold: streakLength }),
    ...(timeUnit !== undefined && { timeUnit: TIME_UNIT_SHOWN[timeUnit] }),
    ...shownFilters(config, trigger),
    created: iso(instant(trigger.created)),
    updated: iso(instant(trigger.updated)),
  }
}

/** The change of a user's points in one system. */
export function pointsChange(
  system: System,
  before: number,
  total: number,
  awards: z.infer<typeof PointsAward>[],
): z.infer<typeof MetricEventPointsResponse> {
  const [level, levelBefore] = [levelOf(system, total), levelOf(system, before)]
  return {
    ...systemFields(system),
    total,
    ...(level?.id !== levelBefore?.id && { level: level && levelResponse(level) }),
    added: total - before,
    awards,
  }
}

/** The changes of a user's points, by the key of each system that changed. */
export function pointsChanges(
  config: Configuration,
  { before, after, awards }: Change,
): Record<string, z.infer<typeof MetricEventPointsResponse>> {
  const affected = config.systems.filter(({ id }) => awards.some(({ systemId }) => systemId === id))
  return Object.fromEntries(
    affected.map((system) => {
      const [was, total] = [before?.points.get(system.id) ?? 0, after.points.get(system.id) ?? 0]
      const own = awards.filter(({ systemId }) => systemId === system.id)
      const shown = own.map((award) => awardResponse(config, system, award))
      return [system.key, pointsChange(system, was, total, shown)]
    }),
  )
}

/** An entry of the ledger: an award with its trigger as it was then (P10), or a correction (V5). */
export function storedAwardResponse(
  { id, at, awarded, total, type, triggerId, triggerVersion, boosts }: StoredAward,
  forms: ReadonlyMap<string, z.infer<typeof PointsTrigger>>,
): z.infer<typeof PointsAward> {
  const fields = { id, awarded, date: iso(at), total, boosts: [...(boosts ?? [])] }
  if (type !== null) return { ...fields, type }
  const trigger = forms.get(`${triggerId} ${triggerVersion}`)
  if (trigger === undefined)
    throw new Error('The ledger has an award with a trigger version that is not stored')
  return { ...fields, trigger }
}

function awardResponse(
  config: Configuration,
  system: System,
  award: AwardRecord,
): z.infer<typeof PointsAward> {
  const { id, awarded, at, total, triggerId, boosts } = award
  const trigger = system.triggers.find((one) => one.id === triggerId)
  if (trigger === undefined) throw new Error('A change has an award with a trigger that is not configured')
  const shown = triggerResponse(config, trigger)
  return { id, awarded, date: iso(at), total, trigger: shown, boosts: [...boosts] }
}
