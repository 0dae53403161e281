import type * as z from 'zod'
import { entriesOf } from '../../configuration/audit.rules'
import { configurationOf, configure } from '../../configuration/configuration'
import type { Achievement, Configuration } from '../../configuration/configuration.types'
import {
  byIdOrKey,
  createEach,
  Draft,
  deleteEach,
  type ListedPage,
  type Names,
  page,
  updateEach,
} from '../../configuration/drafts.rules'
import { withIds } from '../../configuration/references.rules'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import { wakeTimekeeper } from '../../time/timekeeper'
import { retitledByAchievement } from '../points/triggers.service'
import { achievementFrom, achievementPatched, startsOver } from './achievement-writes.rules'
import type {
  AdminAchievement,
  CreateAchievementRequestItem,
  UpdateAchievementRequestItem,
} from './achievements.admin.schemas'
import { storeAchievements } from './achievements.repository'
import { beginBackdating } from './backdate'
import { achievementProblem, removalProblem } from './problems.rules'

const WHAT = 'an achievement'

function adminAchievement(achievement: Achievement): z.infer<typeof AdminAchievement> {
  const { id, name, key, description, badgeUrl, status, trigger } = achievement
  const { metricId, metricValue, streakLength, achievementIds } = achievement
  return {
    id,
    name,
    key,
    description,
    badge: badgeUrl === null ? null : { url: badgeUrl },
    status,
    trigger,
    ...(metricId !== null && { metricId }),
    ...(metricValue !== null && { metricValue }),
    ...(streakLength !== null && { streakLength }),
    ...(trigger === 'achievement' && { achievementIds: [...achievementIds] }),
    userAttributes: [...achievement.userAttributes],
    ...(trigger === 'metric' && { eventAttributes: [...achievement.eventAttributes] }),
  }
}

/** A page of the tenant's achievements, oldest first (G7). */
export async function listAchievements(scope: Scope, query: ListedPage) {
  const { achievements } = await configurationOf(scope)
  return page(achievements, query).map(adminAchievement)
}

/** An achievement, by its id or key (O1). Throws 404 if there is none. */
export async function findAchievement(scope: Scope, idOrKey: string) {
  const { achievements } = await configurationOf(scope)
  return adminAchievement(byIdOrKey(achievements, idOrKey, 'This achievement'))
}

type Work = {
  config: Configuration
  draft: Draft<Achievement>
  /** Ids of achievements for which users may already qualify through earlier activity (A4). */
  begun: Set<string>
}

/**
 * Changes achievements. `change` edits the draft. The triggers of a renamed achievement show its new name
 * from then on (P10). If an achievement starts over, users who already qualify get it. That begins as soon as
 * the change is stored (A4).
 */
async function configureAchievements<T>(scope: Scope, change: (work: Work) => T): Promise<T> {
  const { result, isBegun } = await configure(scope, (config) => {
    const draft = new Draft(config.achievements)
    const begun = new Set<string>()
    const result = change({ config, draft, begun })
    const renamed = draft.changed.filter(
      ({ id, name }) => !config.achievements.some((one) => one.id === id && one.name === name),
    )
    const statements = [
      ...storeAchievements(scope, draft),
      ...renamed.flatMap((achievement) => retitledByAchievement(scope, config, achievement)),
      ...(begun.size === 0 ? [] : beginBackdating(scope, [...begun])),
    ]
    const audit = entriesOf('achievement', draft.changes, adminAchievement)
    return { statements, audit, result: { result, isBegun: begun.size > 0 } }
  })
  if (isBegun) await wakeTimekeeper(scope)
  return result
}

/** The configuration with the changes of the items before. */
const present = ({ config, draft }: Pick<Work, 'config' | 'draft'>): Configuration => ({
  ...config,
  achievements: draft.list,
})

/** The changed achievement, or the problem with it. Notes whether users may already qualify (A4). */
function accepted(
  { config, draft, begun }: Work,
  before: Achievement | undefined,
  made: Achievement | string,
): Achievement | string {
  if (typeof made === 'string') return made
  const problem = achievementProblem(present({ config, draft }), made)
  // Only the customer's product completes an `api` achievement, so no user can have earned it before.
  if (problem === null && made.trigger !== 'api' && startsOver(before, made)) begun.add(made.id)
  return problem ?? made
}

/**
 * Creates achievements (G7). Each one is created inactive, and then moved to the status that it asks for. If
 * that move is illegal, the achievement is not created (A1).
 */
export function createAchievements(
  scope: Scope,
  items: readonly z.output<typeof CreateAchievementRequestItem>[],
) {
  const { now } = scope
  return configureAchievements(scope, (work) => {
    const { created, issues } = createEach(work.draft, items, (asked) => {
      const item = withIds(present(work), asked)
      return typeof item === 'string'
        ? item
        : accepted(work, undefined, achievementFrom(newId(now), now, item))
    })
    return { created: created.map(adminAchievement), issues }
  })
}

/** Changes achievements, and moves them to another status (G7, A1). */
export function updateAchievements(
  scope: Scope,
  items: readonly z.output<typeof UpdateAchievementRequestItem>[],
) {
  const { now } = scope
  return configureAchievements(scope, (work) => {
    const { updated, issues } = updateEach(
      work.draft,
      items,
      WHAT,
      (before, asked) => {
        const item = withIds(present(work), asked)
        return typeof item === 'string'
          ? item
          : accepted(work, before, achievementPatched(before, item, now, newId(now)))
      },
      { fixed: ['key'] },
    )
    return { updated: updated.map(adminAchievement), issues }
  })
}

/**
 * Deletes achievements. If something active uses an achievement, it stays, and the response has an issue
 * (G9).
 */
export function deleteAchievements(scope: Scope, names: Names) {
  return configureAchievements(scope, ({ config, draft }) =>
    deleteEach(draft, names, WHAT, (id) =>
      removalProblem({ systems: config.systems, achievements: draft.list }, id),
    ),
  )
}
