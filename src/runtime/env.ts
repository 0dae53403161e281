import * as z from 'zod'
import { namedTarget } from '../lib/net/webhook-targets'

const onOff = z.enum(['on', 'off']).default('off')
const some = z.string().optional()
/** The base of addresses, without a slash at its end. */
const base = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ''))

const Variables = z.object({
  /** The first admin key (K4), of `ADMIN_KEY_MIN` characters or more. Without it, and with no other admin key, the admin interface is closed. */
  ADMIN_API_KEY: z.string().optional(),
  /** The host on which `/v1/…` is the admin interface (G1). */
  ADMIN_HOST: z.string().optional(),
  MULTI_TENANCY: onOff,
  /** Development only: `/admin/v1/test-clock` exists (C1). */
  TEST_CLOCK: onOff,
  /** Whether requests are counted against the rate limits. */
  RATE_LIMITS: z.enum(['on', 'off']).default('on'),
  /** Seconds within which a webhook has to answer (W4). */
  WEBHOOK_TIMEOUT: z.coerce.number().int().min(1).max(300).default(60),
  /** Seconds within which the body of a request has to arrive (G2). */
  BODY_TIMEOUT: z.coerce.number().int().min(1).max(300).default(30),
  /** Targets of webhooks that are permitted although they are private or take http: `host:port` each, between commas (W1). */
  WEBHOOK_ALLOW: z
    .string()
    .optional()
    .transform((text, context) => {
      const entries = text?.split(',').map((entry) => entry.trim()) ?? []
      const allowed = entries.map(namedTarget)
      if (allowed.includes(null))
        context.addIssue('must be host:port, several between commas, with IPv6 addresses in brackets')
      return new Set(allowed.filter((target) => target !== null))
    }),
  /** Load the demo configuration into an empty database. */
  DEMO: onOff,
  /** Where the service is reached from outside: where links in notifications lead. Without it, where the template was written through. */
  PUBLIC_URL: base.optional(),
  /** Whom emails are from, such as `Ada <ada@example.com>`. Without it none are sent. */
  EMAIL_FROM: some,
  /** Emails go by Resend where this is set, else by the binding `EMAIL` where there is one. */
  RESEND_API_KEY: some,
  RESEND_URL: base.default('https://api.resend.com'),
  /** Push by Expo: on where one of the two is set. */
  EXPO_ACCESS_TOKEN: some,
  EXPO_URL: base.optional(),
  /** Push by APNs: on where all but the address are set. The key is the .p8 file's text, the topic the app's bundle id. */
  APNS_KEY: some,
  APNS_KEY_ID: some,
  APNS_TEAM_ID: some,
  APNS_TOPIC: some,
  APNS_URL: base.default('https://api.push.apple.com'),
  /** Push by FCM: on where the service account's JSON is set. */
  FCM_SERVICE_ACCOUNT: some,
  FCM_URL: base.default('https://fcm.googleapis.com'),
})

/** The fewest characters of ADMIN_API_KEY. */
export const ADMIN_KEY_MIN = 32

/** What the deployment is told by variables and secrets. */
export type Variables = z.infer<typeof Variables>

/**
 * The Worker's bindings, as wrangler.toml names them. A binding whose type is known only to a room above is added by that room, beside the
 * type: `declare module`.
 */
export interface Bindings extends Partial<Record<keyof Variables, string>> {
  DB: D1Database
  KEYS: KVNamespace
  ASSETS: Fetcher
  /** Requests by application key, by admin key, and by the address of those whose key is unknown. */
  APPLICATION_LIMIT: RateLimit
  ADMIN_LIMIT: RateLimit
  ADDRESS_LIMIT: RateLimit
  /** Sends emails, where wrangler.toml has it. */
  EMAIL?: SendEmail
}

/** Parsed variables by the bindings they came from: one entry for each isolate. */
const parsed = new WeakMap<Bindings, Variables>()

/** The variables, checked; an empty one is as good as none, as is an ADMIN_API_KEY that is too short. Throws a ZodError that names the wrong one. */
export function variables(env: Bindings): Variables {
  let found = parsed.get(env)
  if (found === undefined) {
    found = Variables.parse(Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')))
    if (isTooShort(found.ADMIN_API_KEY)) found = { ...found, ADMIN_API_KEY: undefined }
    parsed.set(env, found)
  }
  return found
}

/** Whether the first admin key could be guessed: it is then no key at all, which the log says. */
function isTooShort(key: string | undefined): boolean {
  if (key === undefined || key.length >= ADMIN_KEY_MIN) return false
  const error = `ADMIN_API_KEY has fewer than ${ADMIN_KEY_MIN} characters and is not accepted: set a longer one.`
  console.error(JSON.stringify({ level: 'error', error }))
  return true
}
