import * as z from 'zod'
import { readable, UserId } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import {
  AchievementCompletionRequest,
  AchievementCompletionResponse,
  AchievementsQuery,
  AchievementsResponse,
  UserAchievementsQuery,
  UserAchievementsResponse,
} from '../../api/shapes/achievements'
import { ReadableUser } from '../../api/shapes/users'
import { completionErrors } from '../../rules/achievements.rules'
import { findUser, furtherUserErrors, stateOf } from '../../store/users/find-user'
import { WARNING_HEADER } from '../events/events.routes'
import { completeFor, findCompletable, listActive, listOfUser } from './achievements'

export const achievementsAll = operation({
  id: 'achievements_all',
  surface: 'application',
  method: 'get',
  path: '/achievements',
  summary: 'List the active achievements',
  query: AchievementsQuery,
  responses: { 200: { description: 'The achievements, in order of creation.', body: AchievementsResponse } },
})

export const achievementsComplete = operation({
  id: 'achievements_complete',
  surface: 'application',
  method: 'post',
  path: '/achievements/{key}/complete',
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
})

export const usersAchievements = operation({
  id: 'users_achievements',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/achievements',
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
})

/** The readable parts of a completion whose shape is wrong (G3). */
const ReadableCompletion = readable({ user: ReadableUser })

const CompletionSubject = z.object({ user: z.object({ id: z.unknown() }) })

/** Serves the operations of the application interface on achievements. */
export function achievementRoutes(app: App): void {
  mount(app, achievementsAll, {}, async (scope, { query }) =>
    ok(await listActive(scope, query.userAttributes)),
  )
  mount(
    app,
    achievementsComplete,
    {
      subject: (json) => CompletionSubject.safeParse(json).data?.user.id,
      find: (scope, param) => findCompletable(scope, param('key')),
      check: async (scope, { json }, found) => {
        const { user } = ReadableCompletion.parse(json)
        const state =
          found.status === 'locked' && user.id !== undefined ? await stateOf(scope, user.id) : null
        return [...completionErrors(found, state), ...(await furtherUserErrors(scope, user, 'user.'))]
      },
    },
    (scope, { body }, found) => completeFor(scope, found, body),
  )
  mount(
    app,
    usersAchievements,
    { subject: (_json, param) => param('id'), find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) =>
      ok(await listOfUser(scope, user, { includeIncomplete: query.includeIncomplete !== undefined })),
  )
}
