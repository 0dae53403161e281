import type * as z from 'zod'
import type { ReadableUser } from '../../api/shapes/users'
import { configurationOf } from '../../configuration/configuration'
import { errors, type FieldError } from '../../lib/errors'
import type { Scope } from '../../platform/context'
import { profileErrors } from '../../rules/profile.rules'
import type { UserState } from '../../rules/state'
import { parseUser, userStatement } from './users.sql.ts'

/** A user's whole state, or null if the user does not exist. */
export async function stateOf({ databases, tenant, now }: Scope, userId: string): Promise<UserState | null> {
  const db = databases.usersOf(tenant.id).of(userId)
  const result = await db.run(userStatement(db, userId, now))
  return parseUser(result)
}

/** A user's whole state. Throws 404 if the user does not exist. */
export async function findUser(scope: Scope, userId: string): Promise<UserState> {
  const user = await stateOf(scope, userId)
  if (user === null) throw errors.notFound('This user')
  return user
}

/**
 * The other field errors of a user with the wrong shape, as far as the fields can be read (G3, U4). `at` is
 * the path of the user in the body, such as `user.`. Reads the stored user only if the email address matters.
 */
export async function furtherUserErrors(
  scope: Scope,
  given: z.output<typeof ReadableUser>,
  at: string,
): Promise<FieldError[]> {
  const { id, email, subscribeToEmails } = given
  const needsAddress = subscribeToEmails === true && email === undefined
  const state = needsAddress && id !== undefined ? await stateOf(scope, id) : null
  return profileErrors(await configurationOf(scope), state, given, at)
}
