import { importPKCS8 } from 'jose'
import * as z from 'zod'
import { LOG_DAYS } from '../lib/limits'
import { namedTarget } from '../lib/net'
import { logProblem } from './log'

const onOff = z.enum(['on', 'off'], 'must be on or off')
const some = z.string().optional()
const wholeNumber = (most: number) => {
  const error = `must be a whole number from 1 to ${most}`
  const digits = z.coerce.string().regex(/^\s*\d+\s*$/, error)
  return digits.transform(Number).pipe(z.number().min(1, error).max(most, error))
}
const seconds = wholeNumber(300)
const days = wholeNumber(3_650)
const secret = z.string().min(32, 'must have at least 32 characters').optional()
/** The base of addresses. Slashes at its end are removed. */
const base = z
  .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
  .transform((url) => url.replace(/\/+$/, ''))
const text = (pattern: RegExp, error: string) => z.string().regex(pattern, error).optional()
const inHeader = text(/^[\x21-\x7e]+$/, 'must consist of printable ASCII characters without spaces')
const adminKey = text(
  /^[\x21-\x7e]{32,}$/,
  'must have at least 32 characters, all of them printable ASCII without spaces. If you leave it out, npm start makes one, and npm run serve takes only keys that were created before',
)

const Variables = z.object({
  /** The first admin key (K4). If it is wrong or missing, other admin keys are needed. */
  ADMIN_API_KEY: adminKey.catch(undefined),
  /** Signs user tokens and live tickets (K6). Without it, none can be made. */
  TOKEN_SECRET: secret,
  /** The secret before: tokens that it has signed are accepted until they end (K6). */
  TOKEN_SECRET_PREVIOUS: secret,
  /** The host on which `/v1/…` is the admin interface (G1). */
  ADMIN_HOST: some,
  /** The key of this deployment among a team's environments (T6). */
  ENVIRONMENT: text(/^[\w-]+$/, 'must consist of letters, digits, _ and -').default('production'),
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
  /** Development only: `npm start`, which is the server beside workerd, exchanges the code of its console link. */
  CONSOLE_SIGN_IN: text(/^on$/, 'is set by npm start alone. Remove it'),
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

/** The JSON of a Firebase service account. */
const ServiceAccount = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(
    z.object({
      client_email: z.string(),
      private_key: z.string(),
      project_id: z.string(),
      token_uri: z.url().default('https://oauth2.googleapis.com/token'),
    }),
  )
export type ServiceAccount = z.infer<typeof ServiceAccount>

/** The service account in a text; null if there is none. */
export function serviceAccountIn(text: string): ServiceAccount | null {
  try {
    return ServiceAccount.parse(text)
  } catch {
    return null
  }
}

/** The private key in a text, whose line ends may be written as `\n`. Throws if it is not for the algorithm. */
export const privateKeyIn = (text: string, algorithm: 'ES256' | 'RS256') =>
  importPKCS8(text.replaceAll('\\n', '\n'), algorithm)

const isKey = (pem: string | undefined, algorithm: 'ES256' | 'RS256') =>
  privateKeyIn(pem ?? '', algorithm).then(Boolean, () => false)
const tested = (isRight: (given: string) => Promise<boolean>, error: string) =>
  z.string().refine(isRight, error).optional()
const NO_ACCOUNT = 'must be the JSON of a service account, with its private key'
const appleId = text(/^[A-Z0-9]{10}$/, 'must be the 10 capital letters and digits that Apple shows')

/** What else a start demands. A deployed Worker only logs the fault: what needs the value fails. */
const AtStart = Variables.extend({
  ADMIN_API_KEY: adminKey,
  ADMIN_HOST: text(
    /^(?!.*:(?:80|443)$)(?:[\w-]+(?:\.[\w-]+)*|\[[\da-f:.]+\])(?::\d{1,5})?$/i,
    'must be a host, such as admin.example.com, without https:// and path, and with a port only if that is neither 80 nor 443',
  ),
  PUBLIC_URL: base
    .refine((url) => /^[^/]+\/\/[^/?#]+$/.test(url), 'must have no path: Laurel needs a host of its own')
    .optional(),
  EMAIL_FROM: text(
    /^(?=[^<>]+$|[^<>]*<[^<>]+>$)(?:[^<>]*<)?[^\s<>@"(),:;]+@[^\s<>@"(),:;]+>?$/,
    'must be an email address, such as ada@example.com or Ada <ada@example.com>',
  ),
  RESEND_API_KEY: inHeader,
  EXPO_ACCESS_TOKEN: inHeader,
  APNS_KEY_ID: appleId,
  APNS_TEAM_ID: appleId,
  APNS_TOPIC: inHeader,
})

/** The variables of `npm start` and `npm run serve` themselves. */
const OfServer = z.object({
  PORT: wholeNumber(65_535).default(8787),
  /** How many databases there are. */
  DATABASES: wholeNumber(100).default(1),
  HOST: z.string().default('127.0.0.1'),
  LAUREL_DATA: text(/^[^~$]/, 'must not begin with ~ or $').default('data'),
  /** The header in which a proxy names the client's address: no other known header, and no `true` or `1`. */
  TRUST_PROXY: text(
    /^(?:[\w-]*(?:addr|address|client|forwarded-for|ip|ip-?v[46]|peer|remote)|(?!(?:accept|access|cache|cdn|cf|content|idempotency|if|keep|last|max|proxy|sec|tenant|transfer|upgrade|user|x-api|x-correlation|x-forwarded|x-original|x-request|x-requested|x-trace|x-url)-|x-scheme$)\w+-[\w-]+)$/i,
    'must be the name of the header in which the proxy sends the address of the client, such as X-Forwarded-For, X-Real-IP or CF-Connecting-IP',
  ),
})
const Known = AtStart.extend(OfServer.shape).extend({
  APNS_KEY: tested((pem) => isKey(pem, 'ES256'), 'must be the text of a .p8 file'),
  FCM_SERVICE_ACCOUNT: tested((json) => isKey(serviceAccountIn(json)?.private_key, 'RS256'), NO_ACCOUNT),
})

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

/** The checked variables. A wrong ADMIN_API_KEY is left out. A ZodError names a wrong variable. */
export function variables(env: Bindings): Variables {
  let found = parsed.get(env)
  if (found === undefined) {
    found = Variables.parse(setIn(env))
    for (const error of problems(env, AtStart.safeParse(setIn(env)).error)) logProblem('error', { error })
    parsed.set(env, found)
  }
  return found
}

/** The names of the variables of the Worker. `npm start` sets one more by itself. */
export const VARIABLES = Object.keys(Variables.shape).filter((name) => name !== 'CONSOLE_SIGN_IN')

/** The variables of `npm start` and `npm run serve` themselves. `variableErrors` has found none wrong. */
export const serverVariables = (given: object) => OfServer.parse(setIn(given))

/** What shells, containers and files of variables leave in a value, or put in its place. */
function mistakeIn(name: string, value: string): string | undefined {
  // The text of a file has line ends.
  const isFile = name === 'APNS_KEY' || name === 'FCM_SERVICE_ACCOUNT'
  if (!isFile && /^\s|\s$|[\p{Cc}\ufffd]|\$\{|^\$\w+$/u.test(value))
    return 'must have no white space at its ends, and in it no line ends, control characters or names such as $NAME'
  if (/^(["'`]).*\1$/s.test(value)) return 'must not be in quotes, which would be a part of it'
  // Base64 may begin with a slash too.
  const path =
    /^(?:~|\.\.?|file:|\w:|\/(?:app|data|etc|home|mnt|opt|root|run|secrets|srv|tmp|usr|Users|var))[\\/]|^(?:\/[a-z0-9._-]+)+$/
  if (name !== 'LAUREL_DATA' && path.test(value)) return 'must be the text itself, not the path of a file'
  return undefined
}

/** The problems with variables, one for each that has any, with its name and without its value. */
function problems(given: object, error: z.ZodError | undefined): string[] {
  const faults = new Map(error?.issues.toReversed().map(({ path, message }) => [path.join('.'), message]))
  for (const [name, value] of Object.entries(setIn(given))) {
    const mistake = name in Known.shape && typeof value === 'string' ? mistakeIn(name, value) : undefined
    if (mistake !== undefined) faults.set(name, mistake)
  }
  return [...faults].map(([name, fault]) => `${name} ${fault}.`)
}

/**
 * The problems with variables, also those of the server itself. Each message names its variable, says how to
 * fix it, and does not repeat the value. What runs or deploys Laurel refuses to go on with them.
 */
export const variableErrors = async (given: Readonly<Record<string, string>>): Promise<string[]> =>
  problems(given, (await Known.safeParseAsync(setIn(given))).error)
