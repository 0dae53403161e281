import * as z from 'zod'
import { optional, Picture, wholeNumber } from '../../api/fields'
import { Draft, type Keyed } from '../../api/resources/drafts.rules'
import {
  BADGE,
  DESCRIPTION,
  FIXED_KEY,
  ID,
  NAME,
  removable,
  required,
  shown,
} from '../../api/resources/fields'
import { defineResource, type Write } from '../../api/resources/resource'
import { deleteWith } from '../../api/resources/store.sql.ts'
import { removals } from '../../configuration/audit.rules'
import { keyTaken } from '../../configuration/keys.rules'
import { type Boost, type Level, roomFor, type System, type Trigger } from '../../configuration/model'
import {
  leaderboards,
  pointsBoosts,
  pointsLevels,
  pointsSystems,
  pointsTriggers,
} from '../../configuration/tables.sql.ts'
import { leaderboard } from '../../leaderboards/leaderboard.resource'
import { upkeepOf } from '../../leaderboards/updates'
import { INT32_MAX } from '../../lib/decimal'
import { counted } from '../../lib/errors'
import { MOST_NESTED_ITEMS, MOST_RESOURCES } from '../../lib/limits'
import { inCopies } from '../../platform/databases/everywhere'
import { type BoostFacts, boost } from './boost.resource'
import { boostUsersWithIds } from './boosts.sql.ts'
import { settleTicks } from './ticks'
import { trigger } from './trigger.resource'

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
    badge: { ...BADGE, create: optional(Picture) },
  },
  audited: ({ systemId }, shown) => ({ ...shown, pointsSystemId: systemId }),
  room: ({ config, draft }) => roomFor('levels', config)(draft.added.length + 1),
  make: (row, { draft: { list } }) => levelProblem(row, list) ?? row,
  patch: (after, _before, { draft: { list } }) => levelProblem(after, list) ?? after,
})

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

const NO_FACTS: BoostFacts = { users: new Map(), taken: new Set() }

/** A list of what a new points system contains. */
const nested = <S extends z.ZodType>(schema: S) => ({
  create: optional(z.array(schema).max(MOST_NESTED_ITEMS)),
  update: null,
  item: null,
  column: null,
})

const fields = {
  id: ID,
  name: NAME,
  key: FIXED_KEY,
  description: DESCRIPTION,
  status: shown(z.enum(['active', 'archived'])),
  badge: BADGE,
  maxPoints: removable(wholeNumber(1, INT32_MAX), z.int32().nullable()),
  levels: nested(level.CreateItem),
  boosts: nested(boost.CreateItem),
  triggers: nested(trigger.CreateItem),
}

/** Points systems. Each is created whole, with its levels, boosts and triggers, or not at all (G7). */
export const system = defineResource<typeof fields, 'systems', BoostFacts | undefined>({
  kind: 'points_system',
  id: 'admin_points_systems',
  path: '/points',
  one: 'a points system',
  many: 'points systems',
  component: 'PointsSystem',
  list: 'systems',
  table: pointsSystems,
  fields,
  show: () => ({ status: 'active' }),
  showOnce: {
    component: 'CreatedAdminPointsSystem',
    fields: {
      levels: z.array(level.Item).optional(),
      boosts: z.array(boost.Item).optional(),
      triggers: z.array(trigger.Item).optional(),
    },
    of: ({ levels, boosts, triggers }, item, { now, facts = NO_FACTS }) => {
      const showing = { now, facts: undefined }
      return {
        ...(item.levels && { levels: levels.map((one) => level.show(one, showing)) }),
        ...(item.boosts && { boosts: boosts.map((one) => boost.show(one, { now, facts })) }),
        ...(item.triggers && { triggers: triggers.map((one) => trigger.show(one, showing)) }),
      }
    },
  },
  reads: {
    forNew: async (scope, _systemId, items) => {
      const ids = items.flatMap(({ boosts = [] }) => boosts.flatMap(({ userId }) => userId ?? []))
      return { users: await boostUsersWithIds(scope, ids), taken: new Set() }
    },
  },
  make: (row, { scope, config, draft, facts = NO_FACTS }, item) => {
    const empty: System = { ...row, levels: [], triggers: [], boosts: [] }
    const within = { scope, config, system: empty }
    const triggers = made('triggers', item.triggers, trigger, drafted<Trigger>([]), within, undefined)
    if (typeof triggers === 'string') return triggers
    const levels = made('levels', item.levels, level, drafted<Level>([]), within, undefined)
    if (typeof levels === 'string') return levels
    const before = draft.added.flatMap((one) => one.boosts)
    const boosts = made('boosts', item.boosts, boost, drafted<Boost>(before), within, facts)
    if (typeof boosts === 'string') return boosts
    const one = { ...empty, levels, triggers, boosts }
    return systemProblem(one, draft.list) ?? one
  },
  /** Levels, boosts, triggers and leaderboards of a deleted system are deleted too. Awards stay (G9). */
  effects: async ({ scope, config, draft, facts = NO_FACTS }) => {
    const { added, removed } = draft
    const gone = config.systems.filter(({ id }) => removed.includes(id))
    const goneTriggers = gone.flatMap((one) => one.triggers)
    const boards = config.leaderboards.filter(({ systemId }) => removed.includes(systemId ?? ''))
    const boardIds = boards.map(({ id }) => id)
    const upkeep = upkeepOf(scope, boardIds)
    const within = { scope, config: { ...config, systems: [...config.systems, ...added] }, system: null }
    const levels = drafted(added.flatMap((one) => one.levels))
    const triggers = drafted(added.flatMap((one) => one.triggers))
    const boosts = drafted(added.flatMap((one) => one.boosts))
    const parts = [
      await level.decide({ ...within, draft: levels, facts: undefined }),
      await trigger.decide({ ...within, draft: triggers, facts: undefined }),
      await boost.decide({ ...within, draft: boosts, facts }),
    ]
    const showing = { now: scope.now, facts: undefined }
    return {
      statements: [
        ...parts.flatMap((part) => part.statements ?? []),
        // Own boosts of users are deleted here, too.
        ...[pointsLevels, pointsTriggers, pointsBoosts, leaderboards].flatMap((table) =>
          deleteWith(scope, table, table.systemId, removed),
        ),
        ...removed.map((id) => inCopies('deleteOwnBoostsOfSystem', scope.tenant.id, id, scope.now)),
        ...upkeep.statements,
      ],
      beside: parts.flatMap((part) => part.beside ?? []),
      audit: [
        ...parts.flatMap((part) => part.audit ?? []),
        ...level.entries(removals(gone.flatMap((one) => one.levels)), showing),
        ...trigger.entries(removals(goneTriggers), showing),
        ...boost.entries(removals(gone.flatMap((one) => one.boosts)), { now: scope.now, facts }),
        ...leaderboard.entries(removals(boards), showing),
      ],
      users: parts.flatMap((part) => part.users ?? []),
      guards: await settleTicks(scope, goneTriggers),
      after: async () => {
        for (const { after } of [...parts, upkeep]) await after?.()
      },
    }
  },
})

function drafted<R extends Keyed>(resources: readonly R[]): Draft<R> {
  const draft = new Draft<R>([])
  for (const one of resources) draft.put(one)
  return draft
}

/** The resources that a new system contains, or the first problem with its place. */
function made<R extends Keyed, X, I>(
  list: string,
  items: readonly I[] = [],
  kind: { make(item: I, write: Write<R, X>): R | string },
  draft: Draft<R>,
  within: Pick<Write<R, X>, 'scope' | 'config' | 'system'>,
  facts: X,
): R[] | string {
  const all: R[] = []
  for (const [index, item] of items.entries()) {
    const one = kind.make(item, { ...within, draft, facts })
    if (typeof one === 'string') return `${list}.${index}: ${one}`
    draft.put(one)
    all.push(one)
  }
  return all
}

function systemProblem(one: System, others: readonly System[]): string | null {
  if (others.some(({ key }) => key === one.key)) return keyTaken(one.key, 'points system')
  const systems = [...others, one]
  if (systems.length > MOST_RESOURCES) {
    return `There are at most ${MOST_RESOURCES} points systems. Delete some first.`
  }
  const kinds = ['levels', 'triggers', 'boosts'] as const
  return kinds.map((kind) => roomFor(kind, { systems })(0)).find((problem) => problem !== null) ?? null
}
