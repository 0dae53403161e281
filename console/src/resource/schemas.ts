/** Parts of the schemas of forms. Text fields hold strings. The draft gets numbers, and null for no value. */
import { z } from 'zod'
import { formatNumber, numberOf } from '../ui/locale'

/**
 * The values of a form whose schema has several kinds of drafts: the fields of all kinds at once, of which the chosen
 * kind shows and sends its own.
 */
export type AllFields<Kinds> = {
  [Name in Kinds extends unknown ? keyof Kinds : never]: Kinds extends Record<Name, infer Value>
    ? Value
    : never
}

/** A text that must be there. */
export const text = (max = 255) =>
  z.string().trim().min(1, 'Fill this in.').max(max, `Use at most ${max} characters.`)

/** A text that may be empty. */
export const optionalText = (max = 2000) => z.string().trim().max(max, `Use at most ${max} characters.`)

/** A web address, or nothing. */
export const address = () =>
  optionalText(2048).refine(
    (given) => given === '' || (/^https?:\/\/\S+$/i.test(given) && URL.canParse(given)),
    'Use an address with https:// or http://, such as https://example.com.',
  )

/** A picture by its address; null without one. */
export const picture = () => address().transform((url) => (url === '' ? null : { url }))

/** A key, as in paths and in code. */
export const key = () =>
  text().regex(/^[\w-]+$/, 'Use letters, digits, hyphens and underscores only, such as lessons-done.')

type Range = { min: number; max: number }

/** A number, or null for an empty field. `example` says what the field takes. */
const number = ({ min, max }: Range, isTaken: (value: number) => boolean, example: string) =>
  z
    .string()
    .transform((given) => (given.trim() === '' ? null : numberOf(given)))
    .refine((value) => value === null || isTaken(value), { message: example, abort: true })
    .refine(
      (value) => value === null || (value >= min && value <= max),
      `Use a number from ${formatNumber(min)} to ${formatNumber(max)}.`,
    )

const isThere = (value: number | null): value is number => value !== null

/** A whole number, or null for an empty field. */
export const optionalWhole = (range: Range) =>
  number(range, Number.isInteger, 'Use a whole number, such as 10.')

/** A whole number. */
export const whole = (range: Range) => optionalWhole(range).refine(isThere, 'Fill this in.')

/** A number that may have decimal places. */
export const decimal = (range: Range) =>
  number(range, Number.isFinite, `Use a number, such as 10 or ${formatNumber(2.5)}.`).refine(
    isThere,
    'Fill this in.',
  )

/** Stands for the words of a form that has an entry which it refuses. */
export const REFUSED = 'Correct the fields to see what happens.'

/** Whether a schema refuses something that is in a field. Fields that are still empty do not count. */
export const refusesEntry = (schema: z.ZodType, values: unknown): boolean =>
  schema.safeParse(values).error?.issues.some(({ path }) => {
    const entry = path.reduce((found: unknown, part) => Object(found)[part], values)
    return typeof entry === 'string' && entry.trim() !== ''
  }) ?? false

/** One of a list. The empty choice is none. */
export const choice = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, 'Choose one.')

/** Another resource, by id. */
export const reference = () => z.string().min(1, 'Choose one.')

/** A date, `2026-01-31`. */
export const date = () =>
  z.iso.date('Choose a date.').refine((given) => !given.startsWith('0'), 'Choose a later year.')
export const optionalDate = () =>
  z.union([z.literal(''), date()]).transform((given) => (given === '' ? null : given))

/** Puts the message of a check of several fields at one of them. */
export const at = (field: string, message: string) => ({ path: [field], message })

/** Whether a time does not end before it begins. */
export const isInOrder = ({ start, end }: { start: string | null; end: string | null }) =>
  start === null || end === null || start <= end

/** Filters by attributes. */
export const filters = () =>
  z
    .array(z.object({ attributeId: reference(), attributeValue: text(1000) }))
    .max(20, 'Use at most 20 filters.')
