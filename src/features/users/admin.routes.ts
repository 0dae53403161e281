import * as z from 'zod'
import { endpointsOf } from '../../api/endpoint'
import { text, UserId } from '../../api/fields'
import { ok } from '../../api/operation'
import { type LongPage, longListQuery, longPage, NEXT_LINK, UserAttributesQuery } from '../../api/queries'
import { User, userResponse } from '../../api/shapes/users'
import { listed } from '../../api/streams'
import { configurationOf } from '../../configuration/configuration'
import { throwIfInvalid } from '../../lib/errors'
import { MOST_SEARCH_CHARACTERS } from '../../lib/limits'
import type { Scope } from '../../platform/context'
import { type Pause, sharedScans } from '../../platform/scans'
import { resolveAttributes, unknownAttributes } from '../../rules/profile.rules'
import {
  pageOfUsers,
  searchForUsers,
  type UserFilter,
  UserPlace,
  usersInOrder,
} from '../../store/users/pages.sql.ts'
import { eraseUser } from './erasure'
import { exportUser, findHeld } from './export/export'
import { UserExport } from './export/shape'

/**
 * A page of users. `search` is a part of their id, name or email, in upper or lower case.
 * `userAttributes` are values that they have (G7, U8). The cursor is the place of the last user of the page
 * before (O3).
 */
const UserListQuery = longListQuery(UserPlace, {
  search: z
    .string('must be given once')
    .min(1, 'must not be empty')
    .pipe(text(MOST_SEARCH_CHARACTERS))
    .optional(),
  userAttributes: UserAttributesQuery.optional(),
})

const ListUsersResponse = z.array(User).meta({ id: 'ListUsersResponse' })

const UserParams = z.object({ id: UserId })

/** An erased user (U8). */
const ErasedUser = z.object({ id: z.string() }).meta({ id: 'ErasedUser' })

type Query = z.output<typeof UserListQuery>

/**
 * A page of the tenant's users, oldest first; with `search` or `userAttributes`, of the users who fit (G7,
 * U8). Yields as many at a time as fit. Throws 422 on unknown attributes, and 429 as any scan (P11).
 */
async function listUsers(
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

const endpoint = endpointsOf('admin')

/** The endpoints of the management of users: list, export, erase (U8). */
export const userAdminEndpoints = [
  endpoint(
    'GET /users',
    {
      id: 'admin_users_list',
      summary: 'List users, oldest first, or search them by id, name and email',
      query: UserListQuery,
      responses: {
        200: {
          description: 'The page, oldest first.',
          body: ListUsersResponse,
          optionalHeaders: { Link: NEXT_LINK },
        },
      },
    },
    async (scope, { query }) => {
      const { items, next } = await listUsers(scope, query)
      return longPage(scope, query, { items: await listed(items), next })
    },
  ),
  endpoint(
    'GET /users/{id}/export',
    {
      id: 'admin_users_export',
      archived: true,
      summary: 'Export all data of a user, also of an archived tenant',
      params: UserParams,
      secret: true,
      responses: {
        200: {
          description:
            'All data of the user. If the body is cut off, it is not valid JSON. Send the request again.',
          body: UserExport,
        },
      },
    },
    { find: (scope, param) => findHeld(scope, param('id')) },
    async (scope, _input, held) => ok(await exportUser(scope, held)),
  ),
  endpoint(
    'DELETE /users/{id}',
    {
      id: 'admin_users_delete',
      archived: true,
      summary: 'Erase a user everywhere, whether or not there is one, also of an archived tenant',
      params: UserParams,
      responses: { 200: { description: 'No request finds the user any more.', body: ErasedUser } },
    },
    async (scope, { params }) => ok(await eraseUser(scope, params.id)),
  ),
]
