import { and, eq } from 'drizzle-orm'
import type * as z from 'zod'
import {
  createEach,
  Draft,
  deleteEach,
  type Names,
  revised,
  updateEach,
} from '../../api/resources/drafts.rules'
import { presentSystem } from '../../api/resources/resource'
import { configure } from '../../configuration/configuration'
import { type Level, roomFor } from '../../configuration/configuration.types'
import { pointsLevels } from '../../configuration/tables/points.table'
import { counted } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { deleteNested } from './nested.repository'
import { adminLevel } from './points.admin.presenter'
import type { CreatePointsLevelRequestItem, PatchPointsLevelRequestItem } from './points.admin.schemas'
import { levelEntries } from './points.audit.presenter'

type CreateItem = z.output<typeof CreatePointsLevelRequestItem>
type PatchItem = z.output<typeof PatchPointsLevelRequestItem>

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

/** Why a level can't be among the levels of its system, or null (P9, G5). */
export function levelProblem(level: Level, others: readonly Level[]): string | null {
  for (const other of others) {
    if (other.id === level.id) continue
    if (other.key === level.key)
      return `The key "${level.key}" is taken by another level. Choose another key.`
    if (other.points === level.points) {
      return `The level "${other.key}" has ${counted(level.points, 'point')} already. Choose other points.`
    }
  }
  return null
}

/** Statements that store new levels. */
export function insertLevels({ db, tenant }: Scope, levels: readonly Level[]): Statement[] {
  const rows = levels.map((level) => ({ ...level, tenantId: tenant.id }))
  return db.inserts(pointsLevels, rows)
}

/** Creates levels (G7). */
export function createLevels(scope: Scope, systemId: string, items: readonly CreateItem[]) {
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).levels)
    const room = roomFor('levels', config)
    const { created, issues } = createEach(draft, items, (item) => {
      const level = levelFrom(scope, systemId, item)
      return room(draft.added.length + 1) ?? levelProblem(level, draft.list) ?? level
    })
    return {
      statements: insertLevels(scope, draft.added),
      audit: levelEntries(draft.changes),
      result: { created: created.map(adminLevel), issues },
    }
  })
}

/** Changes levels (G7). */
export function updateLevels(scope: Scope, systemId: string, items: readonly PatchItem[]) {
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).levels)
    const { updated, issues } = updateEach(
      draft,
      items,
      WHAT,
      (level, item) => {
        const next = patched(level, item, scope)
        return levelProblem(next, draft.list) ?? next
      },
      { fixed: ['key'] },
    )
    const statements = draft.changed.map((level) => updateLevel(scope, level))
    const audit = levelEntries(draft.changes)
    return { statements, audit, result: { updated: updated.map(adminLevel), issues } }
  })
}

function patched(level: Level, item: PatchItem, { now }: Scope): Level {
  const { name = level.name, points = level.points, description = level.description } = item
  const badgeUrl = item.badge === undefined ? level.badgeUrl : (item.badge?.url ?? null)
  return revised(level, { ...level, name, points, description, badgeUrl }, now)
}

function updateLevel({ db, tenant }: Scope, level: Level): Statement {
  const { id, name, points, description, badgeUrl, updated } = level
  return db.built(
    db.orm
      .update(pointsLevels)
      .set({ name, points, description, badgeUrl, updated })
      .where(and(eq(pointsLevels.tenantId, tenant.id), eq(pointsLevels.id, id))),
  )
}

/** Deletes levels (G7). */
export function deleteLevels(scope: Scope, systemId: string, names: Names) {
  return configure(scope, (config) => {
    const draft = new Draft(presentSystem(config, systemId).levels)
    const result = deleteEach(draft, names, WHAT)
    const statements = deleteNested(scope, pointsLevels, draft.removed)
    return { statements, audit: levelEntries(draft.changes), result }
  })
}
