import * as z from 'zod'
import { type CivilDate, isCivilDate } from '../lib/civil'
import { isZone, spelledZone } from '../lib/zone'

const ATTRIBUTE_VALUE_MAX = 1_000
/** As many as a tenant can configure. */
const ATTRIBUTES_MAX = 200

const KINDS = new Map([
  ['int', 'a whole number'],
  ['boolean', 'true or false'],
  ['array', 'an array'],
  ['object', 'an object'],
])

/** The unit in which something of that origin is counted; none for numbers. */
function counted(origin: string, count: number | bigint): string | undefined {
  const unit = origin === 'string' ? 'character' : origin === 'array' ? 'item' : undefined
  return unit && `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** What is wrong and how to mend it, for the faults that zod finds by itself; read after the field's path (G2, G3). */
function fieldErrorMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      // JSON can say 1e400, which is a number, and read as infinite.
      if (issue.expected === 'number' && typeof issue.input === 'number') return 'must be a finite number'
      const wanted = `must be ${KINDS.get(issue.expected) ?? `a ${issue.expected}`}`
      if (issue.input === undefined) return `${wanted}, and is missing`
      return issue.input === null ? `${wanted}, not null` : wanted
    }
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
    case 'too_small': {
      const count = counted(issue.origin, issue.minimum)
      if (count) return `must have at least ${count}`
      return issue.inclusive ? `must be ${issue.minimum} or more` : `must be greater than ${issue.minimum}`
    }
    case 'too_big': {
      const count = counted(issue.origin, issue.maximum)
      if (count) return `must have at most ${count}`
      return issue.inclusive ? `must be ${issue.maximum} or less` : `must be less than ${issue.maximum}`
    }
    default:
      return undefined
  }
}

// Set once for all schemas, since every one of them is made of these fields: a parse can't forget it.
z.config({ customError: fieldErrorMessage })

/** An optional field of a request: null counts as absent, since client libraries send it for undefined (U2). */
export function optional<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? undefined)
}

/** An optional field of a request with a value for when it is absent or null (U2). */
export function defaulted<S extends z.ZodType, D extends z.output<S>>(schema: S, fallback: D) {
  return schema
    .nullish()
    .meta({ default: fallback })
    .transform((value) => value ?? fallback)
}

/**
 * A rule between the fields of an object, whose fault is told at `path`. It is tested even where other fields are at fault, so
 * that one answer names them all (G3); its test must therefore bear fields of any type.
 */
export function rule(path: string, error: string) {
  return {
    path: [path],
    error,
    when: ({ value }: z.core.ParsePayload) => typeof value === 'object' && value !== null,
  }
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Reads a part of a request whose shape is wrong, as far as it can be read, so that its other faults can be found too (G3). Each field must
 * bear any value, and none. What is no object has no fields.
 */
export function readable<F extends z.ZodRawShape>(fields: F) {
  return z.preprocess((given) => (isRecord(given) ? given : {}), z.object(fields))
}

/**
 * A whole number of a request, at least `min` and at most `max`. Not zod's own, whose fault would keep the rules between an
 * object's fields from being tested (G3).
 */
export function wholeNumber(min: number, max: number) {
  return z
    .number()
    .refine(Number.isInteger, 'must be a whole number')
    .min(min)
    .max(max)
    .meta({ type: 'integer' })
}

/** A text of so many characters; an unpaired surrogate, which UTF-8 can't say, becomes U+FFFD as it would when stored. */
export const text = (max: number) =>
  z
    .string()
    .max(max)
    .transform((given) => given.toWellFormed())

/** The caller's own id of a user (U1). */
export const UserId = z
  .string()
  .min(1)
  .max(255)
  .refine((id) => !/[\p{Cc}\p{Cs}]/u.test(id), 'must have no control characters and no unpaired surrogates')
  .refine((id) => id !== '.' && id !== '..', 'must not be "." or ".."')

/** The key of something configured (G5). */
export const ConfigKey = z
  .string()
  .max(255)
  .regex(/^[a-zA-Z0-9_-]+$/, 'must consist of letters, digits, _ and -')

/** An id of ours, read in either case (G4). */
export const Uuid = z
  .guid({ error: ({ input }) => (input === undefined ? 'must be a UUID, and is missing' : 'must be a UUID') })
  .toLowerCase()

/** The display name of something configured. */
export const Name = z
  .string()
  .min(1)
  .max(255)
  .transform((given) => given.toWellFormed())

/** A text that describes something configured. */
export const Description = text(2_000)

/** The badge of something configured. */
export const Badge = z.object({ url: text(2_048).refine((url) => url !== '', 'must not be empty') })

/** Whatever looks like an address; delivery is the only real test of one (U1). `""` is allowed, and means none. */
export const Email = z
  .string()
  .max(320)
  .regex(
    /^(?:[^\s@\p{Cc}\p{Cs}]+@[^\s@\p{Cc}\p{Cs}]+)?$/u,
    'must be an email address, such as ada@example.com',
  )

/** An IANA time zone, in any letter case (U1). `""` is allowed, and means none. */
export const TimeZone = z
  .string()
  .refine((name) => name === '' || isZone(name), 'must be an IANA time zone, such as Europe/Paris')
  .transform(spelledZone)

/** A date in a request (G4). */
export const DateField = z
  .string()
  .meta({ format: 'date' })
  .transform((text, context): CivilDate => {
    if (isCivilDate(text)) return text
    context.addIssue('must be a date written YYYY-MM-DD')
    return z.NEVER
  })

/** A date in an answer (G4). */
export const DateResponse = z.string().meta({ format: 'date' })

/** A moment in an answer: ISO 8601 in UTC with milliseconds (G4). */
export const Timestamp = z.string().meta({ format: 'date-time' })

/** An id of ours in an answer (G4). */
export const UuidResponse = z.string().meta({ format: 'uuid' })

const JsonObject = z.custom<object>(isRecord, {
  error: 'must be an object of attribute keys and values',
  abort: false,
})

/**
 * Reads an object as a map, since `__proto__` and `constructor` are keys like any other (G5). Numbers and booleans are taken as their
 * text (U1).
 */
function attributeMap<V extends string | null>(type: unknown, accepts: (value: unknown) => value is V) {
  const additionalProperties = { type, maxLength: ATTRIBUTE_VALUE_MAX }
  return JsonObject.meta({ type: 'object', additionalProperties }).transform((object, context) => {
    const map = new Map<string, V>()
    const entries = Object.entries(object)
    // More can't be configured, so some of them aren't; and each may be a fault of its own.
    if (entries.length > ATTRIBUTES_MAX) {
      context.addIssue(`must have at most ${ATTRIBUTES_MAX} attributes`)
      return map
    }
    for (const [key, given] of entries) {
      const value = isPlain(given) ? String(given) : given
      if (accepts(value)) map.set(key, value)
      else {
        const message = `must be a string of at most ${ATTRIBUTE_VALUE_MAX} characters, without unpaired surrogates, a finite number, true or false`
        context.addIssue({ code: 'custom', path: [key], message, input: value })
      }
    }
    return map
  })
}

/** JSON can say 1e400, which is read as infinite, and has no text of its own. */
const isPlain = (value: unknown) =>
  typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))

const isAttributeValue = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= ATTRIBUTE_VALUE_MAX && value.isWellFormed()

/** The attributes of an event, by key (E6). */
export const AttributeMap = attributeMap(['string', 'number', 'boolean'], isAttributeValue)

/** Changes to a user's attributes, by key; null removes one (U2). */
export const NullableAttributeMap = attributeMap(
  ['string', 'number', 'boolean', 'null'],
  (value): value is string | null => value === null || isAttributeValue(value),
)

/** The attributes of an object that is read as far as it can be, whatever their values are; none if there are too many (G3). */
export const ReadableAttributes = z
  .unknown()
  .optional()
  .transform((given): ReadonlyMap<string, unknown> => {
    const entries = isRecord(given) ? Object.entries(given) : []
    return new Map(entries.length > ATTRIBUTES_MAX ? [] : entries)
  })

/** The value of an attribute in a filter. */
export const AttributeValue = text(ATTRIBUTE_VALUE_MAX)

/** The body of an admin write: 1–100 items (G7). */
export function items<S extends z.ZodType>(schema: S) {
  return z.array(schema).min(1).max(100)
}

/** What kept an item of an admin write from being done, or is worth knowing of it (G7). */
export const Issue = z
  .object({
    id: z.string().optional(),
    userId: z.string().optional(),
    boostId: z.string().optional(),
    index: z.int32().optional(),
    severity: z.enum(['error', 'warning']),
    message: z.string(),
  })
  .meta({ id: 'AdminIssue' })

/** Something that an admin write deleted (G7). */
export const DeletedResource = z.object({ id: UuidResponse }).meta({ id: 'DeletedResource' })

/** The answer of a create: what came of the items that could be done, and why the others could not (G7). */
export function createResponse<S extends z.ZodType>(name: string, schema: S) {
  return z.object({ created: z.array(schema), issues: z.array(Issue) }).meta({ id: name })
}

/** The answer of an update (G7). */
export function updateResponse<S extends z.ZodType>(name: string, schema: S) {
  return z.object({ updated: z.array(schema), issues: z.array(Issue) }).meta({ id: name })
}

/** The answer of a delete (G7). */
export function deleteResponse(name: string) {
  return z.object({ deleted: z.array(DeletedResource), issues: z.array(Issue) }).meta({ id: name })
}
