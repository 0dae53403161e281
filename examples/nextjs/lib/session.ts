/** The session: a signed cookie with the id of the user and the time when it ends. */
import 'server-only'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { cookies, headers } from 'next/headers'

const COOKIE = 'reading-session'
const SECONDS = 30 * 24 * 60 * 60

function signatureOf(text: string): string {
  const secret = process.env.SESSION_SECRET
  if (!secret) throw new Error('Set SESSION_SECRET to a long random text. `npm run setup` does.')
  return createHmac('sha256', secret).update(text).digest('base64url')
}

const areEqual = (a: string, b: string) =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

export async function startSession(userId: string): Promise<void> {
  const session = `${userId}.${Date.now() + SECONDS * 1000}`
  const store = await cookies()
  store.set(COOKIE, `${session}.${signatureOf(session)}`, {
    httpOnly: true,
    sameSite: 'lax',
    // Not all browsers keep a secure cookie of http://localhost.
    secure: (await headers()).get('x-forwarded-proto') === 'https',
    maxAge: SECONDS,
  })
}

export async function endSession(): Promise<void> {
  const store = await cookies()
  store.delete(COOKIE)
}

/** The id of the user, or null if nobody is signed in. */
export async function signedInUser(): Promise<string | null> {
  const value = (await cookies()).get(COOKIE)?.value ?? ''
  const [userId, end, signature] = value.split('.')
  if (!userId || !end || !signature) return null
  const isOurs = areEqual(signature, signatureOf(`${userId}.${end}`))
  return isOurs && Number(end) > Date.now() ? userId : null
}
