import * as z from 'zod'
import { Badge, optional, wholeNumber } from '../../api/fields'
import { BADGE, DESCRIPTION, FIXED_KEY, ID, NAME, required } from '../../api/resources/fields'
import { defineResource } from '../../api/resources/resource'
import { keyTaken } from '../../configuration/keys.rules'
import { type Level, roomFor } from '../../configuration/model'
import { pointsLevels } from '../../configuration/tables.sql.ts'
import { INT32_MAX } from '../../lib/decimal'
import { counted } from '../../lib/errors'

/** Levels of a points system (G7, P9). */
export const level = defineResource({
  kind: 'points_level',
  id: 'admin_points_levels',
  path: '/points/{systemId}/levels',
  one: 'a level',
  many: 'levels',
  component: 'PointsLevel',
  change: 'Patch',
  list: 'levels',
  table: pointsLevels,
  fields: {
    id: ID,
    name: NAME,
    key: FIXED_KEY,
    points: required(wholeNumber(0, INT32_MAX), z.int32()),
    description: DESCRIPTION,
    badge: { ...BADGE, create: optional(Badge) },
  },
  audited: ({ systemId }, shown) => ({ ...shown, pointsSystemId: systemId }),
  room: ({ config, draft }) => roomFor('levels', config)(draft.added.length + 1),
  make: (row, { draft: { list } }) => levelProblem(row, list) ?? row,
  patch: (after, _before, { draft: { list } }) => levelProblem(after, list) ?? after,
})

/** Why a level can't be among the levels of its system, or null (P9, G5). */
function levelProblem(one: Level, others: readonly Level[]): string | null {
  for (const other of others) {
    if (other.id === one.id) continue
    if (other.key === one.key) return keyTaken(one.key, 'level')
    if (other.points === one.points) {
      return `The level "${other.key}" has ${counted(one.points, 'point')} already. Choose other points.`
    }
  }
  return null
}
