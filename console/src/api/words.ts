/** Messages of the interface, which are for developers, in words for the people who read them here. */

/** Words for developers only: requests, headers, addresses, and fields that no page shows. */
const FOR_DEVELOPERS =
  /\b(?:GET|POST|PUT|PATCH|DELETE|HEAD)\b|\/(?:v1|api|docs|health)\b|\bheaders?\b|X-API-KEY|Tenant-ID|If-Match|Content-|\bURL of\b|Check the path|"current"|TOKEN_SECRET/

/** A text in quotes, which is a value of somebody, or a word. */
const PARTS = /"(?:[^"\\]|\\.)*"|“[^”]*”|[^"“]+|["“]/g

/** `metricId` becomes `metric id`. Texts in quotes stay. */
const withoutFieldNames = (text: string): string =>
  text.replace(PARTS, (part) =>
    /^["“]/.test(part) ? part : part.replace(/\b[a-z]+(?:[A-Z][a-z]*)+\b/g, fieldInWords),
  )

const fieldInWords = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** The sentences of a text. A point inside a word or a number ends none. */
const sentencesOf = (text: string): string[] => text.match(/\S.*?(?:[.!?](?=\s|$)|$)/gs) ?? []

/** A message with a capital letter and a full stop, without what only developers can use. */
export function sentence(message: string): string {
  const plain = message
    .replace(/\bis not Liquid: /, 'has a mistake in {{ … }} or {% … %}: ')
    .replace(', with the same idempotency key if it is an event', '')
    .replace(/^[a-z]\w*(?:\.\w+)*: (?=no )/, '')
  const kept = sentencesOf(plain).filter((one) => !FOR_DEVELOPERS.test(one))
  const text =
    withoutFieldNames(kept.join(' ')) || 'This was refused. Load the page again, then try once more'
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}

/** A message about a field that has no place in a form. The last name in its path begins the sentence. */
export function sentenceAbout(path: string | null, message: string): string {
  const name = path?.split('.').findLast((part) => !/^\d*$/.test(part))
  return sentence(name === undefined ? message : `${fieldInWords(name)} ${message}`)
}
