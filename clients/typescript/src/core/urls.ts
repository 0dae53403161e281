/** The URL of a server with a path, and without credentials, query and fragment. */
const BASE = /^https?:\/\/[^\s/?#@\\]+(\/[^\s?#\\]*)?$/i

/**
 * The base of an option, without a slash at its end. React Native has a `URL` whose parts cannot be read.
 *
 * @throws TypeError if it is not the base URL of an installation
 */
export function baseOf(url: string, option: string): string {
  if (!isUrl(url)) throw new TypeError(`"${option}" must be a URL, such as http://localhost:8787.`)
  const base = url.trim().replace(/\/+$/, '')
  if (!BASE.test(base))
    throw new TypeError(`"${option}" must be an http or https URL without credentials, query or fragment.`)
  if (/\/(v1|api|admin)$/.test(base))
    throw new TypeError(`"${option}" must be the base URL: leave out /v1, /api and /admin/v1.`)
  return base
}

function isUrl(url: string): boolean {
  try {
    return typeof url === 'string' && Boolean(new URL(url))
  } catch {
    return false
  }
}

/**
 * The path of a template such as `/v1/users/{id}`, with its parameters in it.
 *
 * @throws TypeError if a parameter cannot be part of a path
 */
export function pathOf(template: string, parameters: object = {}): string {
  const values = new Map<string, unknown>(Object.entries(parameters))
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values.get(name)
    // Without this, an empty id would name the whole list, and URL parsers resolve dots.
    // A lone surrogate has no form in a URL.
    if (typeof value !== 'string' || /^\.{0,2}$|[\ud800-\udfff]/u.test(value))
      throw new TypeError(`"${name}" must be a text that is not empty, "." or "..".`)
    return encodeURIComponent(value)
  })
}

/** The query of a URL, with its question mark. Empty if no value is set. */
export function searchOf(query: object = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    valuesOf(value).map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(one)}`),
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** A query that later changes of its objects do not change, without the values that are not set. */
export function copyOfQuery(query: object): object {
  return Object.fromEntries(
    Object.entries(query)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'object' ? valuesOf(value) : value]),
  )
}

/** A value of a query as texts, one for each repetition of the parameter. */
function valuesOf(value: unknown): string[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.map(String)
  // A date has no entries, and would be left out.
  if (value instanceof Date) return [value.toJSON()]
  return typeof value === 'object' ? attributePairs(value) : [String(value)]
}

/**
 * Attributes as pairs. A parameter that is given once is split at commas, so a single pair is given twice
 * (G6).
 */
function attributePairs(attributes: object): string[] {
  const pairs = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}:${value}`)
  const [only] = pairs
  return pairs.length === 1 && only?.includes(',') ? [only, only] : pairs
}

/** The cursor of the next page in the header `Link`, or null if there is none (O3). */
export function nextCursor(link: string | null): string | null {
  // React Native has a `URLSearchParams` that cannot be read.
  const [, after] = /<[^>]*[?&]after=([^&>]*)[^>]*>; rel="next"/.exec(link ?? '') ?? []
  return after === undefined ? null : decodeURIComponent(after.replace(/\+/g, ' '))
}
