import * as z from 'zod'
import { UserId } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import {
  BulkStreakResponse,
  StreakQuery,
  StreakRankingsQuery,
  StreakRankingsResponse,
  StreakResponse,
  StreaksQuery,
} from '../../api/shapes/streak.schemas'
import type { Scope } from '../../platform/context'
import { findUser } from '../../store/find-user.service'
import { rankStreaks } from './rankings.service'
import { streaksOf, userStreak } from './streaks.service'

export const usersStreak = operation({
  id: 'users_streak',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/streak',
  summary: "Get a user's streak",
  params: z.object({ id: UserId }),
  query: StreakQuery,
  responses: { 200: { description: 'The current streak.', body: StreakResponse } },
})

export const streaksList = operation({
  id: 'streaks_list',
  surface: 'application',
  method: 'get',
  path: '/streaks',
  summary: 'Get the streak lengths of several users',
  query: StreaksQuery,
  responses: { 200: { description: 'The longest first, then by user id.', body: BulkStreakResponse } },
})

/** Not in the current contract. Older client libraries use it. */
export const streaksRankings = operation({
  id: 'streaks_rankings',
  surface: 'application',
  method: 'get',
  path: '/streaks/rankings',
  summary: 'Get the users with the longest streaks',
  query: StreakRankingsQuery,
  responses: { 200: { description: 'The longest first, then by user id.', body: StreakRankingsResponse } },
})

/** Serves users' streaks. */
export function streakRoutes(app: App): void {
  mount(
    app,
    usersStreak,
    {
      subject: (_json, param) => param('id'),
      find: (scope: Scope, param) => findUser(scope, param('id')),
    },
    async (scope, { query }, user) => ok(await userStreak(scope, user, query.historyPeriods)),
  )
  mount(app, streaksList, {}, async (scope, { query }) => ok(await streaksOf(scope, query.userIds)))
  mount(app, streaksRankings, {}, async (scope, { query }) => ok(await rankStreaks(scope, query)))
}
