import type * as z from 'zod'
import type { LongPage } from '../../api/cursors'
import { userResponse } from '../../api/shapes/user.presenter'
import { configurationOf } from '../../configuration/configuration.service'
import { throwIfInvalid } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import type { Pause } from '../../platform/scans'
import { sharedScans } from '../../platform/shared-scans'
import { resolveAttributes, unknownAttributes } from '../../rules/profile.rules'
import {
  pageOfUsers,
  searchForUsers,
  type UserFilter,
  type UserPlace,
  usersInOrder,
} from '../../store/pages.repository'
import type { ListUsersResponse, UserListQuery } from './users.admin.schemas'

type Query = z.output<typeof UserListQuery>

/**
 * A page of the tenant's users, oldest first; with `search` or `userAttributes`, of the users who fit (G7,
 * U8). Yields as many at a time as fit. Throws 422 on unknown attributes, and 429 as any scan (P11).
 */
export async function listUsers(
  scope: Scope,
  { search, userAttributes, ...query }: Query,
): Promise<LongPage<AsyncGenerator<z.input<typeof ListUsersResponse>>, UserPlace>> {
  // One user more, to see if there is a next page.
  const page = { ...query, limit: query.limit + 1 }
  const filter = await filterOf(scope, search, userAttributes)
  const found = filter === null ? await pageOfUsers(scope, page) : await usersOfFilter(scope, page, filter)
  const places = found.slice(0, query.limit)
  const hasMore = found.length > places.length
  return {
    items: responses(
      scope,
      places.map(([, id]) => id),
    ),
    next: hasMore ? (places.at(-1) ?? null) : null,
  }
}

async function* responses(scope: Scope, ids: readonly string[]) {
  const config = await configurationOf(scope)
  for await (const users of usersInOrder(scope, ids)) yield users.map((user) => userResponse(config, user))
}

const searchesOf = sharedScans<readonly UserPlace[]>()

/** The filter of a request; null if it has none. Throws 422 on unknown attributes. */
async function filterOf(
  scope: Scope,
  search: string | undefined,
  attributes: ReadonlyMap<string, string> = new Map(),
): Promise<UserFilter | null> {
  if (attributes.size === 0) return search === undefined ? null : { search, attributes }
  const config = await configurationOf(scope)
  throwIfInvalid(unknownAttributes(config, 'user', attributes))
  return { search: search ?? null, attributes: resolveAttributes(config, 'user', attributes) }
}

/** The places of the users who fit on a page. This is a scan, because any user may fit. */
function usersOfFilter(
  { databases, tenant, instance, waitUntil }: Scope,
  page: Pick<Query, 'limit' | 'skip' | 'after'>,
  filter: UserFilter,
): Promise<readonly UserPlace[]> {
  const name = JSON.stringify([
    page.limit,
    page.skip,
    page.after ?? null,
    filter.search,
    [...filter.attributes],
  ])
  const read = (pause: Pause) => searchForUsers({ databases, tenant }, page, filter, pause)
  return searchesOf(instance).run({ tenantId: tenant.id, name, read, mayBeOlder: () => false }, waitUntil)
}
