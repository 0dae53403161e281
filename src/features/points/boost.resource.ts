import * as z from 'zod'
import {
  DateField,
  DateResponse,
  defaulted,
  endsInOrder,
  Filters,
  FiltersResponse,
  isNot,
  rule,
  UserId,
} from '../../api/fields'
import { keysIn } from '../../api/resources/drafts.rules'
import { DERIVED_KEY, field, filters, ID, NAME, removable, required, shown } from '../../api/resources/fields'
import { defineResource } from '../../api/resources/resource'
import { BOOST_STATUSES } from '../../configuration/enumerations'
import { filterProblem, freeBoostKey, keyTaken } from '../../configuration/keys.rules'
import { type Boost, type Configuration, roomFor } from '../../configuration/model'
import { pointsBoosts } from '../../configuration/tables.sql.ts'
import { ROUNDINGS } from '../../lib/decimal'
import { MOST_OWN_BOOSTS } from '../../lib/limits'
import { boostStatus, OPEN_END } from '../../rules/points/boosts.rules'
import { boostEventStatements } from './boost-events'
import {
  type BoostUser,
  boostKeysFree,
  boostPage,
  boostUsersWithIds,
  keysTaken,
  namedBoosts,
  ownersOf,
  ownInCopies,
  removeOwnInCopies,
  userChanged,
} from './boosts.sql.ts'

/** What a write of boosts reads: the users who own some of them, and those of their keys that are taken. */
export type BoostFacts = { users: ReadonlyMap<string, BoostUser>; taken: ReadonlySet<string> }

const BOOST = 'boost of this points system'

const Multiplier = isNot(1, z.number().gt(0).lt(100), 'must not be 1, which changes nothing')
const Rounding = z.enum(ROUNDINGS)

const hasOneAudience = z.refine<{ userId?: unknown; userAttributes?: unknown }>(
  ({ userId, userAttributes }) =>
    userId == null || !Array.isArray(userAttributes) || userAttributes.length === 0,
  rule('userAttributes', 'must be left out if userId is given. Pass only one of the two'),
)

/** The zone whose midnights count for a boost: the owner's for a user's own boost, null for others (P5). */
const zoneOf = ({ users }: BoostFacts, { userId }: Boost): string | null =>
  userId === null ? null : (users.get(userId)?.tz ?? 'UTC')

const fields = {
  id: ID,
  key: DERIVED_KEY,
  name: NAME,
  status: shown(z.enum(BOOST_STATUSES)),
  start: required(DateField, DateResponse),
  end: {
    ...removable(DateField, DateResponse.nullable()),
    stored: (end: string | null | undefined): string => end ?? OPEN_END,
    shown: (end: string) => (end === OPEN_END ? null : end),
  },
  multiplier: required(Multiplier, z.number()),
  rounding: field(defaulted(Rounding, 'down'), Rounding, Rounding),
  userId: { create: UserId.nullish(), update: null, item: z.string().nullable(), column: null },
  userAttributes: filters(Filters, FiltersResponse.optional()),
}

/** Boosts (G7, P5). The configuration does not have users' own boosts, so they are read. */
export const boost = defineResource<typeof fields, 'boosts', BoostFacts>({
  kind: 'points_boost',
  id: 'admin_points_boosts',
  path: '/points/{systemId}/boosts',
  one: 'a boost',
  many: 'boosts',
  component: 'PointsBoost',
  change: 'Patch',
  list: 'boosts',
  table: pointsBoosts,
  fields,
  rules: { create: [endsInOrder, hasOneAudience], update: [endsInOrder] },
  show: (one, { now, facts }) => ({ status: boostStatus(one, now, zoneOf(facts, one)) }),
  // An entry leaves out the caller's own id of the user. It loses its fields when the user is erased (U8).
  audited: ({ systemId }, { userId: _userId, ...shown }) => ({ ...shown, pointsSystemId: systemId }),
  ownerOf: ({ userIid }) => userIid,
  also: (boostId) => ({ boostId }),
  reads: {
    page: async (scope, systemId, query) => {
      const resources = await boostPage(scope, systemId, query)
      const ids = resources.flatMap(({ userId }) => userId ?? [])
      return { resources, facts: { users: await boostUsersWithIds(scope, ids), taken: new Set() } }
    },
    named: async (scope, systemId, names) => {
      const { boosts, users } = await namedBoosts(scope, systemId, names)
      return { resources: boosts, facts: { users, taken: new Set() } }
    },
    forNew: async (scope, systemId, items) => {
      const ids = items.flatMap(({ userId }) => userId ?? [])
      const wanted = items.map(({ key, start }) => key ?? `boost-${start}`)
      const users = await boostUsersWithIds(scope, ids)
      return { users, taken: await keysTaken(scope, systemId, wanted) }
    },
  },
  room: ({ config, draft }, { userId }) => {
    const ofAll = draft.added.filter((one) => one.userId === null)
    return userId == null ? roomFor('boosts', config)(ofAll.length + 1) : null
  },
  make: (row, { config, draft: { added }, facts: { users, taken } }, { userId }) => {
    const person = userId == null ? null : users.get(userId)
    if (person === undefined) return 'No user has this userId. Create the user first.'
    const others =
      person === null ? 0 : person.boosts + added.filter((one) => one.userId === person.id).length
    if (others >= MOST_OWN_BOOSTS) {
      return `This user has ${MOST_OWN_BOOSTS} own boosts that are not over, which is the limit. Delete some first.`
    }
    const made = { ...row, userId: person?.id ?? null, userIid: person?.iid ?? null }
    const keys = new Set([...taken, ...keysIn(added.filter(({ systemId }) => systemId === row.systemId))])
    if (row.key !== undefined && keys.has(row.key)) return keyTaken(row.key, BOOST)
    const key = row.key ?? freeBoostKey(made, keys)
    return filterProblem(config, 'user', made.userAttributes) ?? { ...made, key }
  },
  patch: (after, { id }, { config, draft: { list } }) =>
    list.some((other) => other.id !== id && other.key === after.key)
      ? keyTaken(after.key, BOOST)
      : (patchProblem(config, after) ?? after),
  /** A write only of users' own boosts leaves the version of the configuration as it is. */
  effects: ({ scope, config, draft, facts }) => {
    const stored = draft.changes.flatMap(({ before, after }) => (after === null ? [] : [{ before, after }]))
    const present = stored.map(({ after }) => after)
    const removed = draft.changes.flatMap(({ before, after }) => (after === null ? (before ?? []) : []))
    const all = [...present, ...removed]
    const writes = stored.map((one) => ({ ...one, zone: zoneOf(facts, one.after) }))
    return {
      isApart: all.every(({ userId }) => userId !== null),
      statements: [
        ...all.flatMap((one) => userChanged(scope, one)),
        ...ownInCopies(scope, present),
        ...removeOwnInCopies(scope, removed),
      ],
      beside: writes.length === 0 ? [] : boostEventStatements(scope, config, writes),
      // A user who was erased meanwhile gets no boost (U8).
      users: ownersOf(all, facts.users),
      guards: boostKeysFree(scope, present),
    }
  },
})

function patchProblem(config: Configuration, one: Boost): string | null {
  if (one.end < one.start) return 'The end would be before the start. Change both together.'
  if (one.userId !== null && one.userAttributes.length > 0) {
    return "A user's own boost can have no userAttributes. Leave them out."
  }
  return filterProblem(config, 'user', one.userAttributes)
}
