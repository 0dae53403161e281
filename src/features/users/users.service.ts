import type * as z from 'zod'
import type { User } from '../../api/shapes/user.schemas'
import type { Scope } from '../../platform/context'
import type { ProfileChange } from '../../rules/profile.rules'
import { changeUser, ownSender } from '../events/commands.service'
import { userReply } from '../events/reply.presenter'

type UserResponse = z.infer<typeof User>

/** Creates a user, or updates the passed fields of an existing user (U2). */
export async function identifyUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'upsert', change }))
}

/** Updates the passed fields of a user. Throws 404 if there is none (U2). */
export async function updateUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'update', change }))
}
