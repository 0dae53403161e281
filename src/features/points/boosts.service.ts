import type * as z from 'zod'
import {
  byIdOrKey,
  createEach,
  Draft,
  deleteEach,
  type ListedPage,
  type Names,
  revised,
  updateEach,
} from '../../api/resources/drafts.rules'
import { presentSystem } from '../../api/resources/resource'
import { configure } from '../../configuration/configuration'
import { type Boost, type Configuration, roomFor } from '../../configuration/configuration.types'
import { freeBoostKey, keyTaken } from '../../configuration/derived-keys.rules'
import { filterProblem } from '../../configuration/filters.rules'
import { withIds } from '../../configuration/references.rules'
import { MOST_OWN_BOOSTS } from '../../lib/limits'
import { newId } from '../../lib/new-id'
import type { Scope } from '../../platform/context'
import type { Statement } from '../../platform/database'
import { OPEN_END } from '../../rules/points/boosts.rules'
import { type BoostWrite, boostEventStatements } from './boost-events'
import * as repository from './boosts.repository'
import {
  type BoostUser,
  boostKeysFree,
  boostPage,
  boostUsersWithIds,
  keysTaken,
  namedBoosts,
  ownersOf,
} from './boosts.repository'
import { adminBoost } from './points.admin.presenter'
import type { CreatePointsBoostRequestItem, PatchPointsBoostRequestItem } from './points.admin.schemas'
import { boostEntries } from './points.audit.presenter'

type CreateItem = z.output<typeof CreatePointsBoostRequestItem>
type PatchItem = z.output<typeof PatchPointsBoostRequestItem>
type BoostUsers = ReadonlyMap<string, BoostUser>

const WHAT = 'a boost of this points system'
const BOOST = 'boost of this points system'

/** The users who will own some of the new boosts. */
export function usersOfBoosts(scope: Scope, items: readonly CreateItem[]): Promise<Map<string, BoostUser>> {
  return boostUsersWithIds(
    scope,
    items.flatMap(({ userId }) => userId ?? []),
  )
}

/**
 * The boost that an item asks for, or the reason why it can't be created. `made` are the boosts that the same
 * request has created before it. Without a key, it gets a derived one that is not `taken` (O2).
 */
export function boostFrom(
  scope: Scope,
  config: Configuration,
  users: BoostUsers,
  systemId: string,
  asked: CreateItem,
  made: readonly Boost[],
  taken: ReadonlySet<string>,
): Boost | string {
  const item = withIds(config, asked)
  if (typeof item === 'string') return item
  const person = item.userId == null ? null : users.get(item.userId)
  if (person === undefined) return 'No user has this userId. Create the user first.'
  const others =
    person === null ? 0 : person.boosts + made.filter(({ userId }) => userId === person.id).length
  if (others >= MOST_OWN_BOOSTS) {
    return `This user has ${MOST_OWN_BOOSTS} own boosts that are not over, which is the limit. Delete some first.`
  }
  const userAttributes = item.userAttributes ?? []
  const boost = {
    id: newId(scope.now),
    created: scope.now,
    updated: scope.now,
    systemId,
    userId: person?.id ?? null,
    userIid: person?.iid ?? null,
    name: item.name,
    start: item.start,
    end: item.end ?? OPEN_END,
    multiplier: item.multiplier,
    rounding: item.rounding,
    userAttributes,
  }
  const keys = new Set([...taken, ...made.filter((one) => one.systemId === systemId).map(({ key }) => key)])
  if (item.key !== undefined && keys.has(item.key)) return keyTaken(item.key, BOOST)
  const key = item.key ?? freeBoostKey(boost, keys)
  return filterProblem(config, 'user', userAttributes) ?? { ...boost, key }
}

/**
 * The zone whose midnights count for a boost: the owner's for a user's own boost, null for all others (P5).
 */
export const zoneOf = (users: BoostUsers, { userId }: Boost): string | null =>
  userId === null ? null : (users.get(userId)?.tz ?? 'UTC')

const peopleIn = (scope: Scope, boosts: readonly Boost[]) =>
  boostUsersWithIds(
    scope,
    boosts.flatMap(({ userId }) => userId ?? []),
  )

/** A page of a system's boosts (G7). */
export async function listBoosts(scope: Scope, systemId: string, query: ListedPage) {
  const boosts = await boostPage(scope, systemId, query)
  const users = await peopleIn(scope, boosts)
  return boosts.map((boost) => adminBoost(boost, scope.now, zoneOf(users, boost)))
}

/** A boost, by its id or key (O1). Throws 404 if there is none. */
export async function getBoost(scope: Scope, systemId: string, idOrKey: string) {
  const names = { ids: [idOrKey.toLowerCase()], keys: [idOrKey] }
  const { boosts, users } = await namedBoosts(scope, systemId, names)
  const boost = byIdOrKey(boosts, idOrKey, 'This boost')
  return adminBoost(boost, scope.now, zoneOf(users, boost))
}

/** Creates boosts (G7, P5). */
export async function createBoosts(scope: Scope, systemId: string, items: readonly CreateItem[]) {
  return configure(scope, async (config) => {
    const users = await usersOfBoosts(scope, items)
    const draft = new Draft(presentSystem(config, systemId).boosts)
    const wanted = items.map(({ key, start }) => key ?? `boost-${start}`)
    const taken = await keysTaken(scope, systemId, wanted)
    const room = roomFor('boosts', config)
    const { created, issues } = createEach(
      draft,
      items,
      (item) =>
        room(draft.added.length + 1) ?? boostFrom(scope, config, users, systemId, item, draft.added, taken),
    )
    return {
      ...stored(scope, draft.added, repository.insertBoosts, () =>
        boostEventStatements(scope, config, config.systems, newBoosts(users, draft.added)),
      ),
      audit: audited(scope, draft, users),
      // A user who was erased meanwhile gets no boost (U8).
      users: ownersOf(draft.added, users),
      guards: boostKeysFree(scope, draft.added),
      result: {
        created: created.map((boost) => adminBoost(boost, scope.now, zoneOf(users, boost))),
        issues,
      },
    }
  })
}

/** The entries of the audit log about the changes of a draft (Z1). */
const audited = ({ now }: Scope, { changes }: Draft<Boost>, users: BoostUsers) =>
  boostEntries(changes, now, (boost) => zoneOf(users, boost))

/** The field that issues about a boost have in addition to `id` (G7). */
const alsoBoost = (boostId: string) => ({ boostId })

/** Changes boosts (G7, P5). */
export async function updateBoosts(scope: Scope, systemId: string, items: readonly PatchItem[]) {
  return configure(scope, async (config) => {
    presentSystem(config, systemId)
    // The keys may also be new ones. Then these are the boosts that have them now.
    const names = { ids: items.flatMap(({ id }) => id ?? []), keys: items.flatMap(({ key }) => key ?? []) }
    const { boosts, users } = await namedBoosts(scope, systemId, names)
    const draft = new Draft(boosts)
    const change = (boost: Boost, asked: PatchItem) => {
      const item = withIds(config, asked)
      if (typeof item === 'string') return item
      const next = patched(boost, item, scope)
      if (draft.list.some(({ id, key }) => id !== boost.id && key === next.key)) {
        return keyTaken(next.key, BOOST)
      }
      return patchProblem(config, next) ?? next
    }
    const { updated, issues } = updateEach(draft, items, WHAT, change, { also: alsoBoost })
    return {
      ...stored(
        scope,
        draft.changed,
        (at, changed) => repository.updateBoosts(at, changed, boosts),
        () => {
          const writes = draft.changed.map((after) => ({
            before: boosts.find(({ id }) => id === after.id) ?? null,
            after,
            zone: zoneOf(users, after),
          }))
          return boostEventStatements(scope, config, config.systems, writes)
        },
      ),
      audit: audited(scope, draft, users),
      users: ownersOf(draft.changed, users),
      guards: boostKeysFree(scope, draft.changed),
      result: {
        updated: updated.map((boost) => adminBoost(boost, scope.now, zoneOf(users, boost))),
        issues,
      },
    }
  })
}

function patched(boost: Boost, item: PatchItem, { now }: Scope): Boost {
  const { key = boost.key, name = boost.name, start = boost.start } = item
  const { multiplier = boost.multiplier, rounding = boost.rounding } = item
  const end = item.end === undefined ? boost.end : (item.end ?? OPEN_END)
  const userAttributes =
    item.userAttributes === undefined ? boost.userAttributes : (item.userAttributes ?? [])
  return revised(boost, { ...boost, key, name, start, end, multiplier, rounding, userAttributes }, now)
}

function patchProblem(config: Configuration, boost: Boost): string | null {
  if (boost.end < boost.start) return 'The end would be before the start. Change both together.'
  if (boost.userId !== null && boost.userAttributes.length > 0) {
    return "A user's own boost can have no userAttributes. Leave them out."
  }
  return filterProblem(config, 'user', boost.userAttributes)
}

/** Deletes boosts (G7). */
export async function deleteBoosts(scope: Scope, systemId: string, names: Names) {
  return configure(scope, async (config) => {
    presentSystem(config, systemId)
    const { boosts, users } = await namedBoosts(scope, systemId, names)
    const draft = new Draft(boosts)
    const result = deleteEach(draft, names, WHAT, () => null, { also: alsoBoost })
    const audit = audited(scope, draft, users)
    return {
      ...stored(scope, boosts, repository.deleteBoosts),
      audit,
      users: ownersOf(boosts, users),
      result,
    }
  })
}

/**
 * The statements for boosts, in their order. They are a change of the configuration, unless all boosts are
 * users' own.
 * `eventStatements` returns the statements after them, which notify webhooks (W6).
 */
export function stored(
  scope: Scope,
  boosts: readonly Boost[],
  store: (scope: Scope, boosts: readonly Boost[]) => Statement[],
  eventStatements: () => readonly Statement[] = () => [],
) {
  const statements = store(scope, boosts)
  const eventWrites = boosts.length === 0 ? [] : eventStatements()
  const areOwn = boosts.every(({ userId }) => userId !== null)
  return areOwn
    ? { statements: [], beside: [...statements, ...eventWrites] }
    : { statements, beside: eventWrites }
}

/** New boosts in the form that `boostEventStatements` takes. */
export const newBoosts = (users: BoostUsers, boosts: readonly Boost[]): BoostWrite[] =>
  boosts.map((after) => ({ before: null, after, zone: zoneOf(users, after) }))
