import type { AdminPointsLevel } from '@laurel/client'
import type { z } from 'zod'
import { some } from '../../resource/affected'
import { DESCRIBED, Described, type System, within } from '../../resource/parts'
import type { Resource } from '../../resource/resource'
import { whole } from '../../resource/schemas'
import { formatNumber } from '../../ui/format'
import { say } from '../../ui/text'

const Draft = Described.extend({ points: whole({ min: 0, max: 2_147_483_647 }) })
type Values = z.input<typeof Draft>

/** The levels of a points system. */
export const levelsOf = (system: System): Resource<AdminPointsLevel, Values, z.output<typeof Draft>> => ({
  name: 'Levels',
  one: 'level',
  path: `/points/${system.key}/levels`,
  page: `/points/${system.key}`,
  intro: 'Steps that users reach by their total.',
  empty: { title: 'No levels yet', text: 'Add a first level at 0 points, and the next ones above it.' },
  operations: (admin) => within(admin.points.levels, system.key),
  columns: () => [{ name: 'Points', cell: ({ points }) => formatNumber(points), isNumber: true }],
  form: {
    isRepeated: true,
    schema: Draft,
    fields: [
      { kind: 'text', name: 'name', label: 'Name', placeholder: 'Gold' },
      { kind: 'key', name: 'key', label: 'Key', fixed: 'The key of a level never changes.' },
      {
        kind: 'number',
        name: 'points',
        label: 'Points',
        hint: 'The total from which users have this level.',
        unit: system.name,
      },
      ...DESCRIBED,
    ],
    preview: ({ name, points }) =>
      name.trim() === '' || points.trim() === ''
        ? null
        : say`Users with ${points} ${system.name} or more are at “${name}”, up to the next level.`,
  },
  deletion: {
    text: 'Users who have it fall to the level below. This cannot be undone.',
    affected: (item) => async (admin) => {
      const { series } = await admin.points.analytics(system.key)
      return some('Users who have it', series.at(-1)?.byLevel[item.key])
    },
  },
})
