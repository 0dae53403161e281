import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { ok, operation } from '../../api/operation'
import { NEXT_LINK } from '../../api/queries'
import { findUser } from '../../store/users/find-user'
import { explain, findExplained } from './award-explanation'
import {
  AwardExplanation,
  AwardExplanationParams,
  Timeline,
  TimelineParams,
  TimelineQuery,
} from './explanations'
import { timeline } from './timeline'

const adminUsersExplainAward = operation({
  id: 'admin_users_explain_award',
  surface: 'admin',
  method: 'get',
  path: '/users/{id}/points/{key}/awards/{awardId}',
  summary: 'Explain an award of points',
  params: AwardExplanationParams,
  responses: { 200: { description: 'The award, and why it was made.', body: AwardExplanation } },
})

const adminUsersTimeline = operation({
  id: 'admin_users_timeline',
  surface: 'admin',
  method: 'get',
  path: '/users/{id}/timeline',
  summary: 'List everything that happened to a user, newest first',
  params: TimelineParams,
  query: TimelineQuery,
  responses: {
    200: {
      description: 'The page, newest first.',
      body: Timeline,
      optionalHeaders: { Link: NEXT_LINK },
    },
  },
})

/** The operations of this module, in the order of the OpenAPI document. */
export const explanationOperations = [adminUsersExplainAward, adminUsersTimeline]

/** Serves explanations for support (X). */
export function explanationRoutes(app: App): void {
  mount(
    app,
    adminUsersExplainAward,
    {
      find: (scope, param) =>
        findExplained(scope, { id: param('id'), key: param('key'), awardId: param('awardId') }),
    },
    async (scope, _input, found) => ok(await explain(scope, found)),
  )
  mount(
    app,
    adminUsersTimeline,
    { find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => {
      const { entries, next } = await timeline(scope, user, query)
      return { ...ok([...entries]), ...(next !== null && { headers: { Link: next } }) }
    },
  )
}
