import { parseSearchWith, stringifySearchWith, useNavigate, useSearch } from '@tanstack/react-router'
import { trimmed } from './text'

/** JSON in an address. A number stays as it is written: `1e5` is a text, and a long id would lose digits. */
const json = (text: string): unknown => {
  if (/^\s*-?\d/.test(text)) throw new TypeError('It is a number.')
  return JSON.parse(text)
}
/** How the router reads and writes what follows `?`. */
export const SEARCH = {
  parseSearch: parseSearchWith(json),
  stringifySearch: stringifySearchWith(JSON.stringify, json),
}

/** Without the parts that have no value. */
export function withoutEmpty<Parts extends object>(parts: Parts) {
  const given: { [Name in keyof Parts]?: Exclude<Parts[Name], undefined> } = { ...parts }
  for (const [name, value] of Object.entries(parts))
    if (value === undefined || value === null || value === '') Reflect.deleteProperty(given, name)
  return given
}

type Search = Readonly<Record<string, unknown>>

export const textIn = (search: Search, name: string): string => trimmed(String(search[name] ?? ''))

/** What follows `?` in the address of a page, and functions that change parts of it. Empty parts are left out. */
export function useAddress() {
  const search: Search = useSearch({ strict: false })
  const navigate = useNavigate()
  const change = (changes: Search, replace: boolean) =>
    navigate({
      to: '.',
      search: (now: Search) => withoutEmpty({ ...now, ...changes }),
      replace,
      resetScroll: false,
    })
  return {
    search,
    /** A part as text. The router reads what looks like a number as a number. */
    text: (name: string) => textIn(search, name),
    /** Chooses what the page shows. Back leads to the page before. */
    show: (changes: Search) => change(changes, true),
    /** Opens or closes something beside the page. Back undoes it. */
    open: (changes: Search) => change(changes, false),
  }
}
