import type * as z from 'zod'
import { changeUser, ownSender } from '../../commands/commands.service'
import { userReply } from '../../commands/reply.presenter'
import type { ProfileChange } from '../../engine/profile.rules'
import type { Scope } from '../../runtime/context'
import type { User } from '../../wire/user.schemas'

type UserResponse = z.infer<typeof User>

/** Creates a user, or updates the passed fields of an existing user (U2). */
export async function identifyUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'upsert', change }))
}

/** Updates the passed fields of a user. Throws 404 if there is none (U2). */
export async function updateUser(scope: Scope, id: string, change: ProfileChange): Promise<UserResponse> {
  return userReply(await changeUser(scope, ownSender(scope, id), { kind: 'update', change }))
}
