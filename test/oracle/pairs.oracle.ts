/**
 * Parses a list of `key:value` pairs (G6), from the rule alone: one character at a time, without regular
 * expressions.
 */

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const KEY_CHARACTERS = new Set(`${LETTERS}${LETTERS.toUpperCase()}0123456789_-`)
const LONGEST_KEY = 255

/** The end of the key that begins at a place of the text, at its colon. Null if no key begins there. */
function endOfKey(text: string, start: number): number | null {
  let end = start
  while (KEY_CHARACTERS.has(text.charAt(end))) end += 1
  const length = end - start
  return length >= 1 && length <= LONGEST_KEY && text.charAt(end) === ':' ? end : null
}

/** The pairs of a list between commas, as they are written. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  let begin = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text.charAt(at) !== ',') continue
    let next = at + 1
    while (text.charAt(next) === ' ') next += 1
    if (endOfKey(text, next) === null) continue
    parts.push(text.slice(begin, at))
    begin = next
  }
  return [...parts, text.slice(begin)]
}

/** The values of a parameter by key, in order. Null if it is refused. An array is a repeated parameter. */
export function pairs(given: string | readonly string[]): [key: string, value: string][] | null {
  const found: [string, string][] = []
  for (const part of typeof given === 'string' ? partsOf(given) : given) {
    const end = endOfKey(part, 0)
    if (end === null) return null
    const [key, value] = [part.slice(0, end), part.slice(end + 1)]
    const known = found.find(([other]) => other === key)
    if (known === undefined) found.push([key, value])
    else if (known[1] !== value) return null
  }
  return found
}
