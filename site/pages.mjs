/** The pages of the site: which there are, and their texts, made from the documents of the project. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the project. */
export const project = dirname(dirname(fileURLToPath(import.meta.url)))
/** The text of a file of the project. */
export const read = (/** @type {string} */ path) => readFileSync(join(project, path), 'utf8')

/** The index of all documents. A test of the project fails if a document is missing there. */
export const INDEX = 'docs/README.md'
/** The text of the first page of the site. */
export const LANDING = 'site/landing.md'

const manifest = JSON.parse(read('package.json'))
const given = manifest.repository?.url ?? manifest.repository ?? ''
/** The address of the repository in a browser, from package.json. Empty if it is not set. */
export const REPOSITORY = /^(?:git\+)?https:/.test(given)
  ? given.replace(/^git\+/, '').replace(/\.git$/, '')
  : ''
export const VERSION = manifest.version

/**
 * @typedef {object} Page a page of the site
 * @property {string} title
 * @property {string} about what it is for, in a few words
 * @property {string} source its file in the project
 * @property {string} path its path on the site, without the first slash
 */

/** The path on the site of a document of the project. */
function pathOf(/** @type {string} */ source) {
  if (source === LANDING) return 'index'
  if (source === INDEX) return 'documents'
  if (source === 'README.md') return 'start'
  return source
    .replace(/^docs\//, '')
    .replace(/(?:\/README)?\.md$/, '')
    .toLowerCase()
}

/** @type {(title: string, about: string, source: string) => Page} */
const page = (title, about, source) => ({ title, about, source, path: pathOf(source) })

/** The documents in the groups of the index. */
export function groupsOfPages() {
  const [, ...parts] = read(INDEX).split(/^## /m)
  return parts.map((part) => ({
    title: part.slice(0, part.indexOf('\n')),
    pages: [...part.matchAll(/^\| \[([^\]]+)\]\(([^)#]+\.md)\) \| (.+) \|$/gm)].map(
      ([, title = '', link = '', about = '']) => page(title, about, posix.join(dirname(INDEX), link)),
    ),
  }))
}

/** All documents that are pages. */
export const documents = () => [
  page('Laurel', 'what it is', LANDING),
  page('Start', 'what Laurel is, how to start it, and a first event', 'README.md'),
  page('All documents', 'the index', INDEX),
  ...groupsOfPages().flatMap(({ pages }) => pages),
]

/** Items in groups, in the order of their first items. @type {<T>(items: readonly T[], keyOf: (item: T) => string) => [string, T[]][]} */
export function grouped(items, keyOf) {
  const groups = new Map()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return [...groups]
}

/** Calls a function with each part of a text that is neither code nor a comment. */
export const outsideCode = (/** @type {string} */ text, /** @type {(part: string) => string} */ change) =>
  text
    .split(/(^ *```[\s\S]*?^ *```$|`(?!\]\()[^`\n]+`(?!\]\())/m)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('')

/**
 * The text of a document as a page: its links lead to other pages of the site, or into the repository. A link to
 * a file that the site can't show stays as words. Pictures are added to `pictures`, by their path on the site.
 *
 * @type {(source: string, pages: readonly Page[], pictures: Map<string, string>) => string}
 */
export function textOfPage(source, pages, pictures) {
  const text = source === LANDING ? landing() : read(source).replace(/^ *<!--[\s\S]*?-->\n/gm, '')
  const linked = (/** @type {string} */ label, /** @type {string} */ link) => {
    const [path = '', anchor] = link.split('#')
    const hash = anchor === undefined ? '' : `#${anchor}`
    if (/^[a-z]+:/.test(link) || path === '' || path.startsWith('/')) return `[${label}](${link})`
    const file = posix.join(dirname(source), path)
    const found = pages.find((one) => one.source === file)
    if (found) return `[${label}](/${found.path === 'index' ? '' : found.path}${hash})`
    if (!existsSync(join(project, file))) throw new Error(`${source}: no file for the link ${link}`)
    return REPOSITORY === '' ? label : `[${label}](${REPOSITORY}/blob/main/${file}${hash})`
  }
  return outsideCode(text, (part) =>
    part
      .replace(/!\[([^\]]*)\]\(([^)\s]+)\)/g, (_, label, link) => {
        if (/^[a-z]+:/.test(link)) return `![${label}](${link})`
        const file = posix.join(dirname(source), link)
        const name = `pictures/${file.replace(/^.*?pictures\//, '').replaceAll('/', '-')}`
        pictures.set(name, file)
        return `![${label}](/${name})`
      })
      .replace(/(?<!!)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (_, label, link) => linked(label, link)),
  )
}

/** The first page: its own text, with the request and the answer of the README. */
function landing() {
  const readme = read('README.md')
  const [, request, answer] =
    /^## One event$[\s\S]*?^```sh\n([\s\S]*?)^```$[\s\S]*?^```json\n([\s\S]*?)^```$/m.exec(readme) ?? []
  if (request === undefined || answer === undefined)
    throw new Error('README.md: the section "One event" has no request with an answer')
  const [, sent = request] = /(^curl[\s\S]*)/m.exec(request) ?? []
  return read(LANDING)
    .replace('REQUEST', () => sent.trimEnd())
    .replace('ANSWER', () => answer.trimEnd())
}
