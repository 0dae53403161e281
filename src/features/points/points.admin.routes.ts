import * as z from 'zod'
import { IdOrKey } from '../../api/fields'
import type { App } from '../../api/hono'
import { mount } from '../../api/mount'
import { createdSome, ok } from '../../api/operation'
import { BY_KEY, operationsOf, resourceOperations } from '../../api/resource'
import { byIdOrKey, page } from '../../api/resources/drafts.rules'
import { presentSystem } from '../../api/resources/resource'
import { configurationOf } from '../../configuration/configuration'
import type { Scope } from '../../platform/context'
import { createBoosts, deleteBoosts, getBoost, listBoosts, updateBoosts } from './boosts.service'
import { createLevels, deleteLevels, updateLevels } from './levels.service'
import { adminLevel, adminSystem, adminTrigger } from './points.admin.presenter'
import * as schemas from './points.admin.schemas'
import { createSystems, deleteSystems, updateSystems } from './systems.service'
import { createTriggers, deleteTriggers, updateTriggers } from './triggers.service'

const inSystem = z.object({ systemId: IdOrKey })

export const systems = resourceOperations({
  id: 'admin_points_systems',
  path: '/points',
  one: 'a points system',
  many: 'points systems',
  names: BY_KEY,
  parents: z.object({}),
  item: schemas.AdminPointsSystem,
  list: schemas.ListPointsSystemsResponse,
  create: schemas.CreatePointsSystemsRequest,
  created: schemas.CreatePointsSystemsResponse,
  update: schemas.UpdatePointsSystemsRequest,
  updated: schemas.UpdatePointsSystemsResponse,
  deleted: schemas.DeletePointsSystemsResponse,
})

export const levels = resourceOperations({
  id: 'admin_points_levels',
  path: '/points/{systemId}/levels',
  one: 'a level',
  many: 'levels',
  names: BY_KEY,
  parents: inSystem,
  item: schemas.AdminPointsLevel,
  list: schemas.ListPointsLevelsResponse,
  create: schemas.CreatePointsLevelsRequest,
  created: schemas.CreatePointsLevelsResponse,
  update: schemas.PatchPointsLevelsRequest,
  updated: schemas.PatchPointsLevelsResponse,
  deleted: schemas.DeletePointsLevelsResponse,
})

export const triggers = resourceOperations({
  id: 'admin_points_triggers',
  path: '/points/{systemId}/triggers',
  one: 'a trigger',
  many: 'triggers',
  names: BY_KEY,
  parents: inSystem,
  item: schemas.AdminPointsTrigger,
  list: schemas.ListPointsTriggersResponse,
  create: schemas.CreatePointsTriggersRequest,
  created: schemas.CreatePointsTriggersResponse,
  update: schemas.PatchPointsTriggersRequest,
  updated: schemas.PatchPointsTriggersResponse,
  deleted: schemas.DeletePointsTriggersResponse,
})

export const boosts = resourceOperations({
  id: 'admin_points_boosts',
  path: '/points/{systemId}/boosts',
  one: 'a boost',
  many: 'boosts',
  names: BY_KEY,
  parents: inSystem,
  item: schemas.AdminPointsBoost,
  list: schemas.ListPointsBoostsResponse,
  create: schemas.CreatePointsBoostsRequest,
  created: schemas.CreatePointsBoostsResponse,
  update: schemas.PatchPointsBoostsRequest,
  updated: schemas.PatchPointsBoostsResponse,
  deleted: schemas.DeletePointsBoostsResponse,
})

/** The operations that configure points, in the order of the OpenAPI document. */
export const pointsAdminOperations = [
  ...operationsOf(systems),
  ...operationsOf(levels),
  ...operationsOf(triggers),
  ...operationsOf(boosts),
]

type Param = (name: string) => string

const find = async (scope: Scope, param: Param) =>
  presentSystem(await configurationOf(scope), param('systemId'))

/** Serves the operations that configure points. */
export function pointsAdminRoutes(app: App): void {
  mountSystems(app)
  mountLevels(app)
  mountTriggers(app)
  mountBoosts(app)
}

function mountSystems(app: App): void {
  mount(app, systems.list, {}, async (scope, { query }) => {
    const config = await configurationOf(scope)
    return ok(page(config.systems, query).map(adminSystem))
  })
  mount(app, systems.create, {}, async (scope, { body }) => createdSome(await createSystems(scope, body)))
  mount(app, systems.update, {}, async (scope, { body }) => ok(await updateSystems(scope, body)))
  mount(app, systems.delete, {}, async (scope, { query }) => ok(await deleteSystems(scope, query)))
  mount(
    app,
    systems.get,
    { find: async (scope, param) => presentSystem(await configurationOf(scope), param('id')) },
    async (_scope, _input, system) => ok(adminSystem(system)),
  )
}

function mountLevels(app: App): void {
  mount(app, levels.list, { find }, async (_scope, { query }, system) =>
    ok(page(system.levels, query).map(adminLevel)),
  )
  mount(app, levels.create, { find }, async (scope, { body }, { id }) =>
    createdSome(await createLevels(scope, id, body)),
  )
  mount(app, levels.update, { find }, async (scope, { body }, { id }) =>
    ok(await updateLevels(scope, id, body)),
  )
  mount(app, levels.delete, { find }, async (scope, { query }, { id }) =>
    ok(await deleteLevels(scope, id, query)),
  )
  mount(
    app,
    levels.get,
    { find: async (scope, param) => byIdOrKey((await find(scope, param)).levels, param('id'), 'This level') },
    async (_scope, _input, level) => ok(adminLevel(level)),
  )
}

function mountTriggers(app: App): void {
  mount(app, triggers.list, { find }, async (_scope, { query }, system) =>
    ok(page(system.triggers, query).map(adminTrigger)),
  )
  mount(app, triggers.create, { find }, async (scope, { body }, { id }) =>
    createdSome(await createTriggers(scope, id, body)),
  )
  mount(app, triggers.update, { find }, async (scope, { body }, { id }) =>
    ok(await updateTriggers(scope, id, body)),
  )
  mount(app, triggers.delete, { find }, async (scope, { query }, { id }) =>
    ok(await deleteTriggers(scope, id, query)),
  )
  mount(
    app,
    triggers.get,
    {
      find: async (scope, param) =>
        byIdOrKey((await find(scope, param)).triggers, param('id'), 'This trigger'),
    },
    async (_scope, _input, trigger) => ok(adminTrigger(trigger)),
  )
}

function mountBoosts(app: App): void {
  mount(app, boosts.list, { find }, async (scope, { query }, { id }) =>
    ok(await listBoosts(scope, id, query)),
  )
  mount(app, boosts.create, { find }, async (scope, { body }, { id }) =>
    createdSome(await createBoosts(scope, id, body)),
  )
  mount(app, boosts.update, { find }, async (scope, { body }, { id }) =>
    ok(await updateBoosts(scope, id, body)),
  )
  mount(app, boosts.delete, { find }, async (scope, { query }, { id }) =>
    ok(await deleteBoosts(scope, id, query)),
  )
  mount(
    app,
    boosts.get,
    { find: async (scope, param) => getBoost(scope, (await find(scope, param)).id, param('id')) },
    async (_scope, _input, boost) => ok(boost),
  )
}
