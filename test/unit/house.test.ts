import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { RETRY_AFTER } from '../../src/lib/errors'
import * as limits from '../../src/lib/limits'

/* `npm run rooms` checks the order of the rooms. */

const root = join(import.meta.dirname, '..', '..')
const files = globSync('src/**/*.ts', { cwd: root })

const MOST_FILES = 22
const MOST_LINES = 450
/** What the end of a file's name says. A file without one is named after its concept alone. */
const ENDINGS = ['object', 'reference', 'resource', 'routes', 'rules', 'sql']

test('no folder has more than 22 files', () => {
  const folders = Map.groupBy(files, (file) => dirname(file))
  const large = [...folders].filter(([, list]) => list.length > MOST_FILES).map(([folder]) => folder)
  expect(folders.size).toBeGreaterThan(20)
  expect(large).toEqual([])
})

test('two folders import each other only if one is a part of the other', () => {
  const imports = files.flatMap((file) => {
    const targets = readFileSync(join(root, file), 'utf8').matchAll(
      /^(?:import|export|}).* from '(\.[^']+)'/gm,
    )
    return [...targets].map(([, path = '']) => [dirname(file), dirname(join(dirname(file), path))] as const)
  })
  const across = new Set(imports.filter(([from, to]) => from !== to).map((pair) => pair.join(' ')))
  expect(across.size).toBeGreaterThan(200)
  const isPart = (folder: string, of: string) => folder.startsWith(`${of}/`)
  const tangled = imports.filter(
    ([from, to]) => from < to && !isPart(to, from) && across.has(`${to} ${from}`),
  )
  expect(tangled).toEqual([])
})

test('only the room of due work has SQL of its table, and the jobs room names no kind', () => {
  const textOf = (file: string) => readFileSync(join(root, file), 'utf8')
  const naming = files.filter((file) => textOf(file).includes('due_work'))
  // The register lists all tables, and one of its users leaves this table to the jobs room.
  const expected = [
    'features/account/purge.sql',
    'time/due-work.sql',
    'time/moved-work.sql',
    'time/timekeeper.sql',
    'store/user-data/register',
  ]
  expect(naming.toSorted()).toEqual(expected.map((name) => `src/${name}.ts`).toSorted())
  const counting = files.filter((file) => textOf(file).includes('asked + 1'))
  expect(counting.filter((file) => !file.startsWith('src/time/'))).toEqual([])
  const kinds = files
    .filter((file) => / = defineJob\(\{$/m.test(textOf(file)))
    .flatMap((file) => textOf(file).match(/(?<=^ {2}kind: ')\w+(?=',$)/gm) ?? [`none in ${file}`])
  expect(kinds.length).toBeGreaterThan(12)
  const room = files.filter((file) => file.startsWith('src/time/')).map(textOf)
  expect(kinds.filter((kind) => room.some((text) => text.includes(`'${kind}'`)))).toEqual([])
  const list = textOf('src/worker/jobs.ts')
  expect(list.match(/^ {4}\w+Job,$/gm)).toHaveLength(kinds.length)
})

test('the end of a name is one of six', () => {
  const ends = files.map((file) => ({ file, end: basename(file, '.ts').split('.').slice(1).join('.') }))
  expect(ends.filter(({ end }) => end !== '' && !ENDINGS.includes(end))).toEqual([])
  expect(ends.filter(({ end }) => end !== '').length).toBeGreaterThan(100)
})

test('an import of a file of SQL ends in .ts, since wrangler takes other names for texts', () => {
  const imports = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/ '\.[^']*\.sql(?:\.ts)?'/g)].map(([path]) => path),
  )
  expect(imports.length).toBeGreaterThan(100)
  expect(imports.filter((path) => !path.endsWith(".ts'"))).toEqual([])
})

test('no file has more than 450 lines', () => {
  const linesOf = (file: string) => readFileSync(join(root, file), 'utf8').split('\n').length - 1
  expect(files.filter((file) => linesOf(file) > MOST_LINES)).toEqual([])
})

test('each script finds all that it imports', async () => {
  const scripts = [
    '{scripts,bench,site}/*.mjs',
    'bench/{live,peers}/**/*.mjs',
    'clients/*/scripts/*.mjs',
    'examples/*/*.js',
  ]
  const entryPoints = globSync(scripts, { cwd: root })
  expect(entryPoints.length).toBeGreaterThan(30)
  const { errors } = await build({
    ...{ absWorkingDir: root, entryPoints, outdir: join(root, 'dist'), write: false, logLevel: 'silent' },
    ...{ bundle: true, format: 'esm', packages: 'external', platform: 'node' },
  }).catch((error) => error)
  expect(errors.map(({ text }: { text: string }) => text)).toEqual([])
})

test('a file that a document or a comment names exists, also without its folder', () => {
  // Readers write these themselves, and all files that a guide names without a folder.
  const own = ['import.mjs', 'points-spent.event.ts']
  const code = [
    '{src,test,scripts,bench}/**/*.{ts,mjs}',
    'clients/*/{src,test}/**/*.ts',
    'console/{,src/**/}*.ts',
    '*.{ts,mjs}',
  ]
  const known = globSync(code, { cwd: root })
  const documents = ['*.md', 'docs/*.md', 'docs/api/*.md', 'bench/*.md']
  const texts = globSync([...documents, '{src,test}/**/*.ts', '*.toml'], { cwd: root })
  const inBackticks = /`(\w[\w./-]*\.(?:ts|mjs))`/g
  const inComment = /^ *(?:\*|\/\/|\/\*\*) .*?(?<![\w./<-])(\w[\w./-]*\.(?:ts|mjs))\b(?!\.)/gm
  const named = texts.flatMap((text) =>
    (text.endsWith('.md') ? [inBackticks] : [inBackticks, inComment]).flatMap((form) =>
      [...readFileSync(join(root, text), 'utf8').matchAll(form)].map(([, path = '']) => ({ text, path })),
    ),
  )
  const exists = (path: string) =>
    path.startsWith('src/') ? files.includes(path) : known.some((file) => `/${file}`.endsWith(`/${path}`))
  const lost = named
    .filter(({ path }) => !own.includes(path) && !exists(path))
    .map(({ text, path }) => `${text}: ${path}`)
  expect(named.length).toBeGreaterThan(100)
  expect(lost).toEqual([])
})

test('lengths of time and offsets are named in one file', () => {
  // In milliseconds or seconds, as a number or SQL; a constant with the same name; or a local day that is
  // computed by hand.
  const own = [
    /\b(86_?400(_?000)?|3_?600_?000|172_?800)\b/,
    /\* 60_?000\b/,
    /\bconst (SECOND|MINUTE|HOUR|DAY)\b/,
    /utcOffset \*/,
  ]
  const units = ['src/lib/clock.ts', 'src/lib/zone.ts']
  const found = files
    .filter((file) => !units.includes(file))
    .flatMap((file) => {
      const lines = readFileSync(join(root, file), 'utf8').split('\n')
      return lines
        .filter((line) => own.some((one) => one.test(line)))
        .map((line) => `${file}: ${line.trim()}`)
    })
  expect(found).toEqual([])
})

test('the files to read first are at most fifteen, and 3,000 lines', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const [, section = ''] = page.split('## Read this first\n')
  const [table = ''] = section.split('\n## ')
  const named = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, file = '']) => file)
  const lines = named.map((file) => readFileSync(join(root, file), 'utf8').split('\n').length)
  expect(named.length).toBeGreaterThan(10)
  expect(named.length).toBeLessThanOrEqual(15)
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(3_000)
  expect(page.split('\n').length).toBeLessThanOrEqual(600)
})

test('the table of things to change names files and names that exist', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const [, section = ''] = page.split('### Where to change things\n')
  const [table = ''] = section.split('\n## ')
  const rows = [...table.matchAll(/^\| (.+) \| `([^`]+)` \| (.*?) ?\|$/gm)]
  const lost = rows.flatMap(([, , file = '', names = '']) => {
    if (!existsSync(join(root, file))) return [file]
    const text = readFileSync(join(root, file), 'utf8')
    const wanted = [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    return wanted.filter((name) => !new RegExp(`\\b${name}\\b`).test(text)).map((name) => `${file}: ${name}`)
  })
  expect(rows.length).toBeGreaterThan(90)
  // The head of the table has two lines.
  expect(table.match(/^\|/gm)).toHaveLength(rows.length + 2)
  expect(lost).toEqual([])
})

test('docs/limits.md or G7 has each limit', () => {
  const [, afterG7 = ''] = readFileSync(join(root, 'docs/rules.md'), 'utf8').split('<a id="g7"></a>')
  const [g7 = ''] = afterG7.split('<a id="g8"></a>')
  const page = readFileSync(join(root, 'docs/limits.md'), 'utf8') + g7
  const { MIB, MOST_BODY_BYTES, MOST_BATCH_BYTES, LOG_DAYS, PAGES, ...counts } = limits
  const pages = Object.values(PAGES).flatMap(({ max, fallback }) => [max, fallback])
  const shown = [...Object.values(counts), ...pages].map((count) => count.toLocaleString('en-US'))
  shown.push(`${MOST_BODY_BYTES / MIB} MiB`, `${MOST_BATCH_BYTES / MIB} MiB`, `${LOG_DAYS} days`)
  expect(shown.filter((text) => !new RegExp(`(?<![\\d,])${text}(?![\\d,]*\\d)`).test(page))).toEqual([])
  expect(shown.length).toBeGreaterThan(50)
})

test('the cron trigger comes as often as the Timekeepers expect', () => {
  const [, minutes] = readFileSync(join(root, 'wrangler.toml'), 'utf8').match(/crons = \["\*\/(\d+) /) ?? []
  expect(readFileSync(join(root, 'src/time/timekeeper.ts'), 'utf8')).toContain(
    `const CRON_INTERVAL = ${minutes} * MINUTE`,
  )
})

test('a client that exceeds a rate limit waits for its window', () => {
  const periods = [...readFileSync(join(root, 'wrangler.toml'), 'utf8').matchAll(/period = (\d+)/g)]
  expect(periods.length).toBeGreaterThan(2)
  expect(new Set(periods.map(([, seconds]) => Number(seconds)))).toEqual(new Set([RETRY_AFTER.rateLimit]))
})
