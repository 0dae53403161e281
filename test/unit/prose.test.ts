import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const script = join(import.meta.dirname, '..', '..', 'scripts', 'prose.mjs')

/** Runs the script on a folder with these files. Returns its exit code and the lines that it prints. */
async function prose(files: Record<string, string>, ...options: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-prose-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const all = { 'biome.json': '{ "formatter": { "lineWidth": 60 } }', ...files }
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return new Promise<{ code: number; lines: string[] }>((resolve) => {
    execFile(process.execPath, [script, folder, ...options], (error, stdout, stderr) => {
      resolve({
        code: typeof error?.code === 'number' ? error.code : 0,
        lines: `${stdout}${stderr}`.trimEnd().split('\n'),
      })
    })
  })
}

/** The places that the script lists: file, line and sentence, without the names of the constructions. */
async function listed(files: Record<string, string>) {
  const { lines } = await prose(files, '--list')
  return lines.filter((line) => line !== '' && !line.startsWith(' '))
}

test('comments are read by paragraph and sentence, with the line that each sentence begins on', async () => {
  const text = `/**
 * Plain words. It keeps
 * what it reads. Null where
 * there is none.
 * @param {{ a: 'what it is' }} somebody the text
 * @returns {string} what was read
 */
const a = 1 // kept for somebody

// A comment that goes on
// below, for whoever reads.
//
// biome-ignore lint/a/b: nobody knows, hence this
const b = \`// counted anew\`
`
  expect(await listed({ 'src/a.ts': text })).toEqual([
    'src/a.ts:2: It keeps what it reads.',
    'src/a.ts:3: Null where there is none.',
    'src/a.ts:6: what was read',
    'src/a.ts:8: kept for somebody',
    'src/a.ts:10: A comment that goes on below, for whoever reads.',
    'src/a.ts:13: nobody knows, hence this',
  ])
})

test('code and quotations are no prose', async () => {
  const text = `/**
 * Reads \`what it is\`, "what it was" and https://example.com/what-it-is.
 *
 *     counted anew
 *
 * \`\`\`
 * counted anew
 * \`\`\`
 */
`
  expect(await listed({ 'src/a.ts': text })).toEqual([])
})

test('the names of tests are read, in every form', async () => {
  const text = `test('[P7] counts anew', () => {})
it.each([1])('keeps %s of late', () => {})
describe.skipIf(true)("for somebody's sake", () => {})
it(\`counts \${what} anew\`, () => {})
other('counts anew')
`
  expect(await listed({ 'test/a.test.ts': text })).toEqual([
    'test/a.test.ts:1: [P7] counts anew',
    'test/a.test.ts:2: keeps %s of late',
    "test/a.test.ts:3: for somebody's sake",
    'test/a.test.ts:4: counts `…` anew',
  ])
})

test('texts and comments of pages are read, between tags and in properties', async () => {
  const text = `/** Counts anew. */
export const a = (
  <Card title="It is for somebody here">
    It goes on
    to <b>somebody</b> who{' '}
    reads. Plain words. {count} counted anew.
    <p>It counts anew.</p>
    {isOpen && <>It is kept of late.</>}
  </Card>
)
`
  const places = (file: string) => [
    `${file}:1: Counts anew.`,
    `${file}:3: It is for somebody here`,
    `${file}:6: \`…\` counted anew.`,
    `${file}:7: It counts anew.`,
    `${file}:8: It is kept of late.`,
  ]
  expect(await listed({ 'console/src/a.tsx': text })).toEqual(places('console/src/a.tsx'))
  expect(await listed({ 'clients/react/src/a.tsx': text })).toEqual(places('clients/react/src/a.tsx'))
  expect(await listed({ 'bench/a.tsx': text })).toEqual(places('bench/a.tsx').slice(0, 1))
})

test('documents are read by paragraph, item and cell, without headings and code', async () => {
  const text = `# What it is

It goes on
to somebody.

- Counted anew.
- Plain words.
  <!-- counted anew -->

| name | what it is |
|---|---|
| a \\| b | counted anew |

\`\`\`sh
counted anew
\`\`\`
`
  expect(await listed({ 'docs/a.md': text })).toEqual([
    'docs/a.md:3: It goes on to somebody.',
    'docs/a.md:6: Counted anew.',
    'docs/a.md:10: what it is',
    'docs/a.md:12: counted anew',
  ])
})

test('sentences are counted by area', async () => {
  const { lines, code } = await prose({
    'src/a.ts': "// Plain words. Counted anew.\nthrow new Error('There is somebody already.')\n",
    'scripts/a.mjs': '// What it is.\n',
    'README.md': 'Plain words.\n',
    'node_modules/a.mjs': '// What it is.\n',
  })
  expect(code).toBe(0)
  const counts = lines.slice(1, 9).map((line) => line.split(/ {2,}/))
  expect(counts).toEqual([
    ['src comments', '2', '1', '50.0 %'],
    ['src texts', '1', '1', '100.0 %'],
    ['pages', '0', '0', '0.0 %'],
    ['test comments', '0', '0', '0.0 %'],
    ['test names', '0', '0', '0.0 %'],
    ['documents', '1', '0', '0.0 %'],
    ['scripts and bench', '1', '1', '100.0 %'],
    ['all', '5', '3', '60.0 %'],
  ])
})

test('the check refuses sentences that are certainly wrong', async () => {
  const wrong = [
    'Null where there is none.',
    'What is due.',
    '**What is due** [P7] is a row.',
    'It makes a copy of what is due.',
    'Who is told.',
    'A user whom it is for.',
    'It goes to whoever asks.',
    'It reads those who ask.',
    'It is for somebody.',
    'It counts anew.',
    'It was long of late.',
    'It waits, lest one is lost.',
    'It stands in the row.',
    'It waits, should the alarm be lost.',
    'It is as long as may be.',
  ]
  const comments = wrong.map((sentence) => `// ${sentence}\n`).join('\n')
  const { lines, code } = await prose({ 'src/a.ts': comments }, '--check')
  const places = lines.filter((line) => line.startsWith('src/'))
  expect(places).toEqual(wrong.map((sentence, index) => `src/a.ts:${1 + 2 * index}: ${sentence}`))
  expect(code).toBe(1)
})

test('titles and table cells of documents may begin with a question word', async () => {
  const { lines, code } = await prose({ 'docs/a.md': '| what it does |\n|---|\n| who |' }, '--check')
  expect([lines.filter((line) => line.startsWith('docs/')), code]).toEqual([[], 0])
})

test('the check lets plain sentences pass', async () => {
  const plain = [
    'The file where the rows are kept.',
    'Where are the rows kept?',
    'What does it cost?',
    'The log says what happened, and who sent it.',
    'Users whose streak is lost get an email.',
    'The clock stands still.',
    'Whether the user is new.',
    'Nobody else reads it.',
    'It should be fast.',
    'CLI stands for command line interface.',
  ]
  const { lines, code } = await prose({ 'docs/a.md': plain.join('\n\n') }, '--check')
  expect(lines).toEqual([''])
  expect(code).toBe(0)
})

test('the check refuses lines over the width of the formatter that can be broken', async () => {
  const long = 'a text that is much longer than the formatter lets it be'
  const text = `// ${long}, and goes on
// https://example.com/${'a'.repeat(60)}
const a = '${long}, and goes on'
test('${long}', async () => {
})
const b = \`SELECT
  ${long}, and goes on
\`
const c = /${'a'.repeat(60)}/
const d = 1 /* ${long} */
`
  const { lines, code } = await prose({ 'test/a.ts': text }, '--check')
  expect(lines.slice(0, -1)).toEqual([1, 7, 10].map((line) => `test/a.ts:${line}: longer than 60 characters`))
  expect(code).toBe(1)
})
