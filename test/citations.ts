/** How texts cite the rules of docs/rules.md: by codes such as P7. */

/** A code that is no part of another word, number or path, such as UTF-8, E2E, %C3%A9, P1.5 or 2026-01-31T12:00. */
const CODE = /(?<![\w%&$#.\\-])[A-Z][1-9]\d?(?![\w%-]|\.\d)/g

/** Nothing but codes in parentheses or brackets, such as (P7) or [L7, L8]. */
const LIST = /(?<=^|[\s'"`*])[([]([A-Z][1-9]\d?(?:, [A-Z][1-9]\d?)*)[)\]]/gm

/** Codes in brackets at the beginning of a string, such as [L7, L8]: the name of a test, or of a case that tests are made from. */
const NAME = /(?<=['"`])\[([A-Z][1-9]\d?(?:, [A-Z][1-9]\d?)*)\] (?=\S)/g

/** A string that begins with codes and a colon, and the name of a test that holds codes in parentheses. */
const COLON = /(?<=['"`])[A-Z][1-9]\d?(?:[–, ]+[A-Z][1-9]\d?)*: .*/g
const PARENTHESES = /\b(?:it|test|describe)\b[^'"`\n]*['"`].*\([A-Z][1-9]\d?(?:, [A-Z][1-9]\d?)*\).*/g

/** Looks like a code, and is the database. */
const DATABASE = 'D1'

/** A comment in JavaScript or TypeScript. `/*` and `//` within a word, such as a path, begin none. */
const COMMENT = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/ .*)/gm

/** Code in Markdown: a block, or a part of a line. */
const CODE_BLOCK = /^ *```[\s\S]*?^ *```$/gm
const INLINE_CODE = /`[^`\n]*`/g

/** What a pattern matches in a text: its group, or all of it if it has none. */
const matches = (pattern: RegExp, text: string): string[] =>
  [...text.matchAll(pattern)].map(([whole, group]) => group ?? whole)

const codesOf = (lists: readonly string[]) => lists.flatMap((list) => list.split(', '))

/**
 * The codes that a program or a document in Markdown cites.
 *
 * - Prose is the comments of a program, or a document without its code. There, every code of a known section counts. `sections` are their letters.
 * - Anywhere in a program, codes that fill parentheses or brackets count, whatever their letter.
 */
export function citedIn(
  text: string,
  { isMarkdown, sections }: { isMarkdown: boolean; sections: ReadonlySet<string> },
): Set<string> {
  const prose = isMarkdown
    ? text.replace(CODE_BLOCK, '').replace(INLINE_CODE, '')
    : matches(COMMENT, text).join('\n')
  const single = matches(CODE, prose).filter((code) => sections.has(code.charAt(0)))
  const listed = codesOf(matches(LIST, isMarkdown ? prose : text))
  return new Set([...single, ...listed].filter((code) => code !== DATABASE))
}

/** The codes that the names of tests in a program cite. */
export function citedByTests(text: string): Set<string> {
  return new Set(codesOf(matches(NAME, text)))
}

/** The names of tests that cite codes in another form than brackets at the beginning. */
export function misnamed(text: string): string[] {
  return [COLON, PARENTHESES].flatMap((pattern) => matches(pattern, text))
}
