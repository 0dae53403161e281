/**
 * `npm run prose -- [FOLDER] [--list] [--check]`: counts sentences with constructions that make prose hard to
 * read. FOLDER is a checkout of Laurel; the default is this one.
 *
 * - `--list` prints each place.
 * - `--check` prints only places that must change, and lines over the formatter's width. It exits with 1 if
 *   there are any.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { project, report } from './lib/project.mjs'
import { documentParagraphs } from './lib/prose/documents.mjs'
import { CONSTRUCTIONS } from './lib/prose/patterns.mjs'
import { commentsOf, markupOf, parseProgram, testNamesOf, textsOf } from './lib/prose/programs.mjs'
import { sentencesOf } from './lib/prose/text.mjs'
import { wideLines } from './lib/prose/widths.mjs'

/** @typedef {import('./lib/prose/text.mjs').Paragraph} Paragraph */
/** @typedef {import('./lib/prose/text.mjs').Sentence & { area: string; file: string }} Found */

const AREAS = [
  'src comments',
  'src texts',
  'pages',
  'test comments',
  'test names',
  'documents',
  'scripts and bench',
]

/** Programs with texts for people in the browser. */
const PAGES = /^(?:console|clients\/react)\/src\//

/** Folders of dependencies and generated files. */
const SKIPPED = ['node_modules', 'dist', 'generated', 'results']

/**
 * Paths of programs and documents in a folder, sorted.
 * @param {string} folder
 * @returns {string[]}
 */
const filesBelow = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      const isSkipped = SKIPPED.includes(entry.name) || entry.name.startsWith('.')
      if (entry.isDirectory()) return isSkipped ? [] : filesBelow(path)
      return /\.(?:tsx?|mjs|md)$/.test(entry.name) ? [path] : []
    })

/**
 * The sentences of a file, and its lines over the width.
 * @param {string} root
 * @param {string} path
 * @param {number} width
 */
function read(root, path, width) {
  const text = readFileSync(path, 'utf8')
  const file = relative(root, path).replaceAll('\\', '/')
  const found = (/** @type {string} */ area, /** @type {Paragraph[]} */ paragraphs) =>
    paragraphs.flatMap(sentencesOf).map((sentence) => ({ ...sentence, area, file }))
  if (file.endsWith('.md')) return { sentences: found('documents', documentParagraphs(text)), wide: [] }
  const { nodes, comments } = parseProgram(text, /[^.]*$/.exec(file)?.[0])
  const wide = wideLines(text, nodes, width).map((line) => ({ file, line }))
  const prose = commentsOf(comments)
  if (file.startsWith('src/'))
    return { sentences: [...found('src comments', prose), ...found('src texts', textsOf(nodes))], wide }
  if (PAGES.test(file))
    return { sentences: found('pages', [...prose, ...textsOf(nodes), ...markupOf(nodes)]), wide }
  if (file.startsWith('test/'))
    return { sentences: [...found('test comments', prose), ...found('test names', testNamesOf(nodes))], wide }
  return { sentences: found('scripts and bench', prose), wide }
}

/**
 * @param {Found} sentence
 * @param {'pattern' | 'certain'} by
 */
const constructionsIn = ({ text, area }, by) =>
  CONSTRUCTIONS.filter(
    ({ isInCode, ...construction }) =>
      construction[by]?.test(text) && !(by === 'certain' && isInCode && area === 'documents'),
  )

/**
 * Two lines for each sentence with a construction: the place with the sentence, and better words.
 * @param {Found[]} sentences
 * @param {'pattern' | 'certain'} by
 * @returns {string[]}
 */
const placesOf = (sentences, by) =>
  sentences.flatMap((sentence) => {
    const found = constructionsIn(sentence, by)
    const names = found.map(({ name, instead }) => `${name} → ${instead}`).join('; ')
    return found.length === 0 ? [] : [`${sentence.file}:${sentence.line}: ${sentence.original}\n    ${names}`]
  })

/**
 * A line of the table.
 * @param {string} name
 * @param {Found[]} sentences
 * @returns {string}
 */
function countLine(name, sentences) {
  const count = sentences.filter((sentence) => constructionsIn(sentence, 'pattern').length > 0).length
  const percent = sentences.length === 0 ? 0 : (100 * count) / sentences.length
  return `${name.padEnd(20)}${String(sentences.length).padStart(10)}${String(count).padStart(10)}${percent.toFixed(1).padStart(8)} %`
}

/**
 * The table: sentences with constructions by area, then sentences by construction.
 * @param {Found[]} sentences
 * @returns {string[]}
 */
const tableOf = (sentences) => [
  `${''.padEnd(20)} sentences      with         `,
  ...AREAS.map((area) =>
    countLine(
      area,
      sentences.filter((sentence) => sentence.area === area),
    ),
  ),
  countLine('all', sentences),
  '',
  ...CONSTRUCTIONS.map(({ name, pattern }) => {
    const count = sentences.filter(({ text }) => pattern.test(text)).length
    return `${name.padEnd(30)}${String(count).padStart(10)}`
  }),
]

function run() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { list: { type: 'boolean' }, check: { type: 'boolean' } },
  })
  const root = resolve(positionals[0] ?? project)
  const { formatter } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'))
  const files = filesBelow(root).map((path) => read(root, path, formatter.lineWidth))
  const sentences = files.flatMap((file) => file.sentences)
  const wide = files.flatMap((file) => file.wide)
  if (values.check !== true) {
    const places = values.list === true ? placesOf(sentences, 'pattern') : tableOf(sentences)
    console.log(places.join('\n'))
    return
  }
  const wrong = [
    ...placesOf(sentences, 'certain'),
    ...wide.map(({ file, line }) => `${file}:${line}: longer than ${formatter.lineWidth} characters`),
  ]
  if (wrong.length === 0) return
  console.error(`${wrong.join('\n')}\n${wrong.length} places must change`)
  process.exitCode = 1
}

try {
  run()
} catch (error) {
  report(error)
  process.exitCode = 1
}
