/** Prose of programs: comments, test names and messages. */
import { parse } from '@babel/parser'
import { paragraphOf } from './text.mjs'

/** @typedef {import('./text.mjs').Line} Line */
/** @typedef {import('./text.mjs').Paragraph} Paragraph */
/** @typedef {import('@babel/types').Comment} Comment */
/** @typedef {import('@babel/types').Node} Node */

/** A line that starts a paragraph: a list item or a JSDoc tag. */
const BEGINNING = /^(?:[-*] |\d+\. |@\w)/

/** The start of such a line that is not prose: the mark of a list item, or the tag with its type and name. */
const MARK = /^(?:[-*] |\d+\. )/
const TYPE = String.raw`\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}`
const TAGS = [
  /^@(?:type|satisfies|import)\b.*/,
  new RegExp(`^@(?:param|property|typedef|template)(?: ${TYPE})?(?: \\[[^\\]]*\\]| [\\w.$]+)?(?: - )?`),
  new RegExp(`^@\\w+(?: ${TYPE})?`),
]

/** The code in a comment for a tool. The reason after it is prose. */
const FOR_TOOLS = /^(?:biome-ignore(?:-all)? [\w/-]+:|@ts-[\w-]+:?|\/\s*<.*)/

/**
 * All nodes of a syntax tree, parents first.
 * @param {unknown} tree
 * @returns {Node[]}
 */
function nodesOf(tree) {
  /** @type {Node[]} */
  const found = []
  const visit = (/** @type {unknown} */ value) => {
    if (Array.isArray(value)) value.forEach(visit)
    else if (typeof value === 'object' && value !== null && 'type' in value) {
      found.push(/** @type {Node} */ (value))
      for (const [key, part] of Object.entries(value)) if (key !== 'loc') visit(part)
    }
  }
  visit(tree)
  return found
}

/**
 * Reads a program: its nodes and its comments.
 * @param {string} text
 * @param {string | undefined} ending of the file's name: `mjs`, `ts` or `tsx`
 * @throws {SyntaxError}
 */
export function parseProgram(text, ending) {
  /** @type {import('@babel/parser').ParserPlugin[]} */
  const plugins = ending === 'tsx' ? ['typescript', 'jsx'] : ending === 'ts' ? ['typescript'] : []
  const { program, comments } = parse(text, {
    sourceType: 'module',
    plugins,
    attachComment: false,
  })
  return { nodes: nodesOf(program), comments: comments ?? [] }
}

/**
 * Groups of comments: line comments below each other are one group.
 * @param {Comment[]} comments
 * @returns {Comment[][]}
 */
function groupsOf(comments) {
  /** @type {Comment[][]} */
  const groups = []
  for (const comment of comments) {
    const above = groups.at(-1)?.at(-1)
    const isSame =
      above?.type === 'CommentLine' &&
      comment.type === 'CommentLine' &&
      above.loc?.start.column === comment.loc?.start.column &&
      above.loc?.end.line === (comment.loc?.start.line ?? 0) - 1
    if (isSame) groups.at(-1)?.push(comment)
    else groups.push([comment])
  }
  return groups
}

/**
 * The lines of a comment, without its marks.
 * @param {Comment} comment
 * @returns {Line[]}
 */
const linesOf = ({ value, loc }) =>
  value.split('\n').map((line, index) => ({
    text: line.replace(index === 0 ? /^\*? ?/ : /^\s*\* ?/, ''),
    line: (loc?.start.line ?? 0) + index,
  }))

/**
 * The paragraphs of a comment. Indented and fenced code is skipped.
 * @param {Line[]} lines
 * @returns {Paragraph[]}
 */
function paragraphsOf(lines) {
  /** @type {Line[][]} */
  const groups = [[]]
  let isFenced = false
  for (const { text, line } of lines) {
    const prose = text.trim().replace(FOR_TOOLS, '')
    const isFence = prose.startsWith('```')
    const isCode = isFence || isFenced || /^ {4}/.test(text)
    if (isFence) isFenced = !isFenced
    if (prose === '' || isCode || BEGINNING.test(prose)) groups.push([])
    if (prose !== '' && !isCode) groups.at(-1)?.push({ text: prose.replace(MARK, ''), line })
  }
  return groups.filter((group) => group.length > 0).map((group) => withoutTag(paragraphOf(group)))
}

/**
 * Cuts the JSDoc tag off, with its type and name.
 * @param {Paragraph} paragraph
 * @returns {Paragraph}
 */
function withoutTag({ text, original, lineAt }) {
  const length = TAGS.map((tag) => tag.exec(original)?.[0].length ?? 0).find((found) => found > 0) ?? 0
  return {
    text: text.slice(length),
    original: original.slice(length),
    lineAt: (place) => lineAt(place + length),
  }
}

/**
 * The paragraphs of a program's comments.
 * @param {Comment[]} comments
 * @returns {Paragraph[]}
 */
export const commentsOf = (comments) =>
  groupsOf(comments).flatMap((group) => paragraphsOf(group.flatMap(linesOf)))

/**
 * The first name in a callee: `it` for `it.each(rows)`.
 * @param {Node} node
 * @returns {string}
 */
function rootOf(node) {
  if (node.type === 'Identifier') return node.name
  if (node.type === 'MemberExpression') return rootOf(node.object)
  if (node.type === 'CallExpression' || node.type === 'TaggedTemplateExpression')
    return rootOf(node.type === 'CallExpression' ? node.callee : node.tag)
  return ''
}

/**
 * A string or template as a paragraph. Values inside a template count as code.
 * @param {Node} node
 * @returns {Paragraph | undefined}
 */
function literal(node) {
  const line = node.loc?.start.line ?? 0
  if (node.type === 'StringLiteral') return paragraphOf([{ text: node.value, line }])
  if (node.type !== 'TemplateLiteral') return undefined
  return paragraphOf([{ text: node.quasis.map(({ value }) => value.cooked ?? '').join('`…`'), line }])
}

const TESTS = ['test', 'it', 'describe']

/**
 * The names of tests.
 * @param {readonly Node[]} nodes
 * @returns {Paragraph[]}
 */
export const testNamesOf = (nodes) =>
  nodes.flatMap((node) => {
    if (node.type !== 'CallExpression' || !TESTS.includes(rootOf(node.callee))) return []
    const [name] = node.arguments
    return (name && literal(name)) ?? []
  })

/** A string that looks like a sentence. */
const SENTENCE = /^[A-Z][a-z']* (?:[^\s=;]+ )+[^\s=;]*[a-z.?!]$/

/**
 * Messages and descriptions: strings that look like a sentence.
 * @param {readonly Node[]} nodes
 * @returns {Paragraph[]}
 */
export const textsOf = (nodes) =>
  nodes.flatMap((node) => {
    const text = literal(node)
    return text !== undefined && SENTENCE.test(text.text) ? text : []
  })

/**
 * The texts between the tags of JSX, one paragraph for each element. Values and elements inside a text count
 * as code; an element inside has a paragraph of its own.
 * @param {readonly Node[]} nodes
 * @returns {Paragraph[]}
 */
export const markupOf = (nodes) =>
  nodes.flatMap((node) => {
    if (node.type !== 'JSXElement' && node.type !== 'JSXFragment') return []
    if (!node.children.some((child) => child.type === 'JSXText' && /[a-z]/i.test(child.value))) return []
    return paragraphOf(
      node.children.flatMap((child) => {
        const line = child.loc?.start.line ?? 0
        if (child.type !== 'JSXText') return { text: isSpace(child) ? ' ' : '`…`', line }
        return child.value.split('\n').map((text, index) => ({ text: text.trim(), line: line + index }))
      }),
    )
  })

/** Is true for `{' '}`, a space that the formatter keeps. @param {Node} node */
const isSpace = (node) =>
  node.type === 'JSXExpressionContainer' &&
  node.expression.type === 'StringLiteral' &&
  node.expression.value.trim() === ''
