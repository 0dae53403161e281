import * as z from 'zod'
import type { App } from '../api/hono'
import { mount } from '../api/mount'
import { createdSome, ok } from '../api/operation'
import { BY_KEY, operationsOf, resourceOperations } from '../api/resource'
import * as schemas from './leaderboards.admin.schemas'
import {
  createLeaderboards,
  deleteLeaderboards,
  findLeaderboard,
  listLeaderboards,
  updateLeaderboards,
} from './leaderboards.admin.service'

const operations = resourceOperations({
  id: 'admin_leaderboards',
  path: '/leaderboards',
  one: 'a leaderboard',
  many: 'leaderboards',
  names: BY_KEY,
  parents: z.object({}),
  item: schemas.AdminLeaderboard,
  list: schemas.ListLeaderboardsResponse,
  create: schemas.CreateLeaderboardsRequest,
  created: schemas.CreateLeaderboardsResponse,
  update: schemas.UpdateLeaderboardsRequest,
  updated: schemas.UpdateLeaderboardsResponse,
  deleted: schemas.DeleteLeaderboardsResponse,
})

/** The operations that manage leaderboards, in the order of the OpenAPI document. */
export const leaderboardAdminOperations = operationsOf(operations)

/** Serves the operations that manage leaderboards. */
export function leaderboardAdminRoutes(app: App): void {
  mount(app, operations.list, {}, async (scope, { query }) => ok(await listLeaderboards(scope, query)))
  mount(app, operations.create, {}, async (scope, { body }) =>
    createdSome(await createLeaderboards(scope, body)),
  )
  mount(app, operations.update, {}, async (scope, { body }) => ok(await updateLeaderboards(scope, body)))
  mount(app, operations.delete, {}, async (scope, { query }) => ok(await deleteLeaderboards(scope, query)))
  mount(
    app,
    operations.get,
    { find: (scope, param) => findLeaderboard(scope, param('id')) },
    async (_scope, _input, found) => ok(found),
  )
}
