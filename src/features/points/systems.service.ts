import { and, eq, isNull, type SQL } from 'drizzle-orm'
import type * as z from 'zod'
import {
  createEach,
  Draft,
  deleteEach,
  keysIn,
  type Names,
  revised,
  updateEach,
} from '../../api/resources/drafts.rules'
import { additions, removals } from '../../configuration/audit.rules'
import { configure } from '../../configuration/configuration'
import { deleteBoards } from '../../configuration/configuration.sql.ts'
import {
  type Boost,
  type Configuration,
  type Level,
  roomFor,
  type System,
  type Trigger,
} from '../../configuration/configuration.types'
import { withIds } from '../../configuration/references.rules'
import {
  pointsBoosts,
  pointsLevels,
  pointsSystems,
  pointsTriggers,
} from '../../configuration/tables/points.table'
import { leaderboard } from '../../leaderboards/leaderboard.resource'
import { upkeepOf } from '../../leaderboards/updates'
import { MOST_RESOURCES } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { inCopies } from '../../platform/databases/everywhere'
import { isTicking } from '../../rules/points/ticks.rules'
import { wakeTimekeeper } from '../../time/timekeeper'
import { boostEventStatements } from './boost-events'
import { type BoostUser, insertBoosts, ownersOf } from './boosts.repository'
import { boostFrom, newBoosts, stored, usersOfBoosts, zoneOf } from './boosts.service'
import { insertLevels, levelFrom, levelProblem } from './levels.service'
import { adminBoost, adminLevel, adminSystem, adminTrigger } from './points.admin.presenter'
import type {
  CreatedAdminPointsSystem,
  CreatePointsSystemRequestItem,
  UpdatePointsSystemRequestItem,
} from './points.admin.schemas'
import { nestedEntries, systemEntries } from './points.audit.presenter'
import { settleTicks } from './ticks'
import { triggerFrom, triggerProblem } from './triggers.rules'
import { insertTriggers } from './triggers.service'

type CreateItem = z.output<typeof CreatePointsSystemRequestItem>
type UpdateItem = z.output<typeof UpdatePointsSystemRequestItem>

const WHAT = 'a points system'

/** The system that an item asks for, with everything nested in it, or the reason why it can't be created. */
function systemFrom(
  scope: Scope,
  config: Configuration,
  people: ReadonlyMap<string, BoostUser>,
  item: CreateItem,
  made: readonly Boost[],
): System | string {
  const id = newId(scope.now)
  const triggers: Trigger[] = []
  const levels: Level[] = []
  const boosts: Boost[] = []
  for (const [index, asked] of (item.triggers ?? []).entries()) {
    const one = withIds(config, asked)
    if (typeof one === 'string') return `triggers.${index}: ${one}`
    const among = { config, taken: keysIn(triggers) }
    const trigger = triggerFrom(newId(scope.now), scope.now, id, one, among)
    const problem = triggerProblem(config, trigger, triggers)
    if (problem !== null) return `triggers.${index}: ${problem}`
    triggers.push(trigger)
  }
  for (const [index, one] of (item.levels ?? []).entries()) {
    const level = levelFrom(scope, id, one)
    const problem = levelProblem(level, levels)
    if (problem !== null) return `levels.${index}: ${problem}`
    levels.push(level)
  }
  for (const [index, one] of (item.boosts ?? []).entries()) {
    const boost = boostFrom(scope, config, people, id, one, [...made, ...boosts], new Set())
    if (typeof boost === 'string') return `boosts.${index}: ${boost}`
    boosts.push(boost)
  }
  return {
    id,
    created: scope.now,
    updated: scope.now,
    key: item.key,
    name: item.name,
    description: item.description ?? '',
    badgeUrl: item.badge?.url ?? null,
    maxPoints: item.maxPoints ?? null,
    levels,
    triggers,
    boosts,
  }
}

/**
 * Creates points systems with their levels, boosts and triggers. Each system is created whole or not at all
 * (G7).
 */
export async function createSystems(scope: Scope, items: readonly CreateItem[]) {
  const result = await configure(scope, async (config) => {
    const people = await usersOfBoosts(
      scope,
      items.flatMap(({ boosts }) => boosts ?? []),
    )
    const draft = new Draft(config.systems)
    const responses: z.input<typeof CreatedAdminPointsSystem>[] = []
    const { issues } = createEach(draft, items, (item) => {
      const made = draft.added.flatMap((one) => one.boosts)
      const system = systemFrom(scope, config, people, item, made)
      if (typeof system === 'string') return system
      const problem = systemProblem(system, draft.list)
      if (problem === null) responses.push(withNested(scope, people, system, item))
      return problem ?? system
    })
    const added = draft.added.flatMap((system) => system.boosts)
    const boosts = stored(scope, added, insertBoosts, () =>
      boostEventStatements(scope, config, draft.added, newBoosts(people, added)),
    )
    return {
      statements: [...insertSystems(scope, config, draft.added), ...boosts.statements],
      beside: boosts.beside,
      audit: [
        ...systemEntries(draft.changes),
        ...nestedEntries(draft.added, additions, scope.now, (boost) => zoneOf(people, boost)),
      ],
      // A user who was erased meanwhile gets no boost (U8).
      users: ownersOf(added, people),
      result: { created: responses, issues },
    }
  })
  const triggers = result.created.flatMap((system) => system.triggers ?? [])
  if (triggers.some(isTicking)) await wakeTimekeeper(scope)
  return result
}

function withNested(
  scope: Scope,
  people: ReadonlyMap<string, BoostUser>,
  system: System,
  item: CreateItem,
): z.input<typeof CreatedAdminPointsSystem> {
  return {
    ...adminSystem(system),
    ...(item.levels && { levels: system.levels.map(adminLevel) }),
    ...(item.boosts && {
      boosts: system.boosts.map((boost) => adminBoost(boost, scope.now, zoneOf(people, boost))),
    }),
    ...(item.triggers && { triggers: system.triggers.map(adminTrigger) }),
  }
}

/** Why a system can't be among the others, or null: its key is taken, or there are too many of something. */
function systemProblem(system: System, others: readonly System[]): string | null {
  if (others.some(({ key }) => key === system.key)) {
    return `The key "${system.key}" is taken by another points system. Choose another key.`
  }
  const systems = [...others, system]
  if (systems.length > MOST_RESOURCES) {
    return `There are at most ${MOST_RESOURCES} points systems. Delete some first.`
  }
  const kinds = ['levels', 'triggers', 'boosts'] as const
  return kinds.map((kind) => roomFor(kind, { systems })(0)).find((problem) => problem !== null) ?? null
}

function insertSystems(scope: Scope, config: Configuration, systems: readonly System[]): Statement[] {
  const { db, tenant } = scope
  const rows = systems.map(({ levels: _levels, triggers: _triggers, boosts: _boosts, ...columns }) => ({
    ...columns,
    tenantId: tenant.id,
  }))
  return [
    ...db.inserts(pointsSystems, rows),
    ...insertLevels(
      scope,
      systems.flatMap(({ levels }) => levels),
    ),
    ...insertTriggers(
      scope,
      config,
      systems.flatMap(({ triggers }) => triggers),
    ),
  ]
}

/** Changes points systems (G7). */
export function updateSystems(scope: Scope, items: readonly UpdateItem[]) {
  const { db, tenant } = scope
  return configure(scope, (config) => {
    const draft = new Draft(config.systems)
    const { updated, issues } = updateEach(
      draft,
      items,
      WHAT,
      (system, item) => patched(system, item, scope),
      { fixed: ['key'] },
    )
    const statements = draft.changed.map(({ id, name, description, badgeUrl, maxPoints, updated }) =>
      db.built(
        db.orm
          .update(pointsSystems)
          .set({ name, description, badgeUrl, maxPoints, updated })
          .where(and(eq(pointsSystems.tenantId, tenant.id), eq(pointsSystems.id, id))),
      ),
    )
    const audit = systemEntries(draft.changes)
    return { statements, audit, result: { updated: updated.map(adminSystem), issues } }
  })
}

function patched(system: System, item: UpdateItem, { now }: Scope): System {
  const { name = system.name, description = system.description } = item
  const badgeUrl = item.badge === undefined ? system.badgeUrl : (item.badge?.url ?? null)
  const maxPoints = item.maxPoints === undefined ? system.maxPoints : item.maxPoints
  return revised(system, { ...system, name, description, badgeUrl, maxPoints }, now)
}

/**
 * Deletes points systems with their levels, boosts, triggers and leaderboards (G9). Awards stay in the
 * history of users.
 */
export async function deleteSystems(scope: Scope, names: Names) {
  const { result, after } = await configure(scope, async (config) => {
    const draft = new Draft(config.systems)
    const result = deleteEach(draft, names, WHAT)
    const removed = config.systems.filter(({ id }) => draft.find(id) === undefined)
    const guards = await settleTicks(
      scope,
      removed.flatMap(({ triggers }) => triggers),
    )
    const boards = config.leaderboards.filter(
      ({ systemId }) => systemId !== null && draft.removed.includes(systemId),
    )
    const due = upkeepOf(
      scope,
      boards.map(({ id }) => id),
    )
    const statements = [
      ...draft.removed.flatMap((id) => deleteSystem(scope, id)),
      ...deleteBoards(scope, 'systemId', draft.removed),
      ...due.statements,
    ]
    const audit = [
      ...systemEntries(draft.changes),
      ...nestedEntries(removed, removals, scope.now, () => null),
      ...leaderboard.entries(removals(boards), { now: scope.now, facts: undefined }),
    ]
    return { statements, audit, guards, result: { result, after: due.after } }
  })
  await after?.()
  return result
}

function deleteSystem({ db, tenant, now }: Scope, id: string): Statement[] {
  const set = { deleted: now }
  const nested = (
    table: typeof pointsLevels | typeof pointsTriggers | typeof pointsBoosts,
  ): SQL | undefined => and(eq(table.tenantId, tenant.id), eq(table.systemId, id), isNull(table.deleted))
  return [
    db.built(
      db.orm
        .update(pointsSystems)
        .set(set)
        .where(and(eq(pointsSystems.tenantId, tenant.id), eq(pointsSystems.id, id))),
    ),
    db.built(db.orm.update(pointsLevels).set(set).where(nested(pointsLevels))),
    db.built(db.orm.update(pointsTriggers).set(set).where(nested(pointsTriggers))),
    db.built(db.orm.update(pointsBoosts).set(set).where(nested(pointsBoosts))),
    inCopies('deleteOwnBoostsOfSystem', tenant.id, id, now),
  ]
}
