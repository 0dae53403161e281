import type { Achievement, Configuration } from '../../configuration/configuration.types'
import { filterProblem } from '../../configuration/filters.rules'
import { unreachable } from '../../lib/errors'
import { MOST_RESOURCES } from '../../lib/limits'
import { asksTheSame, startsOver } from './achievement-writes.rules'

/**
 * Why an achievement can't be in the configuration, or null: its key is taken, there are too many, or
 * something that it needs is missing or goes in a circle (G5, A1, A2). The configuration may already contain
 * it.
 */
export function achievementProblem(config: Configuration, achievement: Achievement): string | null {
  const before = config.achievements.find(({ id }) => id === achievement.id)
  // If a change asks for nothing new, the achievement may refer to deleted things (G9), unless it becomes
  // active.
  const isKnown = before !== undefined && asksTheSame(before, achievement) && !startsOver(before, achievement)
  return (
    roomProblem(config, before, achievement) ??
    (isKnown ? null : (conditionProblem(config, achievement) ?? filtersProblem(config, achievement)))
  )
}

function roomProblem(
  { achievements }: Configuration,
  before: Achievement | undefined,
  { key }: Achievement,
): string | null {
  const others = achievements.filter((other) => other !== before)
  if (others.some((other) => other.key === key)) {
    return `The key "${key}" is taken by another achievement. Choose another key.`
  }
  if (others.length < MOST_RESOURCES) return null
  return `Limit of ${MOST_RESOURCES} achievements reached. Delete one first.`
}

/** The reason if something that the trigger needs is missing, else null (A2). */
function conditionProblem(config: Configuration, achievement: Achievement): string | null {
  const { trigger, metricId, metricValue, streakLength, achievementIds } = achievement
  const missing = (field: string) => `An achievement with the trigger ${trigger} needs ${field}. Pass it too.`
  switch (trigger) {
    case 'api':
      return null
    case 'streak':
      return streakLength === null ? missing('streakLength') : null
    case 'metric':
      if (metricId === null) return missing('metricId')
      if (metricValue === null) return missing('metricValue')
      if (config.metrics.some(({ id }) => id === metricId)) return null
      return 'No metric has this metricId. Take one from GET /metrics.'
    case 'achievement':
      return achievementIds.length === 0 ? missing('achievementIds') : compositeProblem(config, achievement)
    default:
      return unreachable(trigger)
  }
}

/** The reason if a prerequisite does not exist, is named twice or needs the achievement, else null (A1). */
function compositeProblem(
  { achievements }: Configuration,
  { id: self, achievementIds }: Achievement,
): string | null {
  const present = new Map(achievements.map((one) => [one.id, one]))
  const unknown = achievementIds.find((id) => id !== self && !present.has(id))
  if (unknown !== undefined) {
    return `achievementIds: no achievement has the id ${unknown}. Take the ids from GET /achievements.`
  }
  const again = achievementIds.find((id, index) => achievementIds.indexOf(id) !== index)
  if (again !== undefined) {
    return `achievementIds names ${again} more than once. Name each achievement once.`
  }
  const circular = achievementIds.find((id) => needs(present, id, self))
  if (circular === undefined) return null
  return `achievementIds: ${circular} itself needs this achievement, so no user could ever get either. Leave it out.`
}

/** Whether an achievement is the wanted one, or needs it directly or through others. */
function needs(achievements: ReadonlyMap<string, Achievement>, from: string, wanted: string): boolean {
  const seen = new Set<string>()
  const ahead = [from]
  for (let id = ahead.pop(); id !== undefined; id = ahead.pop()) {
    if (id === wanted) return true
    if (seen.has(id)) continue
    seen.add(id)
    ahead.push(...(achievements.get(id)?.achievementIds ?? []))
  }
  return false
}

const filtersProblem = (config: Configuration, { userAttributes, eventAttributes }: Achievement) =>
  filterProblem(config, 'user', userAttributes) ?? filterProblem(config, 'event', eventAttributes)

/**
 * Why an achievement can't be deleted, or null: a composite that is not inactive or an active trigger uses it
 * (G9).
 */
export function removalProblem(
  { achievements, systems }: Pick<Configuration, 'achievements' | 'systems'>,
  id: string,
): string | null {
  const used = (by: string) => `The achievement is used by ${by}. Change or delete that first.`
  const composite = achievements.find(
    ({ status, achievementIds }) => status !== 'inactive' && achievementIds.includes(id),
  )
  if (composite !== undefined) {
    return used(`the achievement ${composite.key}, which is ${composite.status}`)
  }
  for (const { key, triggers } of systems) {
    const trigger = triggers.find(({ status, achievementId }) => status === 'active' && achievementId === id)
    if (trigger !== undefined) return used(`the active trigger ${trigger.id} of the points system ${key}`)
  }
  return null
}
