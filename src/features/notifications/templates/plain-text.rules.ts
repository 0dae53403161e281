/** Elements with content that is not shown. */
const UNREAD = new Set(['script', 'style', 'head', 'title', 'template'])
/** Elements that begin on a line of their own. */
const BLOCKS = new Set(
  'address article blockquote br div dl dt dd footer h1 h2 h3 h4 h5 h6 header hr li main ol p pre section table tr ul'.split(
    ' ',
  ),
)
/** The names of the characters from U+00A0 to U+00FF. */
const LATIN = `
  nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute
  micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig
  Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash
  Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute
  ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc
  uuml yacute thorn yuml`
/** Other names, each with its character at the end. */
const OTHERS = `
  amp& lt< gt> quot" apos' hellip… mdash— ndash– euro€ trade™ bull• larr← uarr↑ rarr→ darr↓ harr↔ lsquo‘ rsquo’
  sbquo‚ ldquo“ rdquo” bdquo„ lsaquo‹ rsaquo› minus− infin∞ hearts♥ check✓`
const named = (list: string): string[] => list.match(/\S+/g) ?? []
const ENTITIES = new Map([
  ...named(LATIN).map((name, nth) => [name, String.fromCharCode(0xa0 + nth)] as const),
  ...named(OTHERS).map((one) => [one.slice(0, -1), one.slice(-1)] as const),
  ...['nbsp', 'ensp', 'emsp', 'thinsp'].map((name) => [name, ' '] as const),
  ...['zwnj', 'zwj'].map((name, nth) => [name, String.fromCharCode(0x200c + nth)] as const),
])

/** The plain text of an HTML email: a line for each block, and addresses of links. Takes linear time. */
export function textOfHtml(html: string): string {
  const lower = inLowerCase(html)
  let text = ''
  let at = 0
  let link: { href: string; said: string } | null = null
  const say = (more: string) => {
    text += more
    if (link !== null) link.said += more
  }
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open < 0) break
    say(words(html.slice(at, open)))
    if (html[open + 1] === '!' || html[open + 1] === '?') {
      // A comment, or a declaration such as the type of the document.
      at = after(html, html.startsWith('<!--', open) ? '-->' : '>', open)
      continue
    }
    const name = /^<\/?([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 16))
    if (name === null) {
      say('<')
      at = open + 1
      continue
    }
    const [start, element = ''] = name
    const end = after(html, '>', open)
    const isClosing = start[1] === '/'
    at = UNREAD.has(element) && !isClosing ? place(lower, `</${element}`, end) : end
    if (element === 'a') {
      if (link !== null) text += leading(link)
      link = isClosing ? null : { href: attribute(html.slice(open, end), 'href'), said: '' }
    } else if (BLOCKS.has(element)) say(element === 'li' && !isClosing ? '\n- ' : '\n')
    else if (element === 'td' || element === 'th') say(' ')
    else if (element === 'img') say(words(attribute(html.slice(open, end), 'alt')))
  }
  return tidy(text + words(html.slice(at)))
}

/**
 * The text with A to Z as a to z. Not `toLowerCase`: it turns an İ into two characters, and all later places
 * would be wrong.
 */
export const inLowerCase = (text: string): string =>
  text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase())

/** The place of the next `mark`; the end of the text if there is none. */
function place(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found
}

/** The place after the next `mark`; the end of the text if there is none. */
const after = (text: string, mark: string, from: number): number =>
  Math.min(place(text, mark, from) + mark.length, text.length)

/** The address of a link, in brackets; empty if the link's words are the address. */
const leading = ({ href, said }: { href: string; said: string }): string =>
  /^(https?|mailto):/i.test(href) && said.trim() !== href ? ` (${href})` : ''

/** The value of an attribute of a tag. Reads the first 4,096 characters of the tag. */
function attribute(tag: string, name: string): string {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>"']+))`, 'i').exec(
    tag.slice(0, 4_096),
  )
  return found === null ? '' : decoded(found[1] ?? found[2] ?? found[3] ?? '')
}

const words = (html: string): string => decoded(html.replace(/[ \t\r\n]+/g, ' '))

function decoded(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z][a-z0-9]{1,7}));/gi,
    (whole, decimal, hex, name) => {
      // Some names may be in capitals too.
      if (name !== undefined) return ENTITIES.get(name) ?? ENTITIES.get(String(name).toLowerCase()) ?? whole
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
      const isCharacter = code >= 0x20 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      return isCharacter ? String.fromCodePoint(code) : ''
    },
  )
}

/** Lines without blanks at their ends, and at most one empty line in a row. */
function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/ {2,}/g, ' ').trim())
  const kept = lines.filter((line, index) => line !== '' || (lines[index - 1] ?? '') !== '')
  return kept.join('\n').trim()
}
