import { type Achievement, type Configuration, MOST_RESOURCES } from '../../config/configuration.types'
import { filterProblem } from '../../config/filters.rules'
import { unreachable } from '../../lib/unreachable'
import { asksTheSame, startsOver } from './admin.rules'

/**
 * Why an achievement can't stand in the configuration, of which it may be a part already, or null: its key is taken, there are too
 * many, or something that it needs is missing or goes in a circle (G5, A1, A2).
 */
export function achievementProblem(config: Configuration, achievement: Achievement): string | null {
  const before = config.achievements.find(({ id }) => id === achievement.id)
  // One that asks for nothing new may refer to something that was deleted since (G9), until it is to be completed by it.
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
  return `There are ${MOST_RESOURCES} achievements, which is the most. Delete one first.`
}

/** What the trigger needs must be there (A2). */
function conditionProblem(config: Configuration, achievement: Achievement): string | null {
  const { trigger, metricId, metricValue, streakLength, achievementIds } = achievement
  const missing = (field: string) => `An achievement of the trigger ${trigger} needs ${field}. Pass it too.`
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

/** Prerequisites must be there, each once, and must not need the achievement itself (A1). */
function compositeProblem(
  { achievements }: Configuration,
  { id: self, achievementIds }: Achievement,
): string | null {
  const present = new Map(achievements.map((one) => [one.id, one]))
  const unknown = achievementIds.find((id) => id !== self && !present.has(id))
  if (unknown !== undefined) {
    return `achievementIds: no achievement has the id ${unknown}. Take those from GET /achievements.`
  }
  const again = achievementIds.find((id, index) => achievementIds.indexOf(id) !== index)
  if (again !== undefined) {
    return `achievementIds names ${again} more than once. Name each achievement once.`
  }
  const circular = achievementIds.find((id) => needs(present, id, self))
  if (circular === undefined) return null
  return `achievementIds: ${circular} itself needs this achievement, so that nobody could ever get them. Leave it out.`
}

/** Whether an achievement is the wanted one, or needs it, directly or by way of others. */
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

/** Why an achievement can't be deleted, or null: something that is not inactive uses it (G9). */
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
