/** The statuses of API errors (G2). */
export const ERROR_STATUSES = [400, 401, 403, 404, 405, 408, 412, 413, 415, 422, 429, 500, 503] as const

/** The header `Retry-After`, in seconds, by the reason. */
export const RETRY_AFTER = {
  /** The rate limit is reached. The length of each limit's window, as in wrangler.toml. */
  rateLimit: 10,
  /** Too many requests read all users of a tenant. */
  scans: 10,
  /** Too many requests change a user at once. */
  contention: 1,
  databaseAway: 5,
  starting: 5,
  watchers: 30,
} as const

/** An API error: the status of the response, and a message that says the problem and how to fix it (G2). */
export class ApiError extends Error {
  constructor(
    readonly status: (typeof ERROR_STATUSES)[number],
    message: string,
    /** Seconds to wait before the next attempt; null if waiting does not help. */
    readonly retryAfter: number | null = null,
    /** The problems one by one. Empty if the message is about one problem, and is no 422. */
    readonly issues: readonly FieldError[] = status === 422 ? [{ path: '', message }] : [],
    /** Of a 412: the resource as it is now; null if there is none (G15). */
    readonly current?: object | null,
  ) {
    super(message)
  }

  /** The body of the response (G2). */
  get body() {
    return {
      error: this.message,
      ...(this.issues.length > 0 && { issues: this.issues }),
      ...(this.current !== undefined && { current: this.current }),
    }
  }
}

/** Returns true if an error says that something does not exist, such as a user or tenant who was erased meanwhile. */
export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.status === 404

/** Returns null for such an error. Throws all other errors. */
export function nullIfNotFound(error: unknown): null {
  if (isNotFound(error)) return null
  throw error
}

/**
 * One error in a request's content: the path of the field, and the problem. The message ends without a full
 * stop. If the path is empty, the message is a complete sentence.
 */
export type FieldError = { path: string; message: string }

/** The maximum number of field errors in one response. A batch may have errors in each of its events. */
const MOST_FIELD_ERRORS = 1_000
/** The maximum number of keys, or of events with unknown metrics, in one response. */
const MOST_NAMED = 20

/** Names separated by commas: the first 20, and the number of further names. */
export function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMED
  return [...names.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

/** A count with its unit: `1 point`, `2 points`. */
export const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

/** Whether a text has more than `most` characters: code points, as schemas and OpenAPI count them (G7). */
export const isLonger = (text: string, most: number): boolean =>
  text.length > 2 * most || (text.length > most && [...text].length > most)

const spelled = ({ path, message }: FieldError) => `${path}: ${message}`

const SAME_EVENT = 'with the same idempotency key if it is an event'

/** An error that passes by itself. The text ends before the time to wait. */
const passing = (status: 429 | 503, seconds: number, text: string, end = '.') =>
  new ApiError(status, `${text} in ${counted(seconds, 'second')}${end}`, seconds)

/** All API errors (G2). */
export const errors = {
  keyMissing: () => new ApiError(401, 'No API key was given. Send yours in the X-API-KEY header.'),
  keyInvalid: () =>
    new ApiError(
      401,
      'The API key is not valid. Check the X-API-KEY header, or create a new key with an admin key.',
    ),
  tokenSecretMissing: () =>
    new ApiError(
      422,
      'This deployment has no secret to sign tokens with. Set the variable TOKEN_SECRET to at least 32 random characters.',
    ),
  ticketInvalid: () =>
    new ApiError(
      401,
      'The ticket is not valid, or its 60 seconds are over. Get another one with POST /v1/live-tickets.',
    ),
  adminKeyNeeded: () =>
    new ApiError(403, 'An application key cannot be used on the admin interface. Use an admin key.'),
  readOnly: () =>
    new ApiError(
      403,
      'This application key may only read: its scope is "read". Use a key or a token with the scope "write".',
    ),
  otherUser: () =>
    new ApiError(403, "This application key belongs to another user. Use that user's key, or an admin key."),
  otherValues: () =>
    new ApiError(
      403,
      "With an application key, userAttributes may only name values that the key's own user has. Name those, or use an admin key.",
    ),
  adminFields: (names: readonly string[]) =>
    new ApiError(
      403,
      `Only an admin key may change these: ${listed(names)}. Leave them out, or use an admin key.`,
    ),
  tenantUnexpected: () =>
    new ApiError(422, 'Multi-tenancy is off, so the Tenant-ID header has no meaning. Leave it out.'),
  tenantMissing: () => new ApiError(422, 'Multi-tenancy is on. Name the tenant in the Tenant-ID header.'),
  tenantUnknown: () =>
    new ApiError(404, 'There is no active tenant of this name. Check the Tenant-ID header, or the key.'),
  tenantOther: () =>
    new ApiError(403, 'This application key belongs to another tenant. Leave the Tenant-ID header out.'),
  bodyTooLarge: (limit: string) => new ApiError(413, `The body is larger than ${limit}. Send less at once.`),
  encodingUnknown: (given: string) =>
    new ApiError(
      415,
      `The Content-Encoding ${JSON.stringify(given.slice(0, 100))} is not accepted. Compress the body once, with gzip or deflate, or not at all.`,
    ),
  bodyBroken: (encoding: 'gzip' | 'deflate') =>
    new ApiError(
      400,
      `The body is not whole ${encoding === 'gzip' ? 'gzip' : 'zlib'} data, as Content-Encoding: ${encoding} says. Compress all of it once, or leave the header out.`,
    ),
  bodyTooSlow: (seconds: number) =>
    new ApiError(408, `The body did not arrive within ${seconds} s. Send it again, or in smaller parts.`),
  bodyCutShort: () =>
    new ApiError(400, 'The body broke off, or its chunks are not valid. Send the whole request again.'),
  hostInvalid: () =>
    new ApiError(
      400,
      'The Host header names no host. Send the host of the service, and its port if it has one.',
    ),
  bodyNotJson: () => new ApiError(400, 'The body is not JSON. Send a JSON document in UTF-8.'),
  notFound: (what: string) => new ApiError(404, `${what} does not exist. Check the path.`),
  userUnknown: (userId: string) =>
    new ApiError(404, `No user has the id ${JSON.stringify(userId)}. Check it, or create the user first.`),
  /** `events` are the events of a batch whose metric does not exist, with their index from 0. */
  noMetrics: (events: readonly { index: number; key: string }[]) => {
    const issues = events.map(({ index, key }) => ({
      path: `${index}.key`,
      message: `no metric has the key ${JSON.stringify(key.slice(0, 255))}`,
    }))
    const shown = issues.slice(0, MOST_NAMED).map(spelled)
    const more = issues.length - shown.length
    const list = [...shown, ...(more > 0 ? [`and ${counted(more, 'more event')}`] : [])].join('; ')
    return new ApiError(404, `${list}. Check the keys, or create the metrics first.`, null, issues)
  },
  noRun: (date: string) =>
    new ApiError(
      404,
      `This leaderboard has no run that contains ${date}. Use a date between its start and its end.`,
    ),
  /** `meant` are the paths that the caller may have meant (O5). */
  noSuchPath: (meant: readonly string[] = []) =>
    new ApiError(
      404,
      meant.length === 0
        ? 'This path does not exist. All paths are listed at /docs.'
        : `This path does not exist. Use ${meant.join(' or ')}.`,
    ),
  wrongMethod: (method: string, methods: readonly string[]) =>
    new ApiError(405, `This path does not have the method ${method}. It has ${methods.join(', ')}.`),
  invalid: (fieldErrors: readonly FieldError[]) => {
    const shown = fieldErrors.slice(0, MOST_FIELD_ERRORS)
    const more = fieldErrors.length - shown.length
    const named = shown.filter(({ path }) => path !== '')
    const fields = named.map(spelled)
    if (more > 0) fields.push(`and ${counted(more, 'more problem')}`)
    const sentences = shown.filter(({ path }) => path === '').map(({ message }) => `${message}.`)
    const text = [...(fields.length > 0 ? [`${fields.join('; ')}.`] : []), ...sentences].join(' ')
    const unnamed = more > 0 ? [...sentences, `And ${counted(more, 'more problem')}.`] : sentences
    const issues = [...named, ...unnamed.map((message) => ({ path: '', message }))]
    return new ApiError(422, text, null, issues)
  },
  /** `current` is the resource as it is now; null if there is none. */
  changed: (current: object | null) => {
    const change = current === null ? 'does not exist any more' : 'has changed since you read it'
    const text = `This ${change}, so nothing was done. Look at "current", and decide anew.`
    return new ApiError(412, text, null, [], current)
  },
  unprocessable: (sentence: string) => new ApiError(422, sentence),
  tooMany: () => passing(429, RETRY_AFTER.rateLimit, 'Too many requests. Send fewer, and try again'),
  busy: () =>
    passing(429, RETRY_AFTER.scans, 'Too many requests are reading all users of this tenant. Try again'),
  contended: () =>
    passing(
      429,
      RETRY_AFTER.contention,
      'Too many requests are changing this user at once, so this change was not stored. Try again',
    ),
  unavailable: () => {
    const text = 'The database cannot be reached, or can store nothing, at the moment. Try again'
    return passing(503, RETRY_AFTER.databaseAway, text, `, ${SAME_EVENT}.`)
  },
  /** `name` is the name of a binding, such as `DB_3`. */
  databaseMissing: (name: string) =>
    new ApiError(
      503,
      `The database ${name} holds users, but this deployment has no binding of that name. Bind it again, and deploy.`,
      RETRY_AFTER.databaseAway,
    ),
  tooManyWatchers: () =>
    passing(
      503,
      RETRY_AFTER.watchers,
      'Too many clients watch this leaderboard. Read it with GET /leaderboards/{key}, or try again',
    ),
  tooManyStreams: () =>
    passing(
      429,
      RETRY_AFTER.watchers,
      'This key has too many open streams. Close those that nobody sees any more, or try again',
    ),
  /** `problem` is a sentence that names the migration. */
  otherVersion: (problem: string) =>
    new ApiError(503, `${problem} Then send the request again, ${SAME_EVENT}.`, RETRY_AFTER.databaseAway),
  /** `migration` is the name of the migration that was applied during the request. */
  upgraded: (migration: string) =>
    new ApiError(
      503,
      `The migration ${migration} was applied during the request. Send the request again, ${SAME_EVENT}.`,
      RETRY_AFTER.databaseAway,
    ),
  internal: (requestId: string) =>
    new ApiError(
      500,
      `Something went wrong on our side. Try again. If it happens again, report request ${requestId}.`,
    ),
} as const

/** Throws a 422 that lists every field error, if there are any (G3). */
export function throwIfInvalid(fieldErrors: readonly FieldError[]): void {
  if (fieldErrors.length > 0) throw errors.invalid(fieldErrors)
}

/**
 * Ends a switch over all values of a type. If the switch forgets a value, the call fails the type check.
 * Throws an Error if it is called: then a value does not match its type.
 */
export function unreachable(value: never): never {
  throw new Error(`not expected: ${JSON.stringify(value)}`)
}
