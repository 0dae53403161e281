import type * as z from 'zod'
import {
  type Configuration,
  type Level,
  presentFields,
  type System,
  type Trigger,
} from '../../configuration/configuration.types'
import { instant, iso } from '../../lib/clock'
import type { Change } from '../../rules/change.rules'
import type { StoredAward } from '../../rules/points/award.types'
import { levelOf } from '../../rules/points/points.rules'
import type { AwardRecord } from '../../rules/state.types'
import { filtersResponse } from './attributes.presenter'
import {
  type MetricEventPointsResponse,
  type PointsAward,
  type PointsLevel,
  type PointsTrigger,
  TIME_UNIT_SHOWN,
} from './points.schemas'

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
  const eventAttributes = filtersResponse(config, trigger.eventAttributes)
  const [eventAttribute] = eventAttributes
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
    userAttributes: filtersResponse(config, trigger.userAttributes),
    ...(eventAttribute !== undefined && { eventAttribute, eventAttributes }),
    created: iso(instant(trigger.created)),
    updated: iso(instant(trigger.updated)),
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
      const was = before?.points.get(system.id) ?? 0
      const total = after.points.get(system.id) ?? 0
      const level = levelOf(system, total)
      const levelBefore = levelOf(system, was)
      return [
        system.key,
        {
          ...systemFields(system),
          total,
          ...(level?.id !== levelBefore?.id && { level: level && levelResponse(level) }),
          added: total - was,
          awards: awards
            .filter(({ systemId }) => systemId === system.id)
            .map((award) => awardResponse(config, system, award)),
        },
      ]
    }),
  )
}

/**
 * An entry of the ledger: an award with its trigger as it was then (P10), or a correction with its type (V5).
 * `forms` is the result of `triggerForms`.
 */
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
  const trigger = system.triggers.find(({ id }) => id === award.triggerId)
  if (trigger === undefined) throw new Error('A change has an award with a trigger that is not configured')
  return {
    id: award.id,
    awarded: award.awarded,
    date: iso(award.at),
    total: award.total,
    trigger: triggerResponse(config, trigger),
    boosts: [...award.boosts],
  }
}
