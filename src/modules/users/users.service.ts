import type * as z from 'zod'
import type { Scope } from '../../context'
import type { UserState } from '../../engine/state'
import { type Fault, refusals } from '../../errors'
import { systemNow } from '../../shared/clock'
import { configurationOf } from '../configuration/configuration.service'
import { changeUser, ownSender } from '../events/events.service'
import { userReply } from '../events/settlement'
import { parseUser, userStatement } from './users.repository'
import { type ProfileChange, profileFaults } from './users.rules'
import type { ReadableUser, User } from './users.schemas'

type UserAnswer = z.infer<typeof User>

/** A user's whole state; null if there is none. */
export async function stateOf({ db }: Scope, userId: string): Promise<UserState | null> {
  const [result] = await db.batch([userStatement(db, userId, systemNow())])
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

/** Creates a user, or updates the passed fields of one who exists (U2). */
export async function identifyUser(scope: Scope, id: string, change: ProfileChange): Promise<UserAnswer> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'upsert', change }))
}

/** Updates the passed fields of a user. Throws 404 where there is none (U2). */
export async function updateUser(scope: Scope, id: string, change: ProfileChange): Promise<UserAnswer> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'update', change }))
}
