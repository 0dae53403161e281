import type * as z from 'zod'
import { configurationOf } from '../../config/configuration.service'
import type { Pause } from '../../db/scans'
import type { Scope } from '../../runtime/context'
import { sharedScans } from '../../runtime/shared-scans'
import { pageOfIds, searchForIds, usersInOrder } from '../../store/pages.repository'
import { userResponse } from '../../wire/presenters/user.presenter'
import type { ListUsersResponse, UserListQuery } from './users.admin.schemas'

/**
 * A page of the tenant's users, oldest first; with `search`, of the users who match (G7, U8). Yields as many
 * at a time as fit. Throws 429 as any scan (P11).
 */
export async function* listUsers(
  scope: Scope,
  { limit, skip, search }: z.output<typeof UserListQuery>,
): AsyncGenerator<z.input<typeof ListUsersResponse>> {
  const config = await configurationOf(scope)
  const page = { limit, skip }
  const ids = search === undefined ? await pageOfIds(scope, page) : await idsOfSearch(scope, page, search)
  for await (const users of usersInOrder(scope.db, ids)) yield users.map((user) => userResponse(config, user))
}

const searchesOf = sharedScans<readonly string[]>()

/** The ids of the matching users on a page. This is a scan, because any user may match. */
function idsOfSearch(
  { db, tenant, instance, waitUntil }: Scope,
  page: { limit: number; skip: number },
  search: string,
): Promise<readonly string[]> {
  const name = JSON.stringify([page.limit, page.skip, search])
  const read = (pause: Pause) => searchForIds(db, page, search, pause)
  return searchesOf(instance).run({ tenantId: tenant.id, name, read, mayBeOlder: () => false }, waitUntil)
}
