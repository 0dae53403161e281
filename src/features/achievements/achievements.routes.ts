import * as z from 'zod'
import { endpointsOf } from '../../api/endpoint'
import { readable, UserId } from '../../api/fields'
import { ok } from '../../api/operation'
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

/** The readable parts of a completion whose shape is wrong (G3). */
const ReadableCompletion = readable({ user: ReadableUser })

const CompletionSubject = z.object({ user: z.object({ id: z.unknown() }) })

const endpoint = endpointsOf('application')

/** The endpoints of achievements. */
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
      find: (scope, param) => findCompletable(scope, param('key')),
      check: async (scope, { json }, found) => {
        const { user } = ReadableCompletion.parse(json)
        const state =
          found.status === 'locked' && user.id !== undefined ? await stateOf(scope, user.id) : null
        return [...completionErrors(found, state), ...(await furtherUserErrors(scope, user, 'user.'))]
      },
    },
    (scope, { body }, found) => completeFor(scope, found, body),
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
    { subject: (_json, param) => param('id'), find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) =>
      ok(await listOfUser(scope, user, { includeIncomplete: query.includeIncomplete !== undefined })),
  ),
]
