import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { KINDS, WORK } from '../helpers/log-fields'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operations.md'), 'utf8')
const [, chapter = ''] = /^## Log lines\n([\s\S]*?)(?=^## )/m.exec(`${page}\n## `) ?? []
const sections = new Map(
  chapter
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.split('\n')
      return [title, lines]
    }),
)
const fieldsOf = (lines: readonly string[]) =>
  lines.flatMap((line) => /^\| `([\w.]+)` \|/.exec(line)?.[1] ?? [])

test('docs/operations.md lists each kind of log line with all its fields, in the order of a line', () => {
  expect(Object.fromEntries([...sections].map(([title, lines]) => [title, fieldsOf(lines)]))).toEqual(
    Object.fromEntries(Object.entries(KINDS).map(([title, { always, may }]) => [title, [...always, ...may]])),
  )
})

test('docs/operations.md names each kind of background work that logs lines', () => {
  const row = sections.get('Background work')?.find((line) => line.startsWith('| `work`')) ?? ''
  const named = [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  expect(named.slice(1).sort()).toEqual(Object.keys(WORK).sort())
})
