import * as z from 'zod'
import { endpointsOf, ok } from '../../api/endpoint'
import { readable, UserId } from '../../api/fields'
import {
  AchievementCompletionRequest,
  AchievementCompletionResponse,
  AchievementsQuery,
  AchievementsResponse,
  achievementResponse,
  UserAchievementsQuery,
  UserAchievementsResponse,
  userAchievementResponse,
} from '../../api/shapes/achievements'
import { ReadableUser } from '../../api/shapes/users'
import { configurationOf } from '../../configuration/configuration'
import { type Achievement, achievementByKey, type Configuration, meets } from '../../configuration/model'
import { errors, throwIfInvalid } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import { completionErrors } from '../../rules/achievements.rules'
import { resolveAttributes, unknownAttributes } from '../../rules/profile.rules'
import type { UserState } from '../../rules/state'
import { readTenantCounters, type TenantCounters, USERS } from '../../store/users/counters.sql.ts'
import { findUser, furtherUserErrors, stateOf } from '../../store/users/users.sql.ts'
import { completeAchievement, ownSender } from '../events/commands'
import { completionReply, WARNING_HEADER } from '../events/events.routes'

/** Those whose user filters the attributes meet, if attributes are given (A6). Throws 422 on unknown keys. */
async function listActive(
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

/** With `includeIncomplete`, also the ones that the user can still complete (A6). */
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

/** First the completed ones, then the active ones whose user filters the user meets (A1, A6). */
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
    return { completions, rarity: users === 0 ? 0 : Math.round((completions * 10_000) / users) / 100 }
  }
}

const ReadableCompletion = readable({ user: ReadableUser })

const CompletionSubject = z.object({ user: z.object({ id: z.unknown() }) })

const endpoint = endpointsOf('application')

export const achievementEndpoints = [
  endpoint(
    'GET /achievements',
    {
      id: 'achievements_all',
      summary: 'List the active achievements',
      query: AchievementsQuery,
      responses: {
        200: { description: 'The achievements, in order of creation.', body: AchievementsResponse },
      },
    },
    async (scope, { query }) => ok(await listActive(scope, query.userAttributes)),
  ),
  endpoint(
    'POST /achievements/{key}/complete',
    {
      id: 'achievements_complete',
      summary: 'Complete an achievement for a user, and get the changes',
      params: z.object({ key: z.string() }),
      body: AchievementCompletionRequest,
      responses: {
        201: {
          description:
            'The achievement is completed. If it was completed before, this is the first completion, without points.',
          body: AchievementCompletionResponse,
          optionalHeaders: WARNING_HEADER,
        },
      },
    },
    {
      subject: (json) => CompletionSubject.safeParse(json).data?.user.id,
      find: async (scope, param): Promise<Achievement> => {
        const achievement = achievementByKey(await configurationOf(scope), param('key'))
        if (achievement !== undefined && achievement.status !== 'inactive') return achievement
        throw errors.notFound(`The achievement ${JSON.stringify(param('key'))}`)
      },
      check: async (scope, { json }, found) => {
        const { user } = ReadableCompletion.parse(json)
        const state =
          found.status === 'locked' && user.id !== undefined ? await stateOf(scope, user.id) : null
        return [...completionErrors(found, state), ...(await furtherUserErrors(scope, user, 'user.'))]
      },
    },
    async (scope, { body }, { key: achievementKey }) => {
      // The API key was confirmed when the request entered.
      const sender = ownSender(scope, body.user.id)
      return completionReply(await completeAchievement(scope, sender, { achievementKey, body }))
    },
  ),
  endpoint(
    'GET /users/{id}/achievements',
    {
      id: 'users_achievements',
      summary: 'List the achievements that a user has completed',
      params: z.object({ id: UserId }),
      query: UserAchievementsQuery,
      responses: {
        200: {
          description:
            'The completed achievements, oldest first. Then, if asked for, the others, in order of creation.',
          body: UserAchievementsResponse,
        },
      },
    },
    { find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) =>
      ok(await listOfUser(scope, user, { includeIncomplete: query.includeIncomplete !== undefined })),
  ),
]
