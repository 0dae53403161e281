import * as z from 'zod'
import { UserId } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import { UserOverviewResponse } from './overview.schemas'
import { findOverview, overviewResponse } from './overview.service'

/** Not in the contract. */
export const usersOverview = operation({
  id: 'users_overview',
  surface: 'application',
  method: 'get',
  path: '/users/{id}/overview',
  summary: 'Get a user with metrics, points, streak, achievements and leaderboards',
  params: z.object({ id: UserId }),
  responses: { 200: { description: 'The user as of now.', body: UserOverviewResponse } },
})

/** Serves the overview of a user. */
export function overviewRoutes(app: App): void {
  mount(
    app,
    usersOverview,
    { subject: (_json, param) => param('id'), find: (scope, param) => findOverview(scope, param('id')) },
    async (scope, _input, found) => ok(await overviewResponse(scope, found)),
  )
}
