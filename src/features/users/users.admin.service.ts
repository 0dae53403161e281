import type * as z from 'zod'
import { configurationOf } from '../../config/configuration.service'
import type { Pause } from '../../db/scans'
import type { LongPage } from '../../http/cursors'
import type { Scope } from '../../runtime/context'
import { sharedScans } from '../../runtime/shared-scans'
import { pageOfUsers, searchForUsers, type UserPlace, usersInOrder } from '../../store/pages.repository'
import { userResponse } from '../../wire/presenters/user.presenter'
import type { ListUsersResponse, UserListQuery } from './users.admin.schemas'

type Query = z.output<typeof UserListQuery>

/**
 * A page of the tenant's users, oldest first; with `search`, of the users who match (G7, U8). Yields as many
 * at a time as fit. Throws 429 as any scan (P11).
 */
export async function listUsers(
  scope: Scope,
  { search, ...query }: Query,
): Promise<LongPage<AsyncGenerator<z.input<typeof ListUsersResponse>>, UserPlace>> {
  // One user more, to see if there is a next page.
  const page = { ...query, limit: query.limit + 1 }
  const found =
    search === undefined ? await pageOfUsers(scope, page) : await usersOfSearch(scope, page, search)
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
  for await (const users of usersInOrder(scope.db, ids)) yield users.map((user) => userResponse(config, user))
}

const searchesOf = sharedScans<readonly UserPlace[]>()

/** The places of the matching users on a page. This is a scan, because any user may match. */
function usersOfSearch(
  { db, tenant, instance, waitUntil }: Scope,
  page: Pick<Query, 'limit' | 'skip' | 'after'>,
  search: string,
): Promise<readonly UserPlace[]> {
  const name = JSON.stringify([page.limit, page.skip, page.after ?? null, search])
  const read = (pause: Pause) => searchForUsers(db, page, search, pause)
  return searchesOf(instance).run({ tenantId: tenant.id, name, read, mayBeOlder: () => false }, waitUntil)
}
