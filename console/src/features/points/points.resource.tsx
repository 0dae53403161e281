import type { CreatedAdminPointsSystem } from '@laurel/client'
import type { z } from 'zod'
import { type Affected, NEEDED, some, usersOf } from '../../resource/affected'
import { DESCRIBED, Described } from '../../resource/parts'
import type { Admin, Resource } from '../../resource/resource'
import { resourcePage } from '../../resource/resource-page'
import { ResourceSection } from '../../resource/resource-section'
import { optionalWhole } from '../../resource/schemas'
import { formatNumber } from '../../ui/format'
import { Code } from '../../ui/page'
import { nameOr, say } from '../../ui/text'
import { boostsOf } from './boosts.resource'
import { levelsOf } from './levels.resource'
import { PointsFigures } from './points-figures'
import { triggersOf } from './triggers.resource'

const Draft = Described.extend({ maxPoints: optionalWhole({ min: 1, max: 2_147_483_647 }) })

/** A points system, without its levels, triggers and boosts: the page asks for these by themselves. */
type System = Omit<CreatedAdminPointsSystem, 'levels' | 'boosts' | 'triggers'>

/** The parts of a system: triggers, levels and boosts. */
function Sections({ item: { key, name: given } }: { item: System }) {
  const name = nameOr(given, key)
  const within = `/points/${encodeURIComponent(key)}`
  const system = { key, name }
  const [triggers, levels] = [triggersOf(system), levelsOf(system)]
  return (
    <>
      <ResourceSection name="triggers" resource={triggers} within={within} />
      <ResourceSection name="levels" resource={levels} within={within} />
      <ResourceSection name="boosts" resource={boostsOf(system)} within={within} />
      <PointsFigures system={system} triggers={triggers} levels={levels} />
    </>
  )
}

/** What is deleted with a system, who has points of it, and what names it. */
async function affectedOf(admin: Admin, system: System): Promise<Affected[]> {
  const { key } = system
  const [figures, triggers, levels, boosts, used] = await Promise.all([
    admin.points.analytics(key),
    admin.points.triggers.list(key).toArray(),
    admin.points.levels.list(key).toArray(),
    admin.points.boosts.list(key).toArray(),
    usersOf(admin, system, NEEDED),
  ])
  return [
    ...some('Users with points of it', figures.series.at(-1)?.users),
    ...some('Deleted triggers', triggers.length),
    ...some('Deleted levels', levels.length),
    ...some('Deleted boosts', boosts.length),
    ...used,
  ]
}

export const points: Resource<System, z.input<typeof Draft>, z.output<typeof Draft>> = {
  name: 'Points',
  one: 'points system',
  path: '/points',
  intro: 'Points that users collect: XP, gems, energy. Each system has its own triggers, levels and boosts.',
  empty: {
    title: 'Begin with a points system',
    text: 'Create one, such as XP. Then say what gives points: each lesson, each day of a streak.',
  },
  operations: (admin) => admin.points,
  columns: () => [
    { name: 'Key', cell: ({ key }) => <Code>{key}</Code>, isMinor: true },
    {
      name: 'Maximum',
      cell: ({ maxPoints }) => (maxPoints === null ? 'none' : formatNumber(maxPoints)),
      isNumber: true,
    },
  ],
  Sections,
  form: {
    schema: Draft,
    fields: [
      { kind: 'text', name: 'name', label: 'Name', placeholder: 'XP' },
      { kind: 'key', name: 'key', label: 'Key', fixed: 'The key of a points system never changes.' },
      {
        kind: 'number',
        name: 'maxPoints',
        label: 'Maximum',
        isOptional: true,
        hint: 'The most that a user can have, for points such as energy.',
      },
      ...DESCRIBED,
    ],
    preview: ({ name, maxPoints }) =>
      name.trim() === ''
        ? null
        : say`Users collect ${name}${maxPoints.trim() === '' ? '' : `, at most ${maxPoints}`}. Next, add triggers: they say what gives points.`,
  },
  deletion: {
    text: 'Its triggers, levels, boosts and leaderboards are deleted with it. This cannot be undone.',
    affected: (item) => (admin) => affectedOf(admin, item),
  },
}

export default resourcePage(points)
