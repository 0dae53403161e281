import type * as z from 'zod'
import { configurationOf } from '../config/configuration.service'
import { profileErrors } from '../engine/profile.rules'
import type { UserState } from '../engine/state.types'
import { errors, type FieldError } from '../lib/errors'
import type { Scope } from '../runtime/context'
import type { ReadableUser } from '../wire/user.schemas'
import { parseUser, userStatement } from './users.repository'

/** A user's whole state; null if there is none. */
export async function stateOf({ db, now }: Scope, userId: string): Promise<UserState | null> {
  const result = await db.run(userStatement(db, userId, now))
  return parseUser(result)
}

/** A user's whole state. Throws 404 where there is none. */
export async function findUser(scope: Scope, userId: string): Promise<UserState> {
  const user = await stateOf(scope, userId)
  if (user === null) throw errors.notFound('This user')
  return user
}

/**
 * What else is wrong with a user whose shape is wrong, as far as it can be read (G3, U4). `at` is where the user is in the body, such as
 * `user.`. The stored user is read only if the address matters.
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
