/** Lines over the formatter's width. */

/** @typedef {import('@babel/types').Node} Node */

/** A comment line with one long word, such as a URL. */
const ONE_WORD = /^\s*(?:\/\*\*?|\*|\/\/)?\s*(?:[-*] )?\S+(?: \*\/)?$/

/** Literals that the formatter cannot break. */
const LITERALS = ['StringLiteral', 'TemplateLiteral', 'RegExpLiteral', 'TSLiteralType']

/** The formatter keeps this on the line of a test name. */
const AFTER_NAME = ', async () => {'.length

/**
 * The numbers of lines, from 1, that are longer than `width` and can be broken. Lines may be longer because
 * of a string, a regular expression or a one-line template. In a template of several lines, another line
 * break is possible.
 * @param {string} text
 * @param {readonly Node[]} nodes all nodes of the program
 * @param {number} width
 * @returns {number[]}
 */
export function wideLines(text, nodes, width) {
  const literals = nodes.filter(({ type }) => LITERALS.includes(type))
  return text.split('\n').flatMap((line, index) => {
    const number = index + 1
    if (line.length <= width || ONE_WORD.test(line)) return []
    const isLiteral = literals.some(
      ({ loc }) =>
        loc?.start.line === number && loc.end.line === number && loc.end.column + AFTER_NAME >= width,
    )
    return isLiteral ? [] : [number]
  })
}
