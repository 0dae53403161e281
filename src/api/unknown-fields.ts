import { closest, distance } from 'fastest-levenshtein'
import * as z from 'zod'
import type { Surface } from '../access/credentials'
import { counted, type FieldError } from '../lib/errors'

/** A field of a body that the schema does not know, and the names that it knows in its place. */
export type UnknownField = { path: readonly (string | number)[]; known: readonly string[]; isAlone: boolean }

/** A warning about an unknown field (O4). */
export type FieldWarning = { index?: number; severity: 'warning'; message: string }

/** The maximum number of warnings in one response. A batch may have unknown fields in each of its events. */
const MOST_WARNINGS = 1_000
/** The most characters of an unknown name that a message repeats, and that are compared. */
const MOST_NAME_CHARACTERS = 100
/** The most fields that the header of ignored fields names, and its most characters without the count. */
const MOST_IGNORED = 20
const MOST_IGNORED_CHARACTERS = 1_000
/** The most letters by which a misspelled name differs from the name that is meant. */
const MOST_DIFFERENT = 2

/** The schema of the value itself, without the wrappers for absent, null and transformed values. */
function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap())
  if (schema instanceof z.ZodPipe)
    return unwrapped(schema.in instanceof z.ZodTransform ? schema.out : schema.in)
  return schema
}

/** The letters of a name, so that `metric_id` is the same as `metricId`. */
const letters = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, '')

function meantBy(name: string, known: readonly string[]): string | null {
  if (known.length === 0 || name.length > MOST_NAME_CHARACTERS) return null
  const given = letters(name)
  const byLetters = new Map(known.map((one) => [letters(one), one]))
  const nearest = closest(given, [...byLetters.keys()])
  const most = Math.min(MOST_DIFFERENT, Math.floor(given.length / 2))
  return distance(given, nearest) <= most ? (byLetters.get(nearest) ?? null) : null
}

/**
 * The fields of a body that its schema does not know. Records with free keys have no unknown ones. `isAlone` says
 * that no field of the same object is known.
 */
export function unknownFields(
  schema: z.core.$ZodType,
  json: unknown,
  path: UnknownField['path'] = [],
): UnknownField[] {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodArray && Array.isArray(json))
    return json.flatMap((item, index) => unknownFields(inner.element, item, [...path, index]))
  if (!(inner instanceof z.ZodObject) || typeof json !== 'object' || json === null || Array.isArray(json))
    return []
  const { shape } = inner
  const known = Object.keys(shape)
  const isAlone = !Object.keys(json).some((name) => Object.hasOwn(shape, name))
  return Object.entries(json).flatMap(([name, value]) => {
    const at = [...path, name]
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined
    return field === undefined ? [{ path: at, known, isAlone }] : unknownFields(field, value, at)
  })
}

/**
 * The nested objects that have fields, but none that the schema knows (O4): whoever wrote them means something
 * else. The body is not nested, nor is an item of a body that is a list.
 */
export function strangeObjects(schema: z.core.$ZodType, json: unknown): UnknownField[] {
  const nested = unknownFields(schema, json)
    .map(({ path, known, isAlone }) => ({ path: path.slice(0, -1), known, isAlone }))
    .filter(({ path, isAlone }) => isAlone && path.some((part) => typeof part === 'string'))
  return [...new Map(nested.map((one) => [one.path.join(), one])).values()]
}

/** The most characters of a name in the path of a broken text. A path of this length is not continued. */
const MOST_PATH = 500

/** The texts of a body with unpaired surrogates (G3). It is no recursion: a body may be deep. */
export function brokenTexts(json: unknown): FieldError[] {
  const found: FieldError[] = []
  const open: [path: string, value: unknown][] = [['', json]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next
    if (typeof value === 'string' && !value.isWellFormed())
      found.push({ path: path || 'body', message: 'must have no unpaired surrogates' })
    if (typeof value !== 'object' || value === null) continue
    const before = path === '' ? '' : `${path}.`
    for (const [name, inner] of Object.entries(value).reverse())
      open.push([path.length < MOST_PATH ? before + name.slice(0, MOST_PATH).toWellFormed() : path, inner])
  }
  return found
}

/**
 * The value of the header `X-Laurel-Ignored` (G3): the paths of unknown fields, and `+3` at the end if there
 * are 3 more. Names are percent-encoded, also their dots, so that it can be split at each `, ` and each `.`.
 * Empty if there are no unknown fields.
 */
export function ignoredHeader(fields: readonly UnknownField[]): string {
  const encoded = (name: string | number) =>
    encodeURIComponent(String(name).slice(0, MOST_NAME_CHARACTERS).toWellFormed()).replaceAll('.', '%2E')
  const named: string[] = []
  for (const { path } of fields.slice(0, MOST_IGNORED)) {
    const spelled = path.map(encoded).join('.')
    if ([...named, spelled].join(', ').length > MOST_IGNORED_CHARACTERS) break
    named.push(spelled)
  }
  const more = fields.length - named.length
  return [...named, ...(more > 0 ? [`+${more}`] : [])].join(', ')
}

/** The message of a warning about the field at a path. */
export function unknownMessage({ known }: UnknownField, path: UnknownField['path']): string {
  const meant = meantBy(String(path.at(-1)), known)
  const spelled = (names: UnknownField['path']) =>
    JSON.stringify(names.map((name) => String(name).slice(0, MOST_NAME_CHARACTERS)).join('.'))
  const problem = `Unknown field ${spelled(path)}.`
  return meant === null
    ? `${problem} It is ignored.`
    : `${problem} Did you mean ${spelled([...path.slice(0, -1), meant])}?`
}

/** The warning about an unknown field. In a list of items, `index` says which item has the field (O4). */
function warningOf(field: UnknownField): FieldWarning {
  const [first, ...rest] = field.path
  return typeof first === 'number'
    ? { index: first, severity: 'warning', message: unknownMessage(field, rest) }
    : { severity: 'warning', message: unknownMessage(field, field.path) }
}

type Warned = {
  surface: Surface
  body?: z.ZodType
  warning?: (field: UnknownField, json: unknown) => FieldWarning
}

/** The warnings about unknown fields of an admin write (O4). The last may count those beyond a limit. */
export function fieldWarnings(
  { surface, body, warning = warningOf }: Warned,
  json: unknown,
): readonly FieldWarning[] {
  if (surface !== 'admin' || body === undefined) return []
  const fields = unknownFields(body, json)
  const warnings = fields.slice(0, MOST_WARNINGS).map((field) => warning(field, json))
  const more = fields.at(MOST_WARNINGS)
  if (more === undefined) return warnings
  const message = `And ${counted(fields.length - MOST_WARNINGS, 'more unknown field')}.`
  return [...warnings, { ...warning(more, json), message }]
}

/** The body of a response with warnings among its issues; the same body if there are none. */
export function withWarnings(body: unknown, warnings: readonly FieldWarning[]): unknown {
  if (warnings.length === 0 || typeof body !== 'object' || body === null) return body
  const issues = 'issues' in body && Array.isArray(body.issues) ? body.issues : []
  return { ...body, issues: [...issues, ...warnings] }
}
