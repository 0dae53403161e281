import * as z from 'zod'
import type { Configuration, Filter } from '../configuration/model'
import { type Instant, iso, parseRfc3339 } from '../lib/clock'
import { counted, isLonger } from '../lib/errors'
import {
  FIRST_SIGN_UP_DATE,
  MOST_ATTRIBUTE_CHARACTERS,
  MOST_ATTRIBUTES,
  MOST_DESCRIPTION_CHARACTERS,
  MOST_EMAIL_CHARACTERS,
  MOST_FILTERS,
  MOST_ID_CHARACTERS,
  MOST_ITEMS,
  MOST_NAME_CHARACTERS,
  MOST_URL_CHARACTERS,
} from '../lib/limits'
import { type CivilDate, isCivilDate, isZone, spelledZone } from '../lib/zone'

const KINDS = new Map([
  ['int', 'a whole number'],
  ['boolean', 'true or false'],
  ['array', 'an array'],
  ['object', 'an object'],
])

function size(origin: string, count: number | bigint): string | undefined {
  const unit = origin === 'string' ? 'character' : origin === 'array' ? 'item' : undefined
  return unit && counted(Number(count), unit)
}

/** The messages of zod's own errors: the problem, and how to fix it, after the field's path (G2, G3). */
function fieldErrorMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      // JSON can contain 1e400, which is a number and is parsed as infinite.
      if (issue.expected === 'number' && typeof issue.input === 'number') return 'must be a finite number'
      const wanted = `must be ${KINDS.get(issue.expected) ?? `a ${issue.expected}`}`
      if (issue.input === undefined) return `${wanted}, and is missing`
      return issue.input === null ? `${wanted}, not null` : wanted
    }
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
    case 'too_small': {
      const count = size(issue.origin, issue.minimum)
      if (count) return `must have at least ${count}`
      return issue.inclusive ? `must be ${issue.minimum} or more` : `must be greater than ${issue.minimum}`
    }
    case 'too_big': {
      const count = size(issue.origin, issue.maximum)
      if (count) return `must have at most ${count}`
      return issue.inclusive ? `must be ${issue.maximum} or less` : `must be less than ${issue.maximum}`
    }
    default:
      return undefined
  }
}

// Set once for all schemas: every schema is made of these fields, so no parse can miss it.
z.config({ customError: fieldErrorMessage })

/** An optional field of a request. Null is absent: client libraries send it for undefined (U2). */
export function optional<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? undefined)
}

/** An optional field of a request, with a default value if it is absent or null (U2). */
export function defaulted<S extends z.ZodType, D extends z.output<S>>(schema: S, fallback: D) {
  return schema
    .nullish()
    .meta({ default: fallback })
    .transform((value) => value ?? fallback)
}

/**
 * A rule between the fields of an object. Its error is reported at `path`. It is tested even if other fields
 * have errors, so that one response names them all (G3). So its test must accept fields of any type.
 */
export function rule(path: string, error: string) {
  return {
    path: [path],
    error,
    when: ({ value }: z.core.ParsePayload) => typeof value === 'object' && value !== null,
  }
}

/** Returns true if a JSON value is an object, and not a list or null. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads a part of a request that has a wrong shape, as far as possible, so that its other errors can be found
 * too (G3). Each field must accept any value, and no value. A part that is not an object has no fields.
 */
export function readable<F extends z.ZodRawShape>(fields: F) {
  return z.preprocess((given) => (isRecord(given) ? given : {}), z.object(fields))
}

/**
 * A whole number of a request, at least `min` and at most `max`. It is not zod's own: after an error of that
 * one, zod does not test the rules between an object's fields (G3).
 */
export function wholeNumber(min: number, max: number) {
  return z
    .number()
    .refine(Number.isInteger, 'must be a whole number')
    .min(min)
    .max(max)
    .meta({ type: 'integer' })
}

/** A number other than `value`. The documents say so too. */
export const isNot = (value: number, schema: z.ZodNumber, error = `must not be ${value}`) =>
  schema.refine((given) => given !== value, error).meta({ not: { const: value } })

/** A text of at most `max` characters. */
export const text = (max: number) => z.string().max(max)

/** The same for a text that must not be empty. */
export const filledText = (max: number) => z.string().min(1, 'must not be empty').max(max)

/** The characters of a user's id, for the OpenAPI documents. */
export const USER_ID_TEXT = { pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]+$', not: { enum: ['.', '..'] } }

/** The caller's own id of a user: its length and its characters (U1). */
export const UserId = z
  .string()
  .min(1)
  .max(MOST_ID_CHARACTERS)
  .refine((id) => !/\p{Cc}/u.test(id), 'must have no control characters')
  .refine((id) => id !== '.' && id !== '..', 'must not be "." or ".."')
  .meta(USER_ID_TEXT)

/** The key of a configured resource (G5). */
export const ConfigKey = z
  .string()
  .max(MOST_ID_CHARACTERS)
  .regex(/^[a-zA-Z0-9_-]+$/, 'must consist of letters, digits, _ and -')

/** An id from Laurel, in any letter case (G4). */
export const Uuid = z
  .guid({ error: ({ input }) => (input === undefined ? 'must be a UUID, and is missing' : 'must be a UUID') })
  .toLowerCase()

/** An id or a key in a path (O1). The operation's `find` looks for the resource, before the validation. */
export const IdOrKey = z.string()

/** The fields of an item of a PATCH that name its resource: `id`, `key`, or the id and a new key (O1). */
export const itemName = { id: optional(Uuid), key: optional(ConfigKey) }

export type AnyItem = Readonly<Record<string, unknown>>

/** Says in the documents that one of these fields is there and not null. A refinement says nothing there. */
export function oneOfFields(...names: readonly string[]) {
  const parts = [...new Set(names)].map((name) => ({
    required: [name],
    properties: { [name]: { not: { type: 'null' } } },
  }))
  return parts.length === 1 ? { ...parts[0] } : { anyOf: parts }
}

/** The rule that an item names its resource, for `check`. */
export const isNamed = [
  z.refine<AnyItem>(
    ({ id, key }) => (id ?? key ?? null) !== null,
    rule('id', 'must be a UUID, and is missing. Pass it, or the key'),
  ),
  z.meta<AnyItem>(oneOfFields('id', 'key')),
]

/** The display name of a configured resource (G7). */
export const Name = z.string().min(1).max(MOST_NAME_CHARACTERS)

/** A text that describes a configured resource (G7). */
export const Description = text(MOST_DESCRIPTION_CHARACTERS)

/** An address that a browser opens or shows: no other scheme, so no script (T4, G7). */
export const webAddress = (pattern: RegExp, error: string) =>
  z
    .string()
    .max(MOST_URL_CHARACTERS)
    .regex(pattern, { error, abort: true })
    .refine((given) => given === '' || URL.canParse(given), error)

const PICTURE = 'must be an https or http URL, such as https://example.com/logo.png'
/** The picture of a configured resource or of the brand, such as a badge (G7, T4). */
export const Picture = z.object({ url: webAddress(/^[hH][tT][tT][pP][sS]?:\/\/\S+$/, PICTURE) })

// HTML's pattern of addresses, with letters, digits and emoji of all scripts instead of ASCII's. Some of them
// are invisible (`DI`), blank, or stand for a lost one. A mark that begins a part changes the sign before it.
const ADDRESS = z.regexes.html5Email.source
  .replaceAll('a-zA-Z0-9', String.raw`\p{L}\p{M}\p{N}\p{So}·・`)
  .replace(/^\^(.*)\$$/, String.raw`^(?:(?!.*(?:[\p{DI}\u2800\ufffc\ufffd\u{1d159}]|(?:^|[.@])\p{M}))$1)?$$`)

/** A user's email address (U1). Only a delivery really tests it. `""` is allowed, and means none. */
export const Email = z
  .string()
  .max(MOST_EMAIL_CHARACTERS)
  .regex(
    new RegExp(ADDRESS, 'u'),
    'must be an email address, such as ada@example.com, without spaces and invisible characters',
  )
  // The documents have a looser pattern: validators do not set the flag that the one above needs.
  .meta({ pattern: String.raw`^(?:[^\s@]+@[^\s@]+)?$` })

/** The name that browsers give if they do not know the zone of their machine. */
const NO_ZONE = 'Etc/Unknown'

/** A user's time zone (U1): an IANA zone, in any letter case. `""` and `NO_ZONE` are allowed, and mean none. */
export const TimeZone = z
  .string()
  .transform((name) => (name === NO_ZONE ? '' : name))
  .refine((name) => name === '' || isZone(name), {
    error: ({ input }) =>
      `must be an IANA time zone, such as Europe/Paris, not ${JSON.stringify(String(input).slice(0, 64))}`,
  })
  .transform(spelledZone)

const isDate = (value: unknown): value is string => typeof value === 'string' && isCivilDate(value)

/** Checks that `end` is not before `start`. Both may be missing, or no dates, which is another error. */
export const endsInOrder = z.refine<{ start?: unknown; end?: unknown }>(
  ({ start, end }) => !isDate(start) || !isDate(end) || start <= end,
  rule('end', 'must not be before start'),
)

/** A date in a request (G4). */
export const DateField = z
  .string()
  .meta({ format: 'date' })
  .transform((text, context): CivilDate => {
    if (isCivilDate(text)) return text
    context.addIssue('must be a date written YYYY-MM-DD')
    return z.NEVER
  })

/** A moment in a request: a timestamp with its offset from UTC, of a year that all languages can read (G4). */
export const MomentField = z
  .string()
  .meta({ format: 'date-time' })
  .transform((text, context): Instant => {
    const at = parseRfc3339(text)
    if (at !== null && isCivilDate(iso(at).slice(0, 10))) return at
    context.addIssue(
      at === null
        ? 'must be an ISO 8601 timestamp with its offset, such as 2026-01-31T09:00:00Z'
        : 'must be in the years 1 to 9999 in UTC',
    )
    return z.NEVER
  })

/**
 * The date on which a user signed up (U9): a date, or a timestamp, of which the date in UTC counts. Whether it is
 * after the user's today is known later.
 */
export const SignUpDate = z
  .string()
  .meta({ format: 'date' })
  .transform((text, context): CivilDate => {
    const at = parseRfc3339(text)
    const date = at === null ? text : iso(at).slice(0, 10)
    if (isCivilDate(date) && date >= FIRST_SIGN_UP_DATE) return date
    context.addIssue(
      `must be a date from ${FIRST_SIGN_UP_DATE} on, written YYYY-MM-DD, or a timestamp with its offset`,
    )
    return z.NEVER
  })

/** A date in a response (G4). */
export const DateResponse = z.string().meta({ format: 'date' })

/** A moment in a response: ISO 8601 in UTC with milliseconds (G4). */
export const Timestamp = z.string().meta({ format: 'date-time' })

/** An id from Laurel in a response (G4). */
export const UuidResponse = z.string().meta({ format: 'uuid' })

const JsonObject = z.custom<object>(isRecord, {
  error: 'must be an object of attribute keys and values',
  abort: false,
})

/** Reads a map, so that `__proto__` is a key like any other (G5). Numbers and booleans become text (U1). */
function attributeMap<V extends string | null>(type: unknown, accepts: (value: unknown) => value is V) {
  const additionalProperties = { type, maxLength: MOST_ATTRIBUTE_CHARACTERS }
  return JsonObject.meta({ type: 'object', additionalProperties }).transform((object, context) => {
    const map = new Map<string, V>()
    const entries = Object.entries(object)
    // A tenant can't configure more, so some of these don't exist. Each one could be an error, so none is
    // read.
    if (entries.length > MOST_ATTRIBUTES) {
      context.addIssue(`must have at most ${MOST_ATTRIBUTES} attributes`)
      return map
    }
    for (const [key, given] of entries) {
      const value = isPlain(given) ? String(given) : given
      if (accepts(value)) map.set(key, value)
      else {
        const message = `must be a string of at most ${MOST_ATTRIBUTE_CHARACTERS} characters, a finite number, true or false`
        context.addIssue({ code: 'custom', path: [key], message, input: value })
      }
    }
    return map
  })
}

/** Whether a value becomes its text (U1). JSON may have 1e400, which is infinite and has no text. */
const isPlain = (value: unknown) =>
  typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))

const isAttributeValue = (value: unknown): value is string =>
  typeof value === 'string' && !isLonger(value, MOST_ATTRIBUTE_CHARACTERS)

/** The values of an event's attributes, by key (E6, U1). */
export const AttributeMap = attributeMap(['string', 'number', 'boolean'], isAttributeValue)

/** Changes to the values of a user's attributes, by key (U1); null removes one (U2). */
export const NullableAttributeMap = attributeMap(
  ['string', 'number', 'boolean', 'null'],
  (value): value is string | null => value === null || isAttributeValue(value),
)

/** The readable attributes of an object, with values of any type; none if there are too many (G3). */
export const ReadableAttributes = z
  .unknown()
  .optional()
  .transform((given): ReadonlyMap<string, unknown> => {
    const entries = isRecord(given) ? Object.entries(given) : []
    return new Map(entries.length > MOST_ATTRIBUTES ? [] : entries)
  })

/** The value of an attribute in a filter. */
const AttributeValue = text(MOST_ATTRIBUTE_CHARACTERS)

/** The body of an admin write: 1–100 items (G7). */
export function items<S extends z.ZodType>(schema: S) {
  return z.array(schema).min(1).max(MOST_ITEMS)
}

/** The reason why an item of an admin write was not done, or a warning about it (G7). */
export const Issue = z
  .object({
    id: z.string().optional(),
    key: z.string().optional(),
    userId: z.string().optional(),
    boostId: z.string().optional(),
    index: z.int32().optional(),
    severity: z.enum(['error', 'warning']),
    message: z.string(),
  })
  .meta({ id: 'AdminIssue' })

/** The response of a write that answers one object: it has `issues` if there are warnings (O4). */
export function withIssues<S extends z.ZodRawShape>(name: string, schema: z.ZodObject<S>) {
  return schema.extend({ issues: z.array(Issue).optional() }).meta({ id: name })
}

/** A resource that an admin write deleted (G7). */
export const DeletedResource = z.object({ id: UuidResponse }).meta({ id: 'DeletedResource' })

/** The response of a create: the created resources, and the reasons why other items were not done (G7). */
export function createResponse<S extends z.ZodType>(name: string, schema: S) {
  return z.object({ created: z.array(schema), issues: z.array(Issue) }).meta({ id: name })
}

/** The response of an update (G7). */
export function updateResponse<S extends z.ZodType>(name: string, schema: S) {
  return z.object({ updated: z.array(schema), issues: z.array(Issue) }).meta({ id: name })
}

/** The response of a delete (G7). */
export function deleteResponse(name: string) {
  return z.object({ deleted: z.array(DeletedResource), issues: z.array(Issue) }).meta({ id: name })
}

/** A filter to configure. It names its attribute by id or by key; without an id, the id is empty (O1). */
const AskedFilter = z
  .object({
    attributeId: optional(Uuid),
    attributeKey: optional(ConfigKey),
    attributeValue: AttributeValue,
  })
  .refine(
    ({ attributeId, attributeKey }) => (attributeId ?? attributeKey ?? null) !== null,
    rule('attributeId', 'must be a UUID, and is missing. Pass it, or attributeKey'),
  )
  .meta(oneOfFields('attributeId', 'attributeKey'))
  .transform(({ attributeId = '', ...filter }) => ({ attributeId, ...filter }))

/** Attribute filters to configure. All of them must match (P2). Null is the same as an empty list. */
export const Filters = z.array(AskedFilter).max(MOST_FILTERS).nullish()

/** Attribute filters as the admin interface serves them. */
export const FiltersResponse = z.array(z.object({ attributeId: UuidResponse, attributeValue: z.string() }))

/** An attribute filter as the application interface shows it: by key. */
export const AttributeFilterResponse = z.object({ key: z.string(), value: z.string() })

/** Filters as the application interface shows them, by key. */
export function filtersResponse(config: Configuration, filters: readonly Filter[]) {
  return filters.flatMap(({ attributeId, attributeValue: value }) => {
    const attribute = config.attributes.find(({ id }) => id === attributeId)
    return attribute === undefined ? [] : [{ key: attribute.key, value }]
  })
}

/** The filters of a trigger or achievement. The singular is the first of the plural (G10). */
export const shownFilterFields = {
  userAttributes: z.array(AttributeFilterResponse),
  eventAttribute: AttributeFilterResponse.optional(),
  eventAttributes: z.array(AttributeFilterResponse).optional(),
}

/** These filters as they are shown. */
export function shownFilters(
  config: Configuration,
  filters: { userAttributes: readonly Filter[]; eventAttributes: readonly Filter[] },
) {
  const eventAttributes = filtersResponse(config, filters.eventAttributes)
  const [eventAttribute] = eventAttributes
  return {
    userAttributes: filtersResponse(config, filters.userAttributes),
    ...(eventAttribute !== undefined && { eventAttribute, eventAttributes }),
  }
}
