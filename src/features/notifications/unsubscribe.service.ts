import { ApiError } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import type { Context } from '../../platform/context'
import { parseUser, userStatement } from '../../store/users.repository'
import { changeUser } from '../events/commands.service'
import type { Linked } from './links.repository'

/**
 * Unsubscribes a user from emails. Does nothing if the user is already unsubscribed or was erased (N3, U8).
 */
export async function unsubscribe(ctx: Context, { tenantId, iid, userId }: Linked): Promise<void> {
  const db = ctx.databases.ofUser(tenantId, userId)
  const result = await db.run(userStatement(db, userId, systemNow()))
  const user = parseUser(result)
  if (user?.iid !== iid || !user.profile.subscribeToEmails) return
  try {
    const sender = { tenantId, userId, credential: null, tenantName: null, by: 'user' } as const
    await changeUser(ctx, sender, { kind: 'update', change: { subscribeToEmails: false } })
  } catch (error) {
    const isErased = error instanceof ApiError && error.status === 404
    if (!isErased) throw error
  }
}
