import type * as z from 'zod'
import {
  type AchievementCompletionRequest,
  type AchievementsResponse,
  achievementResponse,
  type UserAchievementsResponse,
  userAchievementResponse,
} from '../../api/shapes/achievements'
import { configurationOf } from '../../configuration/configuration'
import {
  type Achievement,
  achievementByKey,
  type Configuration,
  meets,
} from '../../configuration/configuration.types'
import { errors, throwIfInvalid } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import { resolveAttributes, unknownAttributes } from '../../rules/profile.rules'
import type { UserState } from '../../rules/state'
import { readTenantCounters, type TenantCounters, USERS } from '../../store/users/counters.sql.ts'
import { completeAchievement, ownSender } from '../events/commands'
import { completionReply } from '../events/events.routes'

/**
 * The active achievements, in order of creation (A6). If attributes are given, only the achievements whose
 * user filters they meet. Throws 422 on unknown keys.
 */
export async function listActive(
  scope: Scope,
  attributes: ReadonlyMap<string, string> | undefined,
): Promise<z.input<typeof AchievementsResponse>> {
  const config = await configurationOf(scope)
  throwIfInvalid(unknownAttributes(config, 'user', attributes))
  const values = attributes && resolveAttributes(config, 'user', attributes)
  const statsOf = statsFrom(await readTenantCounters(scope.databases, scope.tenant.id))
  return config.achievements
    .filter((one) => isOpen(config, one) && (values === undefined || meets(one.userAttributes, values)))
    .map((one) => ({ ...achievementResponse(config, one), ...statsOf(one) }))
}

/**
 * The achievements that a user has completed. With `includeIncomplete`, also the ones that the user can still
 * complete (A6). Reads `tenant_counters` unless they are given.
 */
export async function listOfUser(
  scope: Scope,
  user: UserState,
  { includeIncomplete, tenantCounters }: { includeIncomplete: boolean; tenantCounters?: TenantCounters },
): Promise<z.input<typeof UserAchievementsResponse>> {
  const config = await configurationOf(scope)
  const statsOf = statsFrom(tenantCounters ?? (await readTenantCounters(scope.databases, scope.tenant.id)))
  const shown = includeIncomplete ? visibleTo(config, user) : completedBy(config, user)
  return shown.map((one) => ({
    ...userAchievementResponse(config, one, user.achievements.get(one.id)),
    ...statsOf(one),
  }))
}

/**
 * The achievements that a user sees: first the completed ones, then the active ones whose user filters the
 * user meets (A1, A6).
 */
export function visibleTo(config: Configuration, user: UserState): Achievement[] {
  const ahead = config.achievements.filter(
    (one) =>
      isOpen(config, one) &&
      !user.achievements.has(one.id) &&
      meets(one.userAttributes, user.profile.attributes),
  )
  return [...completedBy(config, user), ...ahead]
}

/** A user's achievements, even locked ones, in order of completion, then of creation (A1). */
function completedBy({ achievements }: Configuration, user: UserState): Achievement[] {
  const completedAt = ({ id }: Achievement) => user.achievements.get(id)?.at ?? 0
  return achievements
    .filter(({ id, status }) => status !== 'inactive' && user.achievements.has(id))
    .toSorted((a, b) => completedAt(a) - completedAt(b))
}

/** Whether users can still complete an achievement: it is active, and its metric exists (A1, G9). */
function isOpen({ metrics }: Configuration, { status, metricId }: Achievement): boolean {
  return status === 'active' && (metricId === null || metrics.some(({ id }) => id === metricId))
}

/** Makes a function for the users with an achievement: number, and percentage with two decimals (A5). */
function statsFrom(tenantCounters: TenantCounters) {
  const users = tenantCounters.get(USERS) ?? 0
  return ({ id }: Achievement) => {
    const completions = tenantCounters.get(id) ?? 0
    return { completions, rarity: users === 0 ? 0 : Math.round((completions / users) * 10_000) / 100 }
  }
}

/** The achievement with this key. Throws 404 if there is none, or if it is inactive (A3). */
export async function findCompletable(scope: Scope, key: string): Promise<Achievement> {
  const achievement = achievementByKey(await configurationOf(scope), key)
  if (achievement === undefined || achievement.status === 'inactive') {
    throw errors.notFound(`The achievement ${JSON.stringify(key)}`)
  }
  return achievement
}

/**
 * Completes an achievement for a user, and returns the whole reply (A3, K7). Throws 422 if this call can't
 * complete it.
 */
export async function completeFor(
  scope: Scope,
  { key: achievementKey }: Achievement,
  body: z.output<typeof AchievementCompletionRequest>,
) {
  // The API key was confirmed when the request entered.
  const sender = ownSender(scope, body.user.id)
  return completionReply(await completeAchievement(scope, sender, { achievementKey, body }))
}
