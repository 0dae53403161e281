/** Says in words why a user got, or lost, points. */
import type { AwardExplanation, PointsTrigger } from '@laurel/client'
import type { Lookups } from '../../../resource/lookups'
import { everyAmount } from '../../../resource/parts'
import { counted, formatDate, formatNumber } from '../../../ui/format'
import { nameOr, say } from '../../../ui/text'

/** Points with their sign, such as +30. */
export const signed = (value: number): string => (value > 0 ? `+${formatNumber(value)}` : formatNumber(value))

/** "10 XP", without a sign. */
const amountOf = (points: number, system: string): string => say`${formatNumber(Math.abs(points))} ${system}`

/** The points of a trigger, and its occasion. */
function triggerInWords(trigger: PointsTrigger, system: string, lookups: Lookups): string {
  const { type, points } = trigger
  const amount = `${points < 0 ? 'takes' : 'gives'} ${amountOf(points, system)}`
  switch (type) {
    case 'metric': {
      const { metricId = '', metricName, metricThreshold = 1 } = trigger
      const isKnown = lookups.metrics.find(metricId) !== undefined
      const occasion = isKnown
        ? everyAmount(metricThreshold, metricId, lookups)
        : say`every ${formatNumber(metricThreshold)} of ${nameOr(metricName, 'a metric')}`
      return `The trigger ${amount} for ${occasion}.`
    }
    case 'achievement':
      return say`The trigger ${amount} for the achievement ${nameOr(trigger.achievementName, '')}.`
    case 'streak':
      return `The trigger ${amount} each time the streak grows by ${formatNumber(trigger.streakLengthThreshold ?? 1)}.`
    case 'time': {
      const unit = trigger.timeUnit ?? 'hour'
      const interval = trigger.timeInterval ?? 1
      return `The trigger ${amount} every ${interval === 1 ? unit : counted(interval, unit)}.`
    }
    case 'user_creation':
      return `The trigger ${amount} to each new user.`
  }
}

/** How the event moved the total that the trigger counts. */
function countedInWords({ counter, firings, trigger }: AwardExplanation): string | null {
  if (counter === null) return null
  const threshold = trigger?.metricThreshold
  const moved = `The highest total went from ${formatNumber(counter.before)} to ${formatNumber(counter.after)}`
  if (threshold === undefined || threshold === 1 || firings === null) return `${moved}.`
  return `${moved}, and passed a multiple of ${formatNumber(threshold)} ${firings === 1 ? 'once' : counted(firings, 'time')}.`
}

/** The attributes that the trigger asks for. */
function filtersInWords(trigger: PointsTrigger): string[] {
  const listed = (all: readonly { key: string; value: string }[] | undefined) =>
    (all ?? []).map(({ key, value }) => say`${key} = ${value}`).join(' and ')
  const users = listed(trigger.userAttributes)
  const events = listed(trigger.eventAttributes)
  return [
    ...(users === '' ? [] : [`It is for users with ${users}.`]),
    ...(events === '' ? [] : [`It counts events with ${events}.`]),
  ]
}

/** A correction by an admin, with its reason. */
function correctionInWords({ type, reason, award: { awarded } }: AwardExplanation, system: string): string[] {
  const amount = amountOf(awarded, system)
  const what =
    type === 'reversal'
      ? `An earlier award was reversed, which ${awarded < 0 ? 'took' : 'gave back'} ${amount}.`
      : `An admin ${awarded < 0 ? 'took' : 'added'} ${amount} by hand.`
  return [what, reason ? say`Reason: ${reason}` : 'No reason was given.']
}

/** Cap or floor, if one of them changed the award. */
function limitInWords(
  { limit, award: { awarded }, afterBoosts }: AwardExplanation,
  system: string,
): string[] {
  if (limit === null) return []
  const wanted = afterBoosts === null ? '' : ` instead of ${formatNumber(Math.abs(afterBoosts))}`
  return limit === 'cap'
    ? [say`A user can have only so many ${system}, so ${formatNumber(awarded)} were added${wanted}.`]
    : [`A total cannot be below 0, so ${formatNumber(Math.abs(awarded))} were taken${wanted}.`]
}

/**
 * The reasons of an award, one sentence each, in the order in which they apply.
 *
 * @param system the name of the points system
 */
export function explanationInWords(explained: AwardExplanation, system: string, lookups: Lookups): string[] {
  const { trigger, event, firings, base, boosts, afterBoosts, total } = explained
  const sentences: string[] = []
  if (event !== null) {
    const metric = event.metricKey === null ? 'a deleted metric' : lookups.metrics.nameOf(event.metricKey)
    sentences.push(
      say`The event of ${formatDate(event.localDate)} counted ${formatNumber(event.value)} for ${metric}.`,
    )
  }
  if (trigger === null) sentences.push(...correctionInWords(explained, system))
  else {
    sentences.push(triggerInWords(trigger, system, lookups), ...filtersInWords(trigger))
    const moved = countedInWords(explained)
    if (moved !== null) sentences.push(moved)
    if (firings !== null && base !== null && firings !== 1)
      sentences.push(
        say`${formatNumber(firings)} × ${formatNumber(Math.abs(trigger.points))} = ${formatNumber(Math.abs(base))} ${system}.`,
      )
  }
  if (boosts.length > 0 && base !== null && afterBoosts !== null) {
    const names = boosts
      .map(({ name, id, multiplier }) => say`${nameOr(name, id)} (×${formatNumber(multiplier)})`)
      .join(' and ')
    const verb = boosts.length === 1 ? 'The boost' : 'The boosts'
    sentences.push(
      `${verb} ${names} made ${formatNumber(Math.abs(afterBoosts))} of ${formatNumber(Math.abs(base))}.`,
    )
  }
  sentences.push(...limitInWords(explained, system))
  sentences.push(
    say`The total went from ${formatNumber(total.before)} to ${formatNumber(total.after)} ${system}.`,
  )
  return sentences
}
