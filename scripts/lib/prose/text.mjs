/** Paragraphs and sentences, with line numbers. */

/** @typedef {{ text: string; line: number }} Line a line of prose and its number in the file, from 1 */

/**
 * A paragraph. In `text`, each character of code and quotations is an `X`, so both strings have the same
 * length. `lineAt` returns the line of a character.
 * @typedef {{ text: string; original: string; lineAt: (place: number) => number }} Paragraph
 */

/**
 * A sentence. `text` is masked like that of a {@link Paragraph}, and `line` is its first line.
 * @typedef {{ text: string; original: string; line: number }} Sentence
 */

/** Code, quotations and addresses. */
const CODE = [
  /`[^`]*`/g,
  /"[^"]*"/g,
  /“[^”]*”/g,
  /(?<![\w)])'[^']+'(?!\w)/g,
  /\$\{[^}]*\}/g,
  /\{@link [^}]*\}/g,
  /(?<=\])\([^)\s]*\)/g,
  /\bhttps?:\/\/\S*[\w/]/g,
]

/** Rule codes, such as `(P7)` and `[L6–L8]`, and marks of bold text. */
const NOT_WORDS = / ?[([][A-Z]\d{1,2}(?:(?:, | and |–)[A-Z]\d{1,2})*[)\]]|\*\*/g

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/**
 * Joins lines to a paragraph.
 * @param {Line[]} lines
 * @returns {Paragraph}
 */
export function paragraphOf(lines) {
  const original = lines.map(({ text }) => text).join(' ')
  const masked = CODE.reduce(
    (text, code) => text.replace(code, (found) => 'X'.repeat(found.length)),
    original,
  )
  const lineAt = (/** @type {number} */ place) => {
    let rest = place
    for (const { text, line } of lines) {
      if (rest <= text.length) return line
      rest -= text.length + 1
    }
    return 0
  }
  return { text: masked.replace(NOT_WORDS, (found) => ' '.repeat(found.length)), original, lineAt }
}

/**
 * The sentences of a paragraph. Fragments of one word are skipped.
 * @param {Paragraph} paragraph
 * @returns {Sentence[]}
 */
export function sentencesOf({ text, original, lineAt }) {
  return [...sentences.segment(text)].flatMap(({ segment, index }) => {
    if ((segment.match(/[a-z]{2,}/g) ?? []).length < 2) return []
    const skipped = segment.length - segment.trimStart().length
    return [
      {
        text: segment.trim(),
        original: original.slice(index, index + segment.length).trim(),
        line: lineAt(index + skipped),
      },
    ]
  })
}
