/** Conventions of the documents: the index, links, first paragraphs and line lengths. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const documents = ['*.md', 'bench/*.md', 'docs/**/*.md', 'clients/typescript/*.md', 'cli/*.md']
const pages = globSync(documents, { cwd: root }).sort()
const read = (page: string) => readFileSync(join(root, page), 'utf8')
const withoutCode = (text: string) => text.replace(/^ *```[\s\S]*?^ *```$/gm, '')

/** The longest line of prose, in characters. Tables, links and pasted figures may be longer. */
const WIDTH = 120

/**
 * The links of a page to files of the project: the link as written, the file, and the anchor if there is one.
 */
const linksOf = (page: string) =>
  [...withoutCode(read(page)).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(
    ([link, path = '', anchor]) => ({
      link: `${page}: ${link}`,
      file: path === '' ? page : normalize(join(dirname(page), path)),
      anchor,
    }),
  )

/** The anchors of a page: the anchors of its headings, as GitHub makes them, and the explicit ones. */
function anchorsOf(page: string): Set<string> {
  const text = withoutCode(read(page))
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .replace(/<[^>]*>/g, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  )
  const own = [...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)
  return new Set([...headings, ...own])
}

test('links between documents lead to a file and a heading that exist', () => {
  const links = pages.flatMap(linksOf)
  expect(links.length).toBeGreaterThan(100)
  const broken = links.filter(
    ({ file, anchor }) =>
      !existsSync(join(root, file)) ||
      (anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor)),
  )
  expect(broken.map(({ link }) => link)).toEqual([])
})

test('the index of the documents has every page', () => {
  const listed = new Set(linksOf('docs/README.md').map(({ file }) => file))
  const own = ['README.md', 'docs/README.md']
  expect(pages.filter((page) => !listed.has(page) && !own.includes(page))).toEqual([])
})

test('a page begins with a title and a paragraph that says what it is for', () => {
  expect(pages.filter((page) => !/^# .+\n\n[A-Z`][^\n]{40,}\n/.test(read(page)))).toEqual([])
})

test('the commands that documents and scripts name exist, also on the oldest Node', () => {
  const folders: Record<string, string> = { '': '', '@laurel/client': 'clients/typescript' }
  const scriptsIn = (folder: string) => Object.keys(JSON.parse(read(join(folder, 'package.json'))).scripts)
  const texts = [
    ...pages,
    ...globSync(['site/*.md', 'examples/*/*.md', '{scripts,bench}/**/*.mjs'], { cwd: root }),
  ]
  const named = texts.flatMap((file) =>
    [...read(file).matchAll(/npm (?:run ([\w:]+)(?: -w ([@\w/]+))?|(start|test)\b)/g)].map(
      ([, script, workspace = '', short]) => ({ file, script: script ?? short ?? '', workspace }),
    ),
  )
  expect(named.length).toBeGreaterThan(100)
  const unknown = named.filter(({ file, script, workspace }) => {
    // The README of an example names the scripts of its own folder too.
    const own = file.startsWith('examples/') ? scriptsIn(dirname(file)) : []
    return ![...scriptsIn(folders[workspace] ?? workspace), ...own].includes(script)
  })
  expect(unknown).toEqual([])
  // Wrangler itself does not run there, nor are Biome and the other tools of scripts/tools in node_modules.
  const needing = texts.filter((file) =>
    /npx (wrangler|biome|changeset|drizzle-kit|depcruise)/.test(read(file)),
  )
  expect(needing).toEqual(['docs/commands.md'])
})

test('the README is a landing page', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(150)
})

test('prose is wrapped', () => {
  const long = pages.flatMap((page) =>
    withoutCode(read(page))
      .split('\n')
      .filter((line) => line.length > WIDTH && !/^\s*(\||\[)/.test(line))
      .map((line) => `${page}: ${line.slice(0, 60)}`),
  )
  expect(long).toEqual([])
})
