/** Leaderboards in words. */
import type { AdminLeaderboard } from '@laurel/client'
import type { Lookups } from '../../resource/lookups'
import { filtersInWords } from '../../resource/parts'
import type { Values } from './board-form'

export const DAYS_OF_A_WEEK = 7

type Run = Pick<Values, 'runs' | 'runInterval'>

/** The runs of a board as the form has them: 7 days from a Monday on are a week. */
export function runOf({
  runUnit,
  runInterval = 1,
  start,
}: Pick<AdminLeaderboard, 'runUnit' | 'runInterval' | 'start'>): Run {
  if (runUnit === undefined) return { runs: 'none', runInterval: '1' }
  const isMonday = new Date(start).getUTCDay() === 1
  const isWeeks = isMonday && runUnit === 'day' && runInterval % DAYS_OF_A_WEEK === 0
  return isWeeks
    ? { runs: 'week', runInterval: String(runInterval / DAYS_OF_A_WEEK) }
    : { runs: runUnit, runInterval: String(runInterval) }
}

/** How often a board begins again, in words. */
export function runInWords({ runs, runInterval }: Run): string | null {
  if (runs === 'none') return null
  return runInterval.trim() === '1' || runInterval.trim() === ''
    ? `each ${runs}`
    : `every ${runInterval} ${runs}s`
}

/** A board in words. */
export function inWords(
  { rankBy, metricId, pointsSystemId, breakdownAttributes, userAttributes, ...run }: Values,
  lookups: Lookups,
): string | null {
  const { metrics, points, attributes } = lookups
  const by =
    rankBy === 'streak'
      ? 'the length of their streak'
      : rankBy === 'points'
        ? pointsSystemId && points.nameOf(pointsSystemId)
        : metricId && metrics.nameOf(metricId)
  if (by === '') return null
  const begins = rankBy === 'streak' ? null : runInWords(run)
  const groups = breakdownAttributes.map(attributes.nameOf).join(' and ')
  const filters = filtersInWords(userAttributes, lookups)
  const parts = [
    `Ranks users ${filters === null ? '' : `whose ${filters} `}by ${by}`,
    groups === '' ? '' : `, each ${groups} on its own`,
    begins === null ? '. It never begins again.' : `. It begins again ${begins}.`,
  ]
  return parts.join('')
}
