/** Finds citations of the rules in docs/rules.md. A citation is a code such as P7. */

/**
 * A code. It is not part of another word, number or path, such as UTF-8, E2E, %C3%A9, P1.5 or
 * 2026-01-31T12:00.
 */
const CODE = /(?<![\w%&$#.\\-])[A-Z][1-9]\d?(?![\w%-]|\.\d)/g

/** Only codes in parentheses or brackets, such as (P7) or [L7, L8]. */
const LIST = /(?<=^|[\s'"`*])[([]([A-Z][1-9]\d?(?:, [A-Z][1-9]\d?)*)[)\]]/gm

/** Codes in brackets at the beginning of a string, such as [L7, L8]: the name of a test or of a test case. */
const NAME = /(?<=['"`])\[([A-Z][1-9]\d?(?:, [A-Z][1-9]\d?)*)\] (?=\S)/g

/** A string that begins with codes and a colon, or the name of a test with codes in parentheses. */
const COLON = /(?<=['"`])[A-Z][1-9]\d?(?:[–, ]+[A-Z][1-9]\d?)*: .*/g
const PARENTHESES = /\b(?:it|test|describe)\b[^'"`\n]*['"`].*\([A-Z][1-9]\d?(?:, [A-Z][1-9]\d?)*\).*/g

/** Looks like a code, but is the database. */
const DATABASE = 'D1'

/**
 * A comment in JavaScript or TypeScript. `/*` and `//` inside a word, such as a path, do not start a comment.
 */
const COMMENT = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/ .*)/gm

/** Code in Markdown: a block, or a part of a line. */
const CODE_BLOCK = /^ *```[\s\S]*?^ *```$/gm
const INLINE_CODE = /`[^`\n]*`/g

/** The matches of a pattern in a text: its group, or the whole match if it has no group. */
const matches = (pattern: RegExp, text: string): string[] =>
  [...text.matchAll(pattern)].map(([whole, group]) => group ?? whole)

const codesOf = (lists: readonly string[]) => lists.flatMap((list) => list.split(', '))

/**
 * The codes that a program or a Markdown document cites.
 *
 * - Prose is the comments of a program, or a document without its code. In prose, every code of a known
 *   section counts. `sections` are the letters of the sections.
 * - Anywhere in a program, codes that fill parentheses or brackets count, with any letter.
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

/** The codes in the test names of a program. */
export function citedByTests(text: string): Set<string> {
  return new Set(codesOf(matches(NAME, text)))
}

/** The names of tests that cite codes in another form than brackets at the beginning. */
export function misnamed(text: string): string[] {
  return [COLON, PARENTHESES].flatMap((pattern) => matches(pattern, text))
}
