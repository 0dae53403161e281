/** The texts for assistants: `llms.txt`, `llms-full.txt`, and each page as Markdown beside its HTML. */
import { groupsOfPages } from './pages.mjs'

/** The groups of documents for developers of products. The other ones are for those who run or change Laurel. */
const FOR_PRODUCTS = ['Guides', 'Understand', 'API by task', 'Reference']
/** Long pages of these groups that few need. */
const LEFT_OUT = ['docs/rules.md', 'docs/migrating.md']

/** Markdown without what only the site understands. Its links lead to the pages as Markdown. */
const plain = (/** @type {string} */ text, /** @type {string} */ base) =>
  text
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^:::.*\n/gm, '')
    .replace(/^(#+ .*) \{#[\w.-]+\}$/gm, '$1')
    .replace(/^```(\w+) \[.*\]$/gm, '```$1')
    .replace(
      /\]\(\/([\w/-]*)(#[^)]*)?\)/g,
      (_, path, hash = '') => `](${base}${path.replace(/^$|\/$/, '$&index')}.md${hash})`,
    )
    .trim()

/** Only the samples in TypeScript, without the errors that all operations have, since the whole text must be short. */
const short = (/** @type {string} */ text) =>
  text
    .replace(/^```(?:bash|python) \[.*\]\n[\s\S]*?^```\n/gm, '')
    .replace(/^::: details Errors\n[\s\S]*?^:::\n/gm, '')
    .replace(/^import \{ Laurel \}.*\n\nconst laurel = .*\n/gm, '')
    .replace(/^\| `Tenant-ID` .*\n/gm, '')

/**
 * The files, by their path on the site.
 *
 * @type {(base: string, pages: import('./pages.mjs').Page[], texts: Map<string, string>, reference: { path: string; title: string; group: string; text: string }[]) => Map<string, string>}
 */
export function assistantTexts(base, pages, texts, reference) {
  const groups = groupsOfPages()
  const textOf = (/** @type {string} */ path) => plain(texts.get(path) ?? '', base)
  const [, rules] = /^## What an assistant must know$\n([\s\S]*?)(?=^## )/m.exec(textOf('assistants')) ?? []
  if (rules === undefined)
    throw new Error('docs/assistants.md: the section of what an assistant must know is missing')
  const lists = groups.map(({ title, pages: own }) => {
    const links = own.map((page) => `- [${page.title}](${base}${page.path}.md): ${page.about}`)
    return `## ${title}\n\n${links.join('\n')}`
  })
  const operations = reference.map(({ path, title, group }) => `- [${group}: ${title}](${base}${path}.md)`)
  const head = `# Laurel\n\n> Open-source gamification service. A product sends events about its users; Laurel keeps points, levels, streaks, achievements and leaderboards, and answers each event with everything that it changed.\n${rules}`
  const all = groups
    .filter(({ title }) => FOR_PRODUCTS.includes(title))
    .flatMap(({ pages: own }) => own.filter(({ source }) => !LEFT_OUT.includes(source)))
  const whole = [
    ...all.map(({ path }) => textOf(path)),
    ...reference.map(({ text }) => plain(short(text), base)),
  ]
  return new Map([
    ['llms.txt', `${head}\n${lists.join('\n\n')}\n\n## Reference\n\n${operations.join('\n')}\n`],
    ['llms-full.txt', `${head}\n${whole.join('\n\n---\n\n')}\n`],
    ...pages.map(({ path }) => /** @type {const} */ ([`${path}.md`, `${textOf(path)}\n`])),
    ...reference.map(({ path, text }) => /** @type {const} */ ([`${path}.md`, `${plain(text, base)}\n`])),
  ])
}
