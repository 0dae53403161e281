import * as z from 'zod'
import { LOG_DAYS } from '../lib/limits'
import { namedTarget } from '../lib/net'
import { logProblem } from './log'

const onOff = z.enum(['on', 'off'], 'must be on or off')
const some = z.string().optional()
const wholeNumber = (most: number) => {
  const error = `must be a whole number from 1 to ${most}`
  return z.coerce.number(error).int(error).min(1, error).max(most, error)
}
const seconds = wholeNumber(300)
const days = wholeNumber(3_650)
const secret = z.string().min(32, 'must have at least 32 characters').optional()
/** The base of addresses. Slashes at its end are removed. */
const base = z
  .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
  .transform((url) => url.replace(/\/+$/, ''))

const Variables = z.object({
  /** The first admin key (K4). If it is too short or missing, other admin keys are needed. */
  ADMIN_API_KEY: z.string().optional(),
  /** Signs user tokens and live tickets (K6). Without it, none can be made. */
  TOKEN_SECRET: secret,
  /** The secret before: tokens that it has signed are accepted until they end (K6). */
  TOKEN_SECRET_PREVIOUS: secret,
  /** The host on which `/v1/…` is the admin interface (G1). */
  ADMIN_HOST: z.string().optional(),
  /** The key of this deployment among a team's environments (T6). */
  ENVIRONMENT: z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/, 'must consist of letters, digits, _ and -')
    .default('production'),
  MULTI_TENANCY: onOff.default('off'),
  /** Development only: `/admin/v1/test-clock` exists (C1). */
  TEST_CLOCK: onOff.default('off'),
  RATE_LIMITS: onOff.default('on'),
  /** Seconds within which a webhook must respond (W4). */
  WEBHOOK_TIMEOUT: seconds.default(60),
  /** Seconds within which the body of a request must arrive (G2). */
  BODY_TIMEOUT: seconds.default(30),
  /** Private or http targets that webhooks may have: a list of `host:port`, separated by commas (W1). */
  WEBHOOK_ALLOW: z
    .string()
    .optional()
    .transform((text, context) => {
      const entries = text?.split(',').map((entry) => entry.trim()) ?? []
      const allowed = entries.map(namedTarget)
      if (allowed.includes(null))
        context.addIssue(
          'must be host:port, or several of them separated by commas, with IPv6 addresses in brackets',
        )
      return new Set(allowed.filter((target) => target !== null))
    }),
  /** Days for which the log of deliveries and notifications keeps messages that are settled (W4, N4). */
  DELIVERY_LOG_DAYS: days.default(LOG_DAYS),
  /** Days for which a batch of events can be asked for. Without it, for ever (E9). */
  BATCH_LOG_DAYS: days.optional(),
  DEMO: onOff.default('off'),
  /** Development only: where `npm start`, on the same machine, exchanges the code of its console link. */
  CONSOLE_SIGN_IN: z
    .string()
    .regex(/^http:\/\/127\.0\.0\.1:\d{1,5}\/$/, 'is set by npm start alone. Remove it')
    .optional(),
  /** The public address, for links in notifications; else that through which the template was written. */
  PUBLIC_URL: base.optional(),
  /** The sender of emails, such as `Ada <ada@example.com>`. Without it, no emails are sent. */
  EMAIL_FROM: some,
  /** If this is set, Resend sends the emails. Otherwise the binding `EMAIL` sends them, if there is one. */
  RESEND_API_KEY: some,
  RESEND_URL: base.default('https://api.resend.com'),
  /** Push by Expo is on if one of the two is set. */
  EXPO_ACCESS_TOKEN: some,
  EXPO_URL: base.optional(),
  /** Push by APNs needs all of these but the address: the text of the .p8 file, the app's bundle id. */
  APNS_KEY: some,
  APNS_KEY_ID: some,
  APNS_TEAM_ID: some,
  APNS_TOPIC: some,
  APNS_URL: base.default('https://api.push.apple.com'),
  /** Push by FCM is on if the service account's JSON is set. */
  FCM_SERVICE_ACCOUNT: some,
  FCM_URL: base.default('https://fcm.googleapis.com'),
})

const ADMIN_KEY_MIN = 32

/** The settings of the deployment, from variables and secrets. */
export type Variables = z.infer<typeof Variables>

/**
 * The Worker's bindings, with their names in wrangler.toml. Further databases are found by their names
 * (`boundDatabases`). If only a higher room knows the type of a
 * binding, that room adds the binding next to the type, with `declare module`.
 */
export interface Bindings extends Partial<Record<keyof Variables, string>> {
  DB: D1Database
  KEYS: KVNamespace
  ASSETS: Fetcher
  /** The rate limits by application key, by admin key, and, if the key is unknown, by address. */
  APPLICATION_LIMIT: RateLimit
  ADMIN_LIMIT: RateLimit
  ADDRESS_LIMIT: RateLimit
  EMAIL?: SendEmail
  /** Under `npm run serve`: the server beside workerd, which sees the disk and the network. */
  SERVER?: Fetcher
}

/** Every binding that the Worker needs: all but those that wrangler.toml may leave out, and the variables. */
type Needed = {
  [Name in keyof Bindings]-?: undefined extends Bindings[Name] ? never : Name
}[keyof Bindings]

// A record, so that the type check fails for a binding that is not listed.
const NEEDED: Readonly<Record<Needed, true>> = {
  DB: true,
  KEYS: true,
  ASSETS: true,
  APPLICATION_LIMIT: true,
  ADMIN_LIMIT: true,
  ADDRESS_LIMIT: true,
  USER_LANE: true,
  LEADERBOARD: true,
  TIMEKEEPER: true,
  DELIVERY_QUEUE: true,
  DELETIONS: true,
  REPAIRS: true,
  OUTBOX: true,
}

/** The names of needed bindings that this deployment lacks. `npm run deploy` asks too. */
export const missingBindings = (env: Bindings): string[] => {
  const present = new Set(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [name])))
  return Object.keys(NEEDED).filter((name) => !present.has(name))
}

/** Parsed variables by the bindings they came from: one entry for each isolate. */
const parsed = new WeakMap<Bindings, Variables>()

/** The variables that are set. An empty one counts as not set. */
const setIn = (env: object) => Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))

/** The checked variables. A too short ADMIN_API_KEY is left out. A ZodError names a wrong variable. */
export function variables(env: Bindings): Variables {
  let found = parsed.get(env)
  if (found === undefined) {
    found = Variables.parse(setIn(env))
    if (isTooShort(found.ADMIN_API_KEY)) {
      const error = `ADMIN_API_KEY has fewer than ${ADMIN_KEY_MIN} characters and is not accepted: set a longer one.`
      logProblem('error', { error })
      found = { ...found, ADMIN_API_KEY: undefined }
    }
    parsed.set(env, found)
  }
  return found
}

/**
 * The problems with variables. Each message names its variable, says how to fix it, and never repeats the
 * value. `npm start` calls this before it starts the Worker (scripts/lib/dev-vars.mjs).
 */
export function variableErrors(given: Readonly<Record<string, string>>): string[] {
  const { error } = Variables.safeParse(setIn(given))
  const fieldErrors = (error?.issues ?? []).map(({ path, message }) => `${path.join('.')} ${message}.`)
  if (isTooShort(given.ADMIN_API_KEY))
    fieldErrors.push(
      `ADMIN_API_KEY must have at least ${ADMIN_KEY_MIN} characters. If you leave it out, npm start makes one, and npm run serve takes only keys that were created before.`,
    )
  return fieldErrors
}

const isTooShort = (key: string | undefined) => key !== undefined && key !== '' && key.length < ADMIN_KEY_MIN
