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
function filtersInWords({ userAttributes = [], eventAttributes = [] }: PointsTrigger): (string | false)[] {
  const listed = (all: readonly { key: string; value: string }[]) =>
    all.map(({ key, value }) => say`${key} = ${value}`).join(' and ')
  return [
    userAttributes.length > 0 && `It is for users with ${listed(userAttributes)}.`,
    eventAttributes.length > 0 && `It counts events with ${listed(eventAttributes)}.`,
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
function limitInWords({ limit, award, afterBoosts }: AwardExplanation, system: string): string | null {
  if (limit === null) return null
  const wanted = afterBoosts === null ? '' : ` instead of ${formatNumber(Math.abs(afterBoosts))}`
  const changed = `${formatNumber(Math.abs(award.awarded))} were ${limit === 'cap' ? 'added' : 'taken'}${wanted}.`
  return limit === 'cap'
    ? say`A user can have only so many ${system}, so ${changed}`
    : `A total cannot be below 0, so ${changed}`
}

/**
 * The reasons of an award, one sentence each, in the order in which they apply.
 *
 * @param system the name of the points system
 */
export function explanationInWords(explained: AwardExplanation, system: string, lookups: Lookups): string[] {
  const { trigger, event, firings, base, boosts, afterBoosts, total } = explained
  const number = (points: number) => formatNumber(Math.abs(points))
  const metric = event?.metricKey == null ? 'a deleted metric' : lookups.metrics.nameOf(event.metricKey)
  const names = boosts.map(
    ({ name, id, multiplier }) => say`${nameOr(name, id)} (×${formatNumber(multiplier)})`,
  )
  const sentences = [
    event &&
      say`The event of ${formatDate(event.localDate)} counted ${formatNumber(event.value)} for ${metric}.`,
    ...(trigger === null
      ? correctionInWords(explained, system)
      : [triggerInWords(trigger, system, lookups), ...filtersInWords(trigger), countedInWords(explained)]),
    trigger !== null &&
      firings !== null &&
      base !== null &&
      firings !== 1 &&
      say`${formatNumber(firings)} × ${number(trigger.points)} = ${number(base)} ${system}.`,
    boosts.length > 0 &&
      base !== null &&
      afterBoosts !== null &&
      `The boost${boosts.length === 1 ? '' : 's'} ${names.join(' and ')} made ${number(afterBoosts)} of ${number(base)}.`,
    limitInWords(explained, system),
    say`The total went from ${formatNumber(total.before)} to ${formatNumber(total.after)} ${system}.`,
  ]
  return sentences.filter((sentence) => typeof sentence === 'string')
}
