import * as z from 'zod'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { createdSome, ok } from '../../api/operation'
import { BY_KEY, operationsOf, resourceOperations } from '../../api/resource'
import * as schemas from './achievements.admin.schemas'
import {
  createAchievements,
  deleteAchievements,
  findAchievement,
  listAchievements,
  updateAchievements,
} from './achievements.admin.service'

const operations = resourceOperations({
  id: 'admin_achievements',
  path: '/achievements',
  one: 'an achievement',
  many: 'achievements',
  names: BY_KEY,
  parents: z.object({}),
  item: schemas.AdminAchievement,
  list: schemas.ListAchievementsResponse,
  create: schemas.CreateAchievementsRequest,
  created: schemas.CreateAchievementsResponse,
  update: schemas.UpdateAchievementsRequest,
  updated: schemas.UpdateAchievementsResponse,
  deleted: schemas.DeleteAchievementsResponse,
})

/** The operations that manage achievements, in the order of the OpenAPI document. */
export const achievementAdminOperations = operationsOf(operations)

/** Serves the operations that manage achievements. */
export function achievementAdminRoutes(app: App): void {
  mount(app, operations.list, {}, async (scope, { query }) => ok(await listAchievements(scope, query)))
  mount(app, operations.create, {}, async (scope, { body }) =>
    createdSome(await createAchievements(scope, body)),
  )
  mount(app, operations.update, {}, async (scope, { body }) => ok(await updateAchievements(scope, body)))
  mount(app, operations.delete, {}, async (scope, { query }) => ok(await deleteAchievements(scope, query)))
  mount(
    app,
    operations.get,
    { find: (scope, param) => findAchievement(scope, param('id')) },
    async (_scope, _input, found) => ok(found),
  )
}
