import { base64url } from 'jose'
import * as z from 'zod'
import { INT32_MAX } from '../lib/decimal'
import { isId } from '../lib/ids'
import { MOST_IDS, MOST_SUMMARY_DAYS, PAGES } from '../lib/limits'
import { AGGREGATIONS, dayOf, isCivilDate } from '../lib/zone'
import { ConfigKey, DateField, rule } from './fields'

/** The parameters of a `z.custom` after whose error zod still tests rules between fields (G3). */
const fieldError = (error: string) => ({ error, abort: false })

/** A whole number in a query string, given once; the fallback if it is absent. */
export function integerQuery<F extends number | undefined>(range: { min: number; max: number; fallback: F }) {
  const { min, max, fallback } = range
  const isInside = (n: number) => Number.isSafeInteger(n) && n >= min && n <= max
  return z
    .custom<string>(
      (text) => typeof text === 'string' && /^-?\d+$/.test(text) && isInside(Number(text)),
      fieldError(`must be one whole number, at least ${min} and at most ${max}`),
    )
    .meta({
      type: 'integer',
      minimum: min,
      maximum: max,
      ...(fallback !== undefined && { default: fallback }),
    })
    .optional()
    .transform((text) => (text === undefined ? fallback : Number(text)))
}

/** `true` or `false` in a query string; the fallback if it is absent. */
export function booleanQuery(fallback: boolean) {
  return z
    .custom<string>((text) => text === 'true' || text === 'false', fieldError('must be true or false'))
    .meta({ type: 'boolean', default: fallback })
    .optional()
    .transform((text) => (text === undefined ? fallback : text === 'true'))
}

/** The parameter `ids`: repeated, comma-separated or both; 1–100 different ones, in the order given (G7). */
export const IdsQuery = z
  .custom<string | string[]>((given) => given !== undefined, fieldError('must be UUIDs, and is missing'))
  .meta({ type: 'array', items: { type: 'string', format: 'uuid' }, minItems: 1 })
  .transform((given, context) => {
    const ids = new Set([given].flat().flatMap((part) => part.toLowerCase().split(',')))
    const bad = [...ids].filter((id) => !isId(id))
    if (bad.length > 0) context.addIssue(`must be UUIDs, and these are not: ${bad.join(', ') || '(empty)'}`)
    if (ids.size > MOST_IDS) context.addIssue(`must be at most ${MOST_IDS} UUIDs at once`)
    return [...ids]
  })

/** Keys in a query: repeated, comma-separated or both; 1–100 different ones, in the order given (O1). */
const KeysQuery = z
  .custom<string | string[]>((given) => given !== undefined, fieldError('must be keys, and is missing'))
  .meta({ type: 'array', items: { type: 'string', pattern: '^[a-zA-Z0-9_-]+$' }, minItems: 1 })
  .transform((given, context) => {
    const keys = new Set([given].flat().flatMap((part) => part.split(',')))
    const bad = [...keys].filter((key) => !ConfigKey.safeParse(key).success)
    if (bad.length > 0) {
      const shown = bad.map((key) => key.slice(0, MOST_IDS)).join(', ')
      context.addIssue(`must be keys of letters, digits, _ and -, and these are not: ${shown || '(empty)'}`)
    }
    if (keys.size > MOST_IDS) context.addIssue(`must be at most ${MOST_IDS} keys at once`)
    return [...keys]
  })

const isGiven = (value: unknown) => value !== undefined
const NO_NAMES = 'must be UUIDs, and is missing. Pass it, or keys'

/** The resources of a DELETE: `ids`, `keys` or both, and other parameters (G7, O1). */
export const namesQuery = <F extends z.ZodRawShape>(further: F) =>
  z
    .object({ ids: IdsQuery.optional(), keys: KeysQuery.optional(), ...further })
    .refine(
      ({ ids, keys }: { ids?: unknown; keys?: unknown }) => isGiven(ids) || isGiven(keys),
      rule('ids', NO_NAMES),
    )

/** The page of an admin list (G7). */
export const ListQuery = z.object({
  limit: integerQuery({ min: 1, ...PAGES.admin }),
  skip: integerQuery({ min: 0, max: INT32_MAX, fallback: 0 }),
})

/** The same for resources with keys: `key` limits the list to these keys (O1). */
export const KeyedListQuery = ListQuery.extend({ key: KeysQuery.optional() })

/** The comma after a `key:value` pair (G6): the next pair's key (G5) and colon follow it. */
const BETWEEN_PAIRS = /, *(?=[a-zA-Z0-9_-]{1,255}:)/
const PAIR = /^([a-zA-Z0-9_-]{1,255}):(.*)$/s

const isText = (given: unknown) => typeof given === 'string'

/**
 * A list of `key:value` pairs as a map (G6). A parameter that is given once is a list, separated by commas.
 * If a parameter is repeated, each one is a pair and is never split. The same pair twice counts as one.
 */
const PairsQuery = z
  .custom<string | string[]>(
    (given) => isText(given) || (Array.isArray(given) && given.every(isText)),
    fieldError('must be key:value pairs'),
  )
  .transform((given, context) => {
    const values = new Map<string, string>()
    for (const pair of isText(given) ? given.split(BETWEEN_PAIRS) : given) {
      const [, key, value] = PAIR.exec(pair) ?? []
      if (key === undefined || value === undefined) {
        context.addIssue(
          `must be key:value pairs separated by commas, and ${JSON.stringify(pair)} is not a pair`,
        )
      } else if ((values.get(key) ?? value) !== value) {
        context.addIssue(`must give each attribute one value, but gives ${key} two`)
      } else values.set(key, value)
    }
    return values
  })

const TEXT = { type: 'string', pattern: '^[a-zA-Z0-9_-]+:' } as const
/** The parameter `userAttributes`: values of user attributes by key, which may be repeated (G6). */
export const UserAttributesQuery = PairsQuery.meta({ ...TEXT, type: ['string', 'array'], items: TEXT })

/** Gives the dates of a query their camel-case names (G6); if both spellings are given, camel case counts. */
function camelCased(query: unknown): unknown {
  if (typeof query !== 'object' || query === null) return query
  const given = { start_date: undefined, end_date: undefined, ...query }
  const { start_date: startDate, end_date: endDate, ...rest } = given
  return { startDate, endDate, ...rest }
}

const areDates = (...dates: string[]) => dates.every((date) => typeof date === 'string' && isCivilDate(date))

/** For the documents only: `camelCased` takes it away. */
const otherSpelling = (of: string) =>
  z
    .string()
    .optional()
    .meta({ description: `Another spelling of ${of}. Ignored if that is there.` })

/** The range and the buckets of an event summary, in either spelling of the dates (P12, G6). */
export const SummaryQuery = z
  .preprocess(
    camelCased,
    z
      .object({
        aggregation: z.enum(AGGREGATIONS),
        startDate: DateField,
        endDate: DateField,
        start_date: otherSpelling('startDate'),
        end_date: otherSpelling('endDate'),
      })
      .refine(
        ({ startDate, endDate }) => !areDates(startDate, endDate) || startDate <= endDate,
        rule('endDate', 'must not be before startDate'),
      )
      // The limit is on the days between the two dates, so a range may have 401 dates.
      .refine(
        ({ startDate, endDate }) =>
          !areDates(startDate, endDate) || dayOf(endDate) - dayOf(startDate) <= MOST_SUMMARY_DAYS,
        rule('endDate', `must be at most ${MOST_SUMMARY_DAYS} days after startDate`),
      ),
  )
  .transform(({ aggregation, startDate, endDate }) => ({ aggregation, startDate, endDate }))

const NEXT_LINK = 'The address of the next page, with rel="next"; absent on the last page.'

/** Describes the reply of a list for the documents. Its header `Link` has the address of the next page, if there is one (O3). */
export const pageResponse = <B extends z.ZodType>(description: string, body: B) => ({
  description,
  body,
  optionalHeaders: { Link: NEXT_LINK },
})

/** A cursor in a query: base64url of JSON. */
const cursorOf = (value: unknown): string => base64url.encode(JSON.stringify(value))

function readCursor(text: string): unknown {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  return JSON.parse(decoder.decode(base64url.decode(text)))
}

/** The parameter `after`: a cursor whose content, by this schema, is the end of the page before. */
export function cursorQuery<S extends z.ZodType>(schema: S) {
  return z
    .string('must be given once')
    .meta({ pattern: '^[A-Za-z0-9_-]+$' })
    .transform((text, context): z.output<S> => {
      try {
        return schema.parse(readCursor(text))
      } catch {
        context.addIssue('must be the cursor in the Link header of the page before')
        return z.NEVER
      }
    })
}

/**
 * The query of a list that can be long: it pages by `limit` and the cursor `after`, and also by `skip`
 * (O3, G7). `schema` is of the cursor's content, and `further` has the list's other parameters.
 */
export function longListQuery<S extends z.ZodType, F extends z.ZodRawShape>(
  schema: S,
  further: F,
  paging: typeof ListQuery = ListQuery,
) {
  return z
    .object({ ...paging.shape, after: cursorQuery(schema).optional(), ...further })
    .refine(
      ({ skip, after }: { skip?: unknown; after?: unknown }) => !skip || after === undefined,
      rule('skip', 'must be left out if after is given. Pass only one of the two'),
    )
}

/** A page of a long list: its items, and the cursor of the page after it; null on the last one. */
export type LongPage<Items, Cursor> = { items: Items; next: Cursor | null }

/**
 * The reply with a page of a long list, and the header `Link` to the next page: the requested address with
 * this query, without `skip`, and the cursor (O3, RFC 8288, G1).
 */
export function longPage<Items, Cursor>(
  { origin, path }: { origin: string | null; path: string },
  query: Readonly<Record<string, unknown>>,
  { items, next }: LongPage<Items, Cursor>,
) {
  const { skip: _skip, after: _after, ...rest } = query
  const same = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined ? [] : textsOf(value).map((text) => [name, text]),
  )
  const search = new URLSearchParams([...same, ['after', cursorOf(next)]])
  const headers = next === null ? {} : { Link: `<${origin ?? ''}${path}?${search}>; rel="next"` }
  return { status: 200 as const, body: items, headers }
}

/** A value of a query as texts, one for each repetition. A single pair is repeated: it is not split (G6). */
function textsOf(value: unknown): readonly string[] {
  if (!(value instanceof Map)) return [String(value)]
  const pairs = [...value].map(([key, of]) => `${key}:${of}`)
  return pairs.length === 1 ? [...pairs, ...pairs] : pairs
}
