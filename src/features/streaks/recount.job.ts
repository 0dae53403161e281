import type { Configuration } from '../../configuration/configuration.types'
import { bulkStep } from '../../leaderboards/bulk-step.service'
import type { Instant } from '../../lib/clock'
import { newId } from '../../lib/new-id'
import type { TenantContext } from '../../platform/context'
import type { UserState } from '../../rules/state.types'
import { judged } from '../../rules/streaks/streak-only.rules'
import { isStale } from '../../rules/streaks/streaks.rules'
import { recountChanges } from '../../store/streaks/streak-recount.service'
import { type WalkStep, walkStep } from '../../store/walk.service'
import type { DueWork } from '../../time/due-work.repository'
import type { Job } from '../../time/job.types'

/** Does one step of the walk over all users after a change of the streak settings (S9). */
export function recountStep(context: TenantContext, work: DueWork): Promise<WalkStep> {
  const visit = async (config: Configuration, users: readonly UserState[], now: Instant) => {
    const stale = users.filter(({ streak }) => isStale(streak, config.streaks))
    const counted = await recountChanges(context.db, config, stale, now)
    const next = stale[counted.length]
    const visited = next === undefined ? users : users.slice(0, users.indexOf(next))
    // The new goal counts from the change on, also if midnights have passed since (S2).
    const others = visited.flatMap((user) => judged(config, user, work.dueAt, newId))
    return { changes: [...counted, ...others], visited: visited.length }
  }
  return walkStep(context, work, visit)
}

declare module '../../time/due-kinds.types' {
  interface DueKinds {
    recount: true
  }
}

/** A walk over all users after a change of the streak settings (S9). */
export const recountJob: Job = {
  kind: 'recount',
  isOfUsers: true,
  run: (context, work) => bulkStep(context, 'recount', () => recountStep(context, work)),
}
