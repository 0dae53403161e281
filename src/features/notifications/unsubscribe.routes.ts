import type { Context as HonoContext } from 'hono'
import { base64url } from 'jose'
import * as z from 'zod'
import { limit } from '../../access/access'
import { sameInConstantTime } from '../../access/credentials'
import { type App, type AppEnv, newApp } from '../../api/hono'
import { nullIfNotFound } from '../../lib/errors'
import { systemNow } from '../../lib/system-clock'
import type { Context } from '../../platform/context'
import type { AccountDatabase, Statement, TenantDatabase } from '../../platform/database'
import { parseUser, userStatement } from '../../store/users/users.sql.ts'
import { changeUser } from '../events/commands'

/** The user of a link, with the iid: an erased user who comes back is a new user (U8). */
type Linked = { tenantId: string; iid: string; userId: string }

const SECRET_BYTES = 32
/** Longer than any token. A user's id has at most 255 characters. */
const MOST_TOKEN_CHARACTERS = 4_096
/** The purpose is part of the signed text, so the signature is valid for nothing else. */
const PURPOSE = 'unsubscribe'

const Payload = z.tuple([z.string(), z.string(), z.string()])

/** A new secret for links: base64 of 32 random bytes. */
export function newLinkSecret(): string {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))
}

// The first secret stays, so that sent links work as long as the tenant exists.
const GIVE = 'UPDATE tenants SET link_secret = ?2 WHERE id = ?1 AND link_secret IS NULL'
const FIND = "SELECT link_secret AS secret FROM tenants WHERE id = ?1 AND status = 'active'"

/** Gives a tenant a secret for links if it has none. */
export function giveLinkSecret(db: TenantDatabase): Statement {
  return db.statement(GIVE, db.tenantId, newLinkSecret())
}

/** A tenant's secret for links. Null before the first template, and if there is no such active tenant. */
export async function linkSecretOf(db: AccountDatabase, tenantId: string): Promise<string | null> {
  return (await db.find(z.object({ secret: z.string().nullable() }), FIND, tenantId))?.secret ?? null
}

/** Signs the user of a link to unsubscribe. The token has letters, digits, `-`, `_` and a dot. */
export async function unsubscribeToken(secret: string, { tenantId, iid, userId }: Linked): Promise<string> {
  const payload = base64url.encode(JSON.stringify([tenantId, iid, userId]))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign'])
  const signed = encoder.encode(`${PURPOSE}.${payload}`)
  return `${payload}.${base64url.encode(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)))}`
}

/** The user of a token; null if it is not exactly a token that Laurel signed. */
export async function linkedBy(db: AccountDatabase, token: string): Promise<Linked | null> {
  const claimed = token.length > MOST_TOKEN_CHARACTERS ? null : claimIn(token)
  const secret = claimed && (await linkSecretOf(db, claimed.tenantId))
  if (claimed === null || secret === null) return null
  return sameInConstantTime(token, await unsubscribeToken(secret, claimed)) ? claimed : null
}

function claimIn(token: string): Linked | null {
  try {
    const [payload = ''] = token.split('.')
    const text = new TextDecoder().decode(base64url.decode(payload))
    const [tenantId, iid, userId] = Payload.parse(JSON.parse(text))
    return { tenantId, iid, userId }
  } catch {
    return null
  }
}

const encoder = new TextEncoder()

/** Unsubscribes a user from emails. Does nothing if that was done, or the user was erased (N3, U8). */
export async function unsubscribe(ctx: Context, { tenantId, iid, userId }: Linked): Promise<void> {
  const db = ctx.databases.usersOf(tenantId).of(userId)
  const result = await db.run(userStatement(db, userId, systemNow()))
  const user = parseUser(result)
  if (user?.iid !== iid || !user.profile.subscribeToEmails) return
  const sender = { tenantId, userId, credential: null, tenantName: null, by: 'user' } as const
  const command = { kind: 'update', change: { subscribeToEmails: false } } as const
  // The user may be erased meanwhile.
  await changeUser(ctx, sender, command).catch(nullIfNotFound)
}

/** The page loads nothing, runs no script and can't be framed. Its form posts to the page itself. */
const POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
}

/** A page without data of the request or the user. */
const page = (title: string, content: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <style>
    body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 4rem auto; padding: 0 1rem }
    button { font: inherit; padding: .5rem 1rem }</style>
  </head>
  <body>
    <h1>${title}</h1>
    ${content}
  </body>
</html>
`

const ASK = page(
  'Unsubscribe',
  '<p>Unsubscribe from our emails?</p><form method="post"><button>Unsubscribe</button></form>',
)
const DONE = page('Unsubscribed', '<p>You are unsubscribed from our emails.</p>')
const UNKNOWN = page(
  'This link does not work',
  '<p>Open the link in the email again. If you copied it, make sure that you copied all of it.</p>',
)

/**
 * `/unsubscribe/{token}`, the address of the links in emails; it needs no key (N3). GET asks and changes
 * nothing, because mail scanners follow links. POST unsubscribes at once and ignores its body (RFC 8058).
 */
export function unsubscribeRoutes(app: App): void {
  const pages = newApp()
  const answer = async (c: HonoContext<AppEnv>, act: (linked: Linked) => Promise<string>) => {
    const ctx = c.get('ctx')
    await limit(ctx, null, c.req.raw.headers)
    const linked = await linkedBy(ctx.db, c.req.param('token') ?? '')
    if (linked === null) return c.body(UNKNOWN, 404, HEADERS)
    return c.body(await act(linked), 200, HEADERS)
  }
  pages.get('/:token', (c) => answer(c, async () => ASK))
  pages.post('/:token', (c) =>
    answer(c, async (linked) => {
      await unsubscribe(c.get('ctx'), linked)
      return DONE
    }),
  )
  app.route('/unsubscribe', pages)
}
