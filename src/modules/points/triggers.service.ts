import { and, eq } from 'drizzle-orm'
import type { z } from 'zod'
import type { Scope } from '../../context'
import { newId } from '../../shared/ids'
import type { Configuration, Metric, Trigger } from '../configuration/configuration'
import { configure } from '../configuration/configuration.service'
import { Draft, Issues } from '../configuration/items'
import { presentSystem } from './lookup'
import { adminTrigger } from './points.admin.answers'
import type { CreatePointsTriggerRequestItem, PatchPointsTriggerRequestItem } from './points.admin.schemas'
import { triggerAnswer } from './points.answers'
import { pointsTriggers, triggerVersions } from './points.table'
import { crowdObjection, triggerFrom, triggerObjection, triggerPatched } from './triggers.rules'

type CreateItem = z.output<typeof CreatePointsTriggerRequestItem>
type PatchItem = z.output<typeof PatchPointsTriggerRequestItem>

/** What issues call a trigger. */
const WHAT = 'a trigger of this points system'

/** Stores a new trigger, and how it is shown (P10). */
export function insertTrigger(scope: Scope, config: Configuration, trigger: Trigger): D1PreparedStatement[] {
  const { db, tenant } = scope
  return [
    db.built(db.orm.insert(pointsTriggers).values({ ...columnsOf(trigger), tenantId: tenant.id })),
    rememberVersion(scope, config, trigger),
  ]
}

const columnsOf = (trigger: Trigger) => ({
  ...trigger,
  userAttributes: JSON.stringify(trigger.userAttributes),
  eventAttributes: JSON.stringify(trigger.eventAttributes),
})

function updateTrigger(scope: Scope, config: Configuration, trigger: Trigger): D1PreparedStatement[] {
  const { db, tenant } = scope
  const { id, ...columns } = columnsOf(trigger)
  return [
    db.built(
      db.orm
        .update(pointsTriggers)
        .set(columns)
        .where(and(eq(pointsTriggers.tenantId, tenant.id), eq(pointsTriggers.id, id))),
    ),
    rememberVersion(scope, config, trigger),
  ]
}

/** Keeps the form in which a trigger is shown from now on, for the awards that it will make (P10). */
function rememberVersion({ db }: Scope, config: Configuration, trigger: Trigger): D1PreparedStatement {
  const document = JSON.stringify(triggerAnswer(config, trigger))
  return db.built(
    db.orm.insert(triggerVersions).values({ triggerId: trigger.id, version: trigger.version, document }),
  )
}

/** Gives the triggers of a metric that was renamed their new form (P10). */
export function retitledTriggers(
  scope: Scope,
  config: Configuration,
  renamed: Metric,
): D1PreparedStatement[] {
  const next = {
    ...config,
    metrics: config.metrics.map((metric) => (metric.id === renamed.id ? renamed : metric)),
  }
  return config.systems
    .flatMap(({ triggers }) => triggers)
    .filter(({ metricId }) => metricId === renamed.id)
    .flatMap((trigger) => updateTrigger(scope, next, { ...trigger, version: trigger.version + 1 }))
}

/** Creates triggers (G7, P3). */
export function createTriggers(scope: Scope, systemId: string, items: readonly CreateItem[]) {
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).triggers)
    const issues = new Issues()
    for (const [index, item] of items.entries()) {
      const trigger = triggerFrom(newId(scope.now), scope.now, systemId, item)
      const objection = crowdObjection(draft.list.length) ?? triggerObjection(config, trigger)
      if (objection === null) draft.put(trigger)
      else issues.error({ index }, objection)
    }
    const statements = draft.added.flatMap((trigger) => insertTrigger(scope, config, trigger))
    return { statements, result: { created: draft.added.map(adminTrigger), issues: issues.list } }
  })
}

/** Changes triggers (G7). */
export function updateTriggers(scope: Scope, systemId: string, items: readonly PatchItem[]) {
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).triggers)
    const issues = new Issues()
    const updated: Trigger[] = []
    for (const item of items) {
      const trigger = draft.find(item.id)
      if (trigger === undefined) {
        issues.unknown(item.id, WHAT)
        continue
      }
      const next = triggerPatched(trigger, item, scope.now)
      const objection = triggerObjection(config, next)
      if (objection === null) {
        draft.put(next)
        updated.push(next)
      } else issues.error({ id: item.id }, objection)
    }
    const statements = draft.changed.flatMap((trigger) => updateTrigger(scope, config, trigger))
    return { statements, result: { updated: updated.map(adminTrigger), issues: issues.list } }
  })
}

/** Deletes triggers (G7, G9). */
export function deleteTriggers(scope: Scope, systemId: string, ids: readonly string[]) {
  const { db, tenant, now } = scope
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).triggers)
    const issues = new Issues()
    for (const id of ids) {
      if (draft.find(id) === undefined) issues.unknown(id, WHAT)
      draft.remove(id)
    }
    const statements = draft.removed.map((id) =>
      db.built(
        db.orm
          .update(pointsTriggers)
          .set({ deleted: now })
          .where(and(eq(pointsTriggers.tenantId, tenant.id), eq(pointsTriggers.id, id))),
      ),
    )
    return { statements, result: { deleted: draft.removed.map((id) => ({ id })), issues: issues.list } }
  })
}
