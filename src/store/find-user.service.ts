import type * as z from 'zod'
import { configurationOf } from '../config/configuration.service'
import { profileFaults } from '../engine/profile.rules'
import type { UserState } from '../engine/state.types'
import { type Fault, refusals } from '../lib/errors'
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
  if (user === null) throw refusals.notFound('This user')
  return user
}

/**
 * What else is wrong with a user whose shape is wrong, as far as it can be read (G3, U4). `at` is where the user is in the body, such as
 * `user.`. The stored user is read only if the address matters.
 */
export async function furtherUserFaults(
  scope: Scope,
  given: z.output<typeof ReadableUser>,
  at: string,
): Promise<Fault[]> {
  const { id, email, subscribeToEmails } = given
  const needsAddress = subscribeToEmails === true && email === undefined
  const state = needsAddress && id !== undefined ? await stateOf(scope, id) : null
  return profileFaults(await configurationOf(scope), state, given, at)
}
