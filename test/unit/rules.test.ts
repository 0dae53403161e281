import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { citedByTests, citedIn, misnamed } from '../helpers/citations'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** The rule book, and the heading of a rule in it: its anchor, its code and its name. */
const RULES = 'docs/rules.md'
const HEADING = /^### <a id="([^"]*)"><\/a>([A-Z][1-9]\d?) \S.*$/

const lines = read(RULES).split('\n')
const headings = lines.filter((line) => line.startsWith('### '))
const codes = headings.map((line) => HEADING.exec(line)?.[2] ?? '')
const sections = new Set(codes.map((code) => code.charAt(0)))

/** The files that cite rules. The examples in citations.test.ts are not rules. */
const files = globSync(['{src,test,bench,scripts}/**/*.{ts,mjs,js}', '{docs,bench}/**/*.md', '*.{md,ts}'], {
  cwd: root,
  exclude: ['**/node_modules/**', 'test/unit/citations.test.ts'],
}).sort()

describe('the rule book', () => {
  it('gives each rule an anchor, a code and a name, once and in order', () => {
    expect(headings.filter((line) => !HEADING.test(line))).toEqual([])
    expect(headings.map((line) => HEADING.exec(line)?.[1])).toEqual(codes.map((code) => code.toLowerCase()))
    const inOrder = [...sections].flatMap((message) => {
      const numbers = codes.filter((code) => code.startsWith(message)).map((code) => Number(code.slice(1)))
      return [...new Set(numbers)].sort((a, b) => a - b).map((number) => `${message}${number}`)
    })
    expect(codes).toEqual(inOrder)
  })

  it('has text under each heading', () => {
    const text = lines.filter((line) => line !== '')
    expect(
      text.filter((line, index) => HEADING.test(line) && text[index + 1]?.startsWith('#') !== false),
    ).toEqual([])
  })

  it('is the target of all links to rules', () => {
    const broken = files.flatMap((file) =>
      [...read(file).matchAll(/\]\(([^)#\s]*)#([a-z]\d+)\)/g)].flatMap(([link, page = '', anchor = '']) => {
        const isToRules = page === '' ? file === RULES : page.endsWith('rules.md')
        return isToRules && !codes.includes(anchor.toUpperCase()) ? [`${file}: ${link}`] : []
      }),
    )
    expect(broken).toEqual([])
  })
})

test('every cited code belongs to a rule', () => {
  const unknown = files.flatMap((file) => {
    const cited = citedIn(read(file), { isMarkdown: file.endsWith('.md'), sections })
    return [...cited].filter((code) => !codes.includes(code)).map((code) => `${file} cites ${code}`)
  })
  expect(unknown).toEqual([])
})

test('the code cites every rule, so that a search finds where it is', () => {
  const code = files.filter(
    (file) => file.startsWith('src/') && !/\.reference\.ts$|^src\/api\/reference\//.test(file),
  )
  const cited = new Set(code.flatMap((file) => [...citedIn(read(file), { isMarkdown: false, sections })]))
  expect(codes.filter((code) => !cited.has(code))).toEqual([])
})

describe('tests', () => {
  const tests = files.filter((file) => file.startsWith('test/'))

  it('cite every rule, those of npm test alone', () => {
    const quick = tests.filter((file) => !file.startsWith('test/long/'))
    const cited = new Set(quick.flatMap((file) => [...citedByTests(read(file))]))
    expect(codes.filter((code) => !cited.has(code))).toEqual([])
  })

  it('cite rules in brackets at the beginning of their names', () => {
    expect(tests.flatMap((file) => misnamed(read(file)).map((name) => `${file}: ${name}`))).toEqual([])
  })
})
