/** The texts for assistants: `llms.txt`, `llms-full.txt`, and each page as Markdown beside its HTML. */
import { groupsOfPages, read } from './pages.mjs'

/** The groups of documents that nobody needs who only uses Laurel. */
const INNER = ['Change Laurel']

/** What an assistant must know before it writes code: the section of this name of docs/assistants.md. */
const [, RULES = ''] =
  /^## What an assistant must know$\n([\s\S]*?)(?=^## )/m.exec(read('docs/assistants.md')) ?? []

/** Markdown without what only the site understands. */
const plain = (/** @type {string} */ text) =>
  text
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^:::.*\n/gm, '')
    .replace(/^(#+ .*) \{#[\w.-]+\}$/gm, '$1')
    .replace(/^```(\w+) \[.*\]$/gm, '```$1')
    .trim()

/** Only the samples in TypeScript, since the whole text must be short. */
const short = (/** @type {string} */ text) =>
  plain(
    text
      .replace(/^```(?:bash|python) \[.*\]\n[\s\S]*?^```\n/gm, '')
      .replace(/^::: details Errors\n[\s\S]*?^:::\n/gm, ''),
  )

/**
 * The files, by their path on the site.
 *
 * @type {(base: string, pages: import('./pages.mjs').Page[], texts: Map<string, string>, reference: { path: string; title: string; group: string; text: string }[]) => Map<string, string>}
 */
export function assistantTexts(base, pages, texts, reference) {
  const groups = groupsOfPages()
  const lists = groups.map(({ title, pages: own }) => {
    const links = own.map((page) => `- [${page.title}](${base}${page.path}.md): ${page.about}`)
    return `## ${title}\n\n${links.join('\n')}`
  })
  const operations = reference.map(({ path, title, group }) => `- [${group}: ${title}](${base}${path}.md)`)
  const head = `# Laurel\n\n> Open-source gamification service. A product sends events about its users; Laurel keeps points, levels, streaks, achievements and leaderboards, and answers each event with everything that it changed.\n${RULES}`
  const all = groups.filter(({ title }) => !INNER.includes(title)).flatMap(({ pages: own }) => own)
  const whole = [
    ...all.map(({ path }) => plain(texts.get(path) ?? '')),
    ...reference.map(({ text }) => short(text)),
  ]
  return new Map([
    ['llms.txt', `${head}\n${lists.join('\n\n')}\n\n## Reference\n\n${operations.join('\n')}\n`],
    ['llms-full.txt', `${head}\n${whole.join('\n\n---\n\n')}\n`],
    ...pages.map(({ path }) => /** @type {const} */ ([`${path}.md`, `${plain(texts.get(path) ?? '')}\n`])),
    ...reference.map(({ path, text }) => /** @type {const} */ ([`${path}.md`, `${plain(text)}\n`])),
  ])
}
