import { endpointsOf } from '../../api/endpoint'
import { ok } from '../../api/operation'
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

const endpoint = endpointsOf('admin')

/** The endpoints of explanations for support (X). */
export const explanationEndpoints = [
  endpoint(
    'GET /users/{id}/points/{key}/awards/{awardId}',
    {
      id: 'admin_users_explain_award',
      summary: 'Explain an award of points',
      params: AwardExplanationParams,
      responses: { 200: { description: 'The award, and why it was made.', body: AwardExplanation } },
    },
    {
      find: (scope, param) =>
        findExplained(scope, { id: param('id'), key: param('key'), awardId: param('awardId') }),
    },
    async (scope, _input, found) => ok(await explain(scope, found)),
  ),
  endpoint(
    'GET /users/{id}/timeline',
    {
      id: 'admin_users_timeline',
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
    },
    { find: (scope, param) => findUser(scope, param('id')) },
    async (scope, { query }, user) => {
      const { entries, next } = await timeline(scope, user, query)
      return { ...ok([...entries]), ...(next !== null && { headers: { Link: next } }) }
    },
  ),
]
