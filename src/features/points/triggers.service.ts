import { and, eq, isNull, sql } from 'drizzle-orm'
import type * as z from 'zod'
import {
  createEach,
  Draft,
  deleteEach,
  keysIn,
  type Names,
  updateEach,
} from '../../api/resources/drafts.rules'
import { presentSystem } from '../../api/resources/resource'
import { triggerResponse } from '../../api/shapes/points'
import { configure } from '../../configuration/configuration'
import {
  type Achievement,
  type Configuration,
  type Metric,
  roomFor,
  type Trigger,
} from '../../configuration/configuration.types'
import { freeKeys } from '../../configuration/free-keys.repository'
import { withIds } from '../../configuration/references.rules'
import { pointsTriggers, triggerVersions } from '../../configuration/tables/points.table'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { isTicking, nextTick } from '../../rules/points/ticks.rules'
import { wakeTimekeeper } from '../../time/timekeeper'
import { deleteNested } from './nested.repository'
import { adminTrigger } from './points.admin.presenter'
import type { CreatePointsTriggerRequestItem, PatchPointsTriggerRequestItem } from './points.admin.schemas'
import { triggerEntries } from './points.audit.presenter'
import { scheduleTicks, settleTicks } from './ticks'
import { triggerFrom, triggerPatched, triggerProblem } from './triggers.rules'

type CreateItem = z.output<typeof CreatePointsTriggerRequestItem>
type PatchItem = z.output<typeof PatchPointsTriggerRequestItem>

const WHAT = 'a trigger of this points system'

/**
 * Statements that store new triggers, the form in which they are shown (P10), and the time of their first
 * tick (P4).
 */
export function insertTriggers(
  scope: Scope,
  config: Configuration,
  triggers: readonly Trigger[],
): Statement[] {
  const { db, tenant } = scope
  const rows = triggers.map((trigger) => ({ ...trigger, tenantId: tenant.id }))
  return [
    ...db.inserts(pointsTriggers, rows),
    ...rememberVersions(scope, config, triggers),
    ...scheduleTicks(scope, triggers),
  ]
}

function updateTrigger({ db, tenant }: Scope, trigger: Trigger): Statement {
  const { id, ...columns } = trigger
  return db.built(
    db.orm
      .update(pointsTriggers)
      .set(columns)
      .where(and(eq(pointsTriggers.tenantId, tenant.id), eq(pointsTriggers.id, id))),
  )
}

/** Keeps the form of triggers from now on, for the awards that they will make (P10). */
function rememberVersions({ db }: Scope, config: Configuration, triggers: readonly Trigger[]): Statement[] {
  const rows = triggers.map((trigger) => ({
    triggerId: trigger.id,
    version: trigger.version,
    document: JSON.stringify(triggerResponse(config, trigger)),
  }))
  return db.inserts(triggerVersions, rows)
}

/** Statements that give the triggers of a renamed metric their new form (P10). */
export function retitledTriggers(scope: Scope, config: Configuration, renamed: Metric): Statement[] {
  const metrics = config.metrics.map((metric) => (metric.id === renamed.id ? renamed : metric))
  return retitled(scope, { ...config, metrics }, 'metricId', renamed.id)
}

/** Statements that give the triggers of a renamed achievement their new form (P10). */
export function retitledByAchievement(
  scope: Scope,
  config: Configuration,
  renamed: Achievement,
): Statement[] {
  const achievements = config.achievements.map((one) => (one.id === renamed.id ? renamed : one))
  return retitled(scope, { ...config, achievements }, 'achievementId', renamed.id)
}

/** The new form of triggers of a renamed metric or achievement. `config` has the new name. */
function retitled(
  scope: Scope,
  config: Configuration,
  by: 'metricId' | 'achievementId',
  id: string,
): Statement[] {
  const { db, tenant } = scope
  const triggers = config.systems
    .flatMap((system) => system.triggers)
    .filter((trigger) => trigger[by] === id)
    .map((trigger) => ({ ...trigger, version: trigger.version + 1 }))
  if (triggers.length === 0) return []
  const its = and(
    eq(pointsTriggers.tenantId, tenant.id),
    eq(pointsTriggers[by], id),
    isNull(pointsTriggers.deleted),
  )
  return [
    db.built(
      db.orm
        .update(pointsTriggers)
        .set({ version: sql`${pointsTriggers.version} + 1` })
        .where(its),
    ),
    ...rememberVersions(scope, config, triggers),
  ]
}

/** Creates triggers (G7, P3). */
export async function createTriggers(scope: Scope, systemId: string, items: readonly CreateItem[]) {
  const result = await configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).triggers)
    const room = roomFor('triggers', config)
    const { created, issues } = createEach(draft, items, (asked) => {
      const item = withIds(config, asked)
      if (typeof item === 'string') return item
      const taken = keysIn(draft.list)
      const trigger = triggerFrom(newId(scope.now), scope.now, systemId, item, { config, taken })
      return room(draft.added.length + 1) ?? triggerProblem(config, trigger, draft.list) ?? trigger
    })
    return {
      statements: insertTriggers(scope, config, draft.added),
      audit: triggerEntries(draft.changes),
      result: { created: created.map(adminTrigger), issues },
    }
  })
  if (result.created.some(isTicking)) await wakeTimekeeper(scope)
  return result
}

/** Changes triggers (G7). */
export async function updateTriggers(scope: Scope, systemId: string, items: readonly PatchItem[]) {
  const result = await configure(scope, async (config) => {
    const before = presentSystem(config, systemId).triggers
    const draft = new Draft(before)
    const { updated, issues } = updateEach(draft, items, WHAT, (trigger, asked) => {
      const item = withIds(config, asked)
      if (typeof item === 'string') return item
      const next = triggerPatched(trigger, item, scope.now, newId(scope.now))
      return triggerProblem(config, next, draft.list) ?? next
    })
    const { changed } = draft
    // To compare anchors is not enough. If the interval changes at the moment of the activation, the anchor
    // stays the same.
    const firstTicks = new Map(before.map((trigger) => [trigger.id, nextTick(trigger, 0)]))
    const statements = [
      ...freeKeys(scope, pointsTriggers, before, changed),
      ...changed.map((trigger) => updateTrigger(scope, trigger)),
      ...rememberVersions(scope, config, changed),
      ...scheduleTicks(
        scope,
        changed.filter((trigger) => nextTick(trigger, 0) !== firstTicks.get(trigger.id)),
      ),
    ]
    const ids = changed.map(({ id }) => id)
    const guards = await settleTicks(scope, among(before, ids))
    const audit = triggerEntries(draft.changes)
    return { statements, audit, guards, result: { updated: updated.map(adminTrigger), issues } }
  })
  if (result.updated.some(isTicking)) await wakeTimekeeper(scope)
  return result
}

/** Deletes triggers (G7, G9). */
export function deleteTriggers(scope: Scope, systemId: string, names: Names) {
  return configure(scope, async (config) => {
    const before = presentSystem(config, systemId).triggers
    const draft = new Draft(before)
    const result = deleteEach(draft, names, WHAT)
    const guards = await settleTicks(scope, among(before, draft.removed))
    const statements = deleteNested(scope, pointsTriggers, draft.removed)
    return { statements, audit: triggerEntries(draft.changes), guards, result }
  })
}

function among(triggers: readonly Trigger[], ids: readonly string[]): Trigger[] {
  const named = new Set(ids)
  return triggers.filter(({ id }) => named.has(id))
}
