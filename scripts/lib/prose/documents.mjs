/** Prose of Markdown documents: paragraphs, list items and table cells. Headings and code are skipped. */
import { paragraphOf } from './text.mjs'

/** @typedef {import('./text.mjs').Line} Line */
/** @typedef {import('./text.mjs').Paragraph} Paragraph */

const FENCE = /^\s*(?:```|~~~)/
const ITEM = /^\s*(?:[-*+]|\d+\.) /
const RULER = /^\|?[\s:|-]+\|?$/

/**
 * Removes HTML comments and tags. Keeps line breaks, so line numbers stay the same.
 * @param {string} text
 */
const withoutHtml = (text) =>
  text.replace(/<!--[\s\S]*?-->|<\/?[a-z][^>\n]*>/g, (found) => found.replace(/[^\n]/g, ''))

/**
 * The paragraphs of a Markdown document.
 * @param {string} document
 * @returns {Paragraph[]}
 */
export function documentParagraphs(document) {
  /** @type {Line[][]} */
  const groups = [[]]
  let isCode = false
  for (const [index, text] of withoutHtml(document).split('\n').entries()) {
    const line = index + 1
    const isFence = FENCE.test(text)
    if (isFence) isCode = !isCode
    if (isFence || isCode || text.trim() === '' || text.startsWith('#') || RULER.test(text)) groups.push([])
    else if (text.startsWith('|'))
      for (const cell of text.split(/(?<!\\)\|/)) groups.push([{ text: cell.trim(), line }], [])
    else {
      if (ITEM.test(text)) groups.push([])
      groups.at(-1)?.push({
        text: text
          .replace(ITEM, '')
          .replace(/^\s*>? ?/, '')
          .trimEnd(),
        line,
      })
    }
  }
  return groups.filter((group) => group.length > 0).map(paragraphOf)
}
