import { isNotFound, laurel, messageFor } from '@/lib/laurel'
import { signedInUser } from '@/lib/session'

/** Answers a token for the page of the user who is signed in. It can only read: what counts is decided in actions. */
export async function POST() {
  const userId = await signedInUser()
  if (userId === null) return Response.json({ error: 'Sign in first.' }, { status: 401 })
  try {
    const token = await laurel.admin.userTokens.create({ userId, scope: 'read', ttl: 900 })
    return Response.json(token, { headers: { 'Cache-Control': 'no-store' } })
  } catch (error) {
    // The user was erased, or the data of Laurel was deleted.
    if (isNotFound(error)) return Response.json({ error: 'Sign in again.' }, { status: 401 })
    return Response.json({ error: messageFor(error) }, { status: 502 })
  }
}
