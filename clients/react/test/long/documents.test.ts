import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const react = join(import.meta.dirname, '..', '..')
const root = join(react, '..', '..')
const PAGES = [join(react, 'README.md'), join(root, 'docs', 'guides', 'react.md')]

test('the examples of the documents have the types of the packages', () => {
  const examples = PAGES.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/^```tsx?\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code),
  )
  expect(examples.length).toBeGreaterThan(6)
  const folder = join(react, 'dist', 'examples')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(folder, { recursive: true })
  for (const [index, code] of examples.entries()) writeFileSync(join(folder, `${index + 1}.tsx`), code)
  const settings = {
    extends: '../../tsconfig.json',
    compilerOptions: { types: ['vite/client', 'node'] },
    include: ['.'],
    exclude: [],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  execFileSync(process.execPath, [join(root, 'clients', 'typescript', 'scripts', 'generate.mjs')])
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  let complaints = ''
  try {
    execFileSync(process.execPath, [compiler, '--noEmit', '-p', folder], { encoding: 'utf8' })
  } catch (error) {
    complaints = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error)
  }
  expect(complaints).toBe('')
})

test('the table of properties in the README is that of the stylesheet', () => {
  const style = readFileSync(join(react, 'src', 'styles.css'), 'utf8')
  const known = new Set([...style.matchAll(/var\((--laurel-[\w-]+)/g)].map(([, name]) => name))
  // A meter sets it.
  known.delete('--laurel-ratio')
  const [, table = ''] = readFileSync(join(react, 'README.md'), 'utf8').split('## Look')
  const rows = (table.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `--'))
  const named = rows.flatMap((row) => [...row.matchAll(/`(--laurel-[\w-]+)`/g)].map(([, name]) => name))
  expect(named.toSorted()).toEqual([...known].toSorted())
})
