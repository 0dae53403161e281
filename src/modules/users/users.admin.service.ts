import type * as z from 'zod'
import type { Scope } from '../../context'
import { configurationOf } from '../configuration/configuration.service'
import { usersPage } from './pages.repository'
import type { ListUsersResponse, UserListQuery } from './users.admin.schemas'
import { userAnswer } from './users.answers'

/** A page of the tenant's users, oldest first; of those whom a text is found in, where one is given (G7). */
export async function listUsers(
  scope: Scope,
  { limit, skip, search }: z.output<typeof UserListQuery>,
): Promise<z.input<typeof ListUsersResponse>> {
  const config = await configurationOf(scope)
  const users = await usersPage(scope.db, { limit, skip, search })
  return users.map((user) => userAnswer(config, user))
}
