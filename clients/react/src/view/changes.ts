import type { EventResponse } from '@laurel/client/app'
import type { Change } from './data.ts'

/** Everything that an event changed, in the order of the answer. A repeat changed nothing (E4). */
export function changesOf(answer: EventResponse): Change[] {
  if (answer.idempotentReplayed) return []
  const changes: Change[] = []
  for (const [key, points] of Object.entries(answer.points)) {
    const { name, added, total, level } = points
    if (added !== 0) changes.push({ type: 'points', key, name, added, total })
    if (level !== undefined) changes.push({ type: 'level', key, name, level, isLost: added < 0 })
  }
  const { extended, length, frequency } = answer.currentStreak
  if (extended) changes.push({ type: 'streak', length, frequency })
  for (const achievement of answer.achievements) changes.push({ type: 'achievement', achievement })
  for (const [key, { name, rank, previousRank }] of Object.entries(answer.leaderboards)) {
    if (rank !== null && rank !== previousRank) changes.push({ type: 'rank', key, name, rank, previousRank })
  }
  return changes
}

/** True for a change that users like to hear of: a gain, not a loss. */
export function isGain(change: Change): boolean {
  if (change.type === 'points') return change.added > 0
  if (change.type === 'level') return change.level !== null && !change.isLost
  if (change.type === 'rank') return change.previousRank === null || change.rank < change.previousRank
  return true
}
