import type * as z from 'zod'
import type { Scope } from '../../context'
import type { UserState } from '../../engine/state'
import { refusals } from '../../errors'
import { systemNow } from '../../shared/clock'
import { changeUser, ownSender } from '../events/events.service'
import { userReply } from '../events/settlement'
import { parseUser, userStatement } from './users.repository'
import type { ProfileChange } from './users.rules'
import type { User } from './users.schemas'

type UserAnswer = z.infer<typeof User>

/** A user's whole state. Throws 404 where there is none. */
export async function findUser(scope: Scope, userId: string): Promise<UserState> {
  const { db } = scope
  const [result] = await db.batch([userStatement(db, userId, systemNow())])
  const user = parseUser(result)
  if (user === null) throw refusals.notFound('This user')
  return user
}

/** Creates a user, or updates the passed fields of one who exists (U2). */
export async function identifyUser(scope: Scope, id: string, change: ProfileChange): Promise<UserAnswer> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'upsert', change }))
}

/** Updates the passed fields of a user. Throws 404 where there is none (U2). */
export async function updateUser(scope: Scope, id: string, change: ProfileChange): Promise<UserAnswer> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'update', change }))
}
