/** Parts of the schemas of forms. Text fields hold strings. The draft gets numbers, and null for no value. */
import { z } from 'zod'

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

const WHOLE = /^[+-]?\d+$/
const DECIMAL = /^[+-]?\d+(?:\.\d+)?$/

type Range = { min: number; max: number }

const inRange = ({ min, max }: Range) => ({
  check: (value: number) => value >= min && value <= max,
  message: `Use a number from ${min.toLocaleString()} to ${max.toLocaleString()}.`,
})

/** A whole number. */
export const whole = (range: Range) =>
  z
    .string()
    .trim()
    .min(1, 'Fill this in.')
    .regex(WHOLE, 'Use a whole number, such as 10.')
    .transform(Number)
    .refine(inRange(range).check, inRange(range).message)

/** A whole number, or null for an empty field. */
export const optionalWhole = (range: Range) =>
  z
    .string()
    .trim()
    .refine((given) => given === '' || WHOLE.test(given), 'Use a whole number, such as 10.')
    .transform((given) => (given === '' ? null : Number(given)))
    .refine((given) => given === null || inRange(range).check(given), inRange(range).message)

/** A number that may have decimal places, with a point. */
export const decimal = (range: Range) =>
  z
    .string()
    .trim()
    .min(1, 'Fill this in.')
    .regex(DECIMAL, 'Use a number, such as 10 or 2.5.')
    .transform(Number)
    .refine(inRange(range).check, inRange(range).message)

/** One of a list. The empty choice is none. */
export const choice = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, 'Choose one.')

/** Another resource, by id. */
export const reference = () => z.string().min(1, 'Choose one.')

/** A date, `2026-01-31`. */
export const date = () =>
  z.iso.date('Choose a date.').refine((given) => !given.startsWith('0000'), 'Choose a later year.')
export const optionalDate = () =>
  z.union([z.literal(''), date()]).transform((given) => (given === '' ? null : given))

/** Filters by attributes. */
export const filters = () =>
  z
    .array(z.object({ attributeId: reference(), attributeValue: text(1000) }))
    .max(20, 'Use at most 20 filters.')

/** A value as the text of a field. */
export const asText = (value: number | string | null | undefined): string =>
  value == null ? '' : String(value)
