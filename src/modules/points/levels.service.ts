import { and, eq } from 'drizzle-orm'
import type { z } from 'zod'
import type { Scope } from '../../context'
import { newId } from '../../shared/ids'
import { type Level, roomFor } from '../configuration/configuration'
import { configure } from '../configuration/configuration.service'
import { Draft, Issues, revised } from '../configuration/items'
import { groupsOf } from '../configuration/items.repository'
import { presentSystem } from './lookup'
import { adminLevel } from './points.admin.answers'
import type { CreatePointsLevelRequestItem, PatchPointsLevelRequestItem } from './points.admin.schemas'
import { pointsLevels } from './points.table'

type CreateItem = z.output<typeof CreatePointsLevelRequestItem>
type PatchItem = z.output<typeof PatchPointsLevelRequestItem>

/** What issues call a level. */
const WHAT = 'a level of this points system'

/** The level that an item asks for. */
export function levelFrom(scope: Scope, systemId: string, item: CreateItem): Level {
  return {
    id: newId(scope.now),
    created: scope.now,
    updated: scope.now,
    systemId,
    key: item.key,
    name: item.name,
    description: item.description ?? '',
    badgeUrl: item.badge?.url ?? null,
    points: item.points,
  }
}

/** Why a level can't stand among those of its system, or null (P9, G5). */
export function levelObjection(level: Level, others: readonly Level[]): string | null {
  for (const other of others) {
    if (other.id === level.id) continue
    if (other.key === level.key)
      return `The key "${level.key}" is taken by another level. Choose another key.`
    if (other.points === level.points) {
      return `The level "${other.key}" has ${level.points} points already. Choose other points.`
    }
  }
  return null
}

/** The columns that an insert fills. */
const COLUMNS = 10

/** Stores new levels. */
export function insertLevels({ db, tenant }: Scope, levels: readonly Level[]): D1PreparedStatement[] {
  const rows = levels.map((level) => ({ ...level, tenantId: tenant.id }))
  return groupsOf(rows, COLUMNS).map((group) => db.built(db.orm.insert(pointsLevels).values(group)))
}

/** Creates levels (G7). */
export function createLevels(scope: Scope, systemId: string, items: readonly CreateItem[]) {
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).levels)
    const issues = new Issues()
    const room = roomFor('levels', config)
    for (const [index, item] of items.entries()) {
      const level = levelFrom(scope, systemId, item)
      const objection = room(draft.added.length + 1) ?? levelObjection(level, draft.list)
      if (objection === null) draft.put(level)
      else issues.error({ index }, objection)
    }
    const statements = insertLevels(scope, draft.added)
    return { statements, result: { created: draft.added.map(adminLevel), issues: issues.list } }
  })
}

/** Changes levels (G7). */
export function updateLevels(scope: Scope, systemId: string, items: readonly PatchItem[]) {
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).levels)
    const issues = new Issues()
    const updated: Level[] = []
    for (const item of items) {
      const level = draft.find(item.id)
      if (level === undefined) {
        issues.unknown(item.id, WHAT)
        continue
      }
      const next = patched(level, item, scope)
      const objection = levelObjection(next, draft.list)
      if (objection === null) {
        draft.put(next)
        updated.push(next)
      } else issues.error({ id: item.id }, objection)
    }
    const statements = draft.changed.map((level) => updateLevel(scope, level))
    return { statements, result: { updated: updated.map(adminLevel), issues: issues.list } }
  })
}

function patched(level: Level, item: PatchItem, { now }: Scope): Level {
  const { name = level.name, points = level.points, description = level.description } = item
  const badgeUrl = item.badge === undefined ? level.badgeUrl : (item.badge?.url ?? null)
  return revised(level, { ...level, name, points, description, badgeUrl }, now)
}

function updateLevel({ db, tenant }: Scope, level: Level): D1PreparedStatement {
  const { id, name, points, description, badgeUrl, updated } = level
  return db.built(
    db.orm
      .update(pointsLevels)
      .set({ name, points, description, badgeUrl, updated })
      .where(and(eq(pointsLevels.tenantId, tenant.id), eq(pointsLevels.id, id))),
  )
}

/** Deletes levels (G7). */
export function deleteLevels(scope: Scope, systemId: string, ids: readonly string[]) {
  const { db, tenant, now } = scope
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).levels)
    const issues = new Issues()
    for (const id of ids) {
      if (draft.find(id) === undefined) issues.unknown(id, WHAT)
      draft.remove(id)
    }
    const statements = draft.removed.map((id) =>
      db.built(
        db.orm
          .update(pointsLevels)
          .set({ deleted: now })
          .where(and(eq(pointsLevels.tenantId, tenant.id), eq(pointsLevels.id, id))),
      ),
    )
    return { statements, result: { deleted: draft.removed.map((id) => ({ id })), issues: issues.list } }
  })
}
