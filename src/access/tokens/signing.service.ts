import { base64url, compactVerify, SignJWT } from 'jose'
import * as z from 'zod'
import { type Instant, instant } from '../../lib/clock'
import { errors } from '../../lib/errors'
import { SECOND } from '../../lib/units'
import type { Variables } from '../../platform/env'
import { sha256 } from '../keys.rules'

/**
 * The uses of signed tokens, in their claim `aud`. A token of one purpose is never valid for another one:
 * `user` tokens are sent as API keys (K6), `live` tokens are tickets that open streams.
 */
export type TokenPurpose = 'user' | 'live'

/** The secrets that sign tokens. */
type Secrets = Pick<Variables, 'TOKEN_SECRET' | 'TOKEN_SECRET_PREVIOUS'>

/** A signed token, and when it ends. */
export type SignedToken = { token: string; expires: Instant }

/** Longer than any token that `signToken` makes: a user's id has at most 255 characters. */
const MOST_CHARACTERS = 4_096
/** The form of a JWT: three parts in base64url. */
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/
const ALGORITHM = 'HS256'

const audience = (purpose: TokenPurpose) => `laurel:${purpose}`

/** The name of a secret in the header `kid` of its tokens: it says which secret has signed, and no more. */
const nameOf = async (secret: string) => (await sha256(`laurel kid ${secret}`)).slice(0, 16)

/** Whether a text has the form of a token. Says nothing about its signature. */
export const isTokenShaped = (text: string): boolean => text.length <= MOST_CHARACTERS && FORM.test(text)

/**
 * Signs claims for one purpose, with the current secret. The token ends `ttl` whole seconds after `now`,
 * rounded up to a whole second. Throws 422 if the deployment has no secret (K6).
 */
export async function signToken(
  { TOKEN_SECRET: secret }: Secrets,
  purpose: TokenPurpose,
  claims: Readonly<Record<string, string>>,
  { now, ttl }: { now: Instant; ttl: number },
): Promise<SignedToken> {
  if (secret === undefined) throw errors.tokenSecretMissing()
  const seconds = Math.ceil(now / SECOND) + ttl
  const token = await new SignJWT({ ...claims })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid: await nameOf(secret) })
    .setAudience(audience(purpose))
    .setIssuedAt(Math.floor(now / SECOND))
    .setExpirationTime(seconds)
    .sign(new TextEncoder().encode(secret))
  return { token, expires: instant(seconds * SECOND) }
}

/**
 * The claims of a token of this purpose, and when it ends. Null if it is anything but a token that
 * `signToken` made with the current or the previous secret. The caller compares `expires` with the clock of
 * its rule: user tokens go by the clock of C1, tickets by real time. Claims that are not in the schema are
 * left out.
 */
export async function openToken<Claims>(
  secrets: Secrets,
  purpose: TokenPurpose,
  schema: z.ZodType<Claims>,
  token: string,
): Promise<{ claims: Claims; expires: Instant } | null> {
  if (!isTokenShaped(token)) return null
  try {
    if (!token.split('.').every(isCanonical)) return null
    const { payload } = await compactVerify(token, ({ kid }) => secretNamed(secrets, kid), {
      algorithms: [ALGORITHM],
    })
    const json: unknown = JSON.parse(new TextDecoder().decode(payload))
    const { exp } = z.object({ aud: z.literal(audience(purpose)), exp: z.int() }).parse(json)
    return { claims: schema.parse(json), expires: instant(exp * SECOND) }
  } catch {
    // The reason is for nobody: it would help only the author of a forged token.
    return null
  }
}

/** Whether base64url has no spare bits that are set: each token then has one spelling only. */
const isCanonical = (part: string) => base64url.encode(base64url.decode(part)) === part

/** The accepted secret with this name. Throws if there is none. */
async function secretNamed(
  { TOKEN_SECRET, TOKEN_SECRET_PREVIOUS }: Secrets,
  kid: string | undefined,
): Promise<Uint8Array> {
  for (const secret of [TOKEN_SECRET, TOKEN_SECRET_PREVIOUS]) {
    if (secret !== undefined && (await nameOf(secret)) === kid) return new TextEncoder().encode(secret)
  }
  throw new Error('no accepted secret has this name')
}
