/** The files of `npm run serve -- backup` and `restore`. No server runs. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { packTar, type TarHeader } from 'modern-tar'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newProject } from './harness'

let folder: string

beforeAll(async () => {
  folder = await newProject()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a command. Answers its exit code and its output. */
async function command(data: string, [program = '', ...args]: string[]) {
  const { stdout, stderr, code } = await promisify(execFile)(program, args, {
    cwd: folder,
    env: { ...process.env, INIT_CWD: folder, LAUREL_DATA: join(folder, data) },
  })
    .then((said) => ({ ...said, code: 0 }))
    .catch((error) => Object(error))
  return { code, said: `${stdout}${stderr}` }
}

const SCRIPT = 'scripts/serve.mjs'
const SERVE = [process.execPath, SCRIPT]

/** Runs `npm run serve -- …`. */
const run = (data: string, ...args: string[]) => command(data, [...SERVE, ...args])

/** The names in a folder; none if it does not exist. */
const namesIn = async (path: string) => (await readdir(join(folder, path)).catch(() => [])).sort()

/** Writes a file of the data in a folder. */
async function writeData(data: string, path: string, content: string | Buffer) {
  const file = join(folder, data, 'objects', path)
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, content)
}

const DESCRIPTION = { name: 'laurel.json', content: '{"format":1}' }

/** Writes an archive of given files. */
async function writeArchive(target: string, files: { name: string; content?: string; link?: string }[]) {
  const entries = files.map(({ name, content = '', link }) => {
    const header: TarHeader = { name, size: content.length, type: link === undefined ? 'file' : 'symlink' }
    if (link !== undefined) header.linkname = link
    return { header, body: content }
  })
  await writeFile(join(folder, target), gzipSync(await packTar(entries)))
}

test('a path of any length is backed up and restored, and an empty file too', async () => {
  const path = join('a'.repeat(200), 'b'.repeat(200), 'c'.repeat(90))
  await writeData('deep', path, 'content')
  await writeData('deep', 'empty', '')
  expect(await run('deep', 'backup', 'deep.backup')).toMatchObject({ code: 0 })
  expect(await run('deeper', 'restore', 'deep.backup')).toMatchObject({ code: 0 })
  expect(await readFile(join(folder, 'deeper', 'objects', path), 'utf8')).toBe('content')
  expect(await readFile(join(folder, 'deeper', 'objects', 'empty'), 'utf8')).toBe('')
  expect(await namesIn('deeper')).toEqual(['objects', 'restored'])
})

test('a file that is a symbolic link is backed up with its content', async () => {
  await writeData('linked', 'file', 'here')
  await writeFile(join(folder, 'elsewhere'), 'there')
  await symlink(join(folder, 'elsewhere'), join(folder, 'linked', 'objects', 'link'))
  expect(await run('linked', 'backup', 'linked.backup')).toMatchObject({ code: 0 })
  expect(await run('unlinked', 'restore', 'linked.backup')).toMatchObject({ code: 0 })
  expect(await readFile(join(folder, 'unlinked', 'objects', 'link'), 'utf8')).toBe('there')
})

test('a backup of a version that wrote archives by itself is restored', async () => {
  const earlier =
    'H4sIAAAAAAAEA+2WUWvCMBDH++ynkHu28Z+0RujzPsKe9pbOCEo1LokbY+y7j2xUdAMtyyp25CikcJe75Hf9p2nU3uqGrZ3Z' +
    'Zn0ZAEggCyN+jsB83vq+/BxcIBujrwUd5907r2yGq9Q6rnsj72+0NHajPFV8Qs/aupXZUkVgnIEmFBwkIGTOeS7EPUeF8DAA' +
    'D/Q+upFdpGX8lkAdYV1rBlGf1T/KU/0XUpRy4Po39Vo/ejdVEdYVcETcQutdxPQ0deAE2s9Ub3b+tae9XNb/4W7Q/v/LYjZw' +
    '/ffE8q/Ttv1vPu+B+Z3yqlZOT615ccw9NSuvo0te7v+385+XM1mk/keD75Ag9LlDWApJBBKBRCAR+GcEPgBXVZ7VABIAAA=='
  await writeFile(join(folder, 'earlier.backup'), Buffer.from(earlier, 'base64'))
  expect(await run('earlier', 'restore', 'earlier.backup')).toMatchObject({ code: 0 })
  const contentOf = (...path: string[]) => readFile(join(folder, 'earlier', 'objects', ...path), 'utf8')
  expect(await contentOf('laurel-Database', 'rows.sqlite')).toBe('rows')
  expect(await contentOf('empty')).toBe('')
  // Its path is in two fields of the header.
  expect(await contentOf('a'.repeat(60), 'b'.repeat(60))).toBe('deep')
})

test.each([
  ['a path with ..', [DESCRIPTION, { name: 'objects/../../../out', content: 'x' }], 'it has a file objects/'],
  ['an absolute path', [DESCRIPTION, { name: '/tmp/laurel-out', content: 'x' }], 'it has a file /tmp/'],
  ['a link', [DESCRIPTION, { name: 'objects/link', link: '/etc' }], 'it has a symlink objects/link'],
  ['another first file', [{ name: 'objects/file', content: 'x' }, DESCRIPTION], 'begin with its description'],
  ['no file', [], 'it is empty'],
])('an archive with %s is refused, and nothing is written', async (_, files, reason) => {
  await writeArchive('hostile.backup', files)
  const before = await namesIn('.')
  const { code, said } = await run('hostile', 'restore', 'hostile.backup')
  expect(code).toBe(1)
  expect(said).toContain('is no backup of Laurel, or not a whole one')
  expect(said).toContain(reason)
  expect(said.trimEnd().split('\n')).toHaveLength(1)
  expect(await namesIn('hostile')).toEqual([])
  expect((await namesIn('.')).filter((name) => name !== 'hostile')).toEqual(
    before.filter((name) => name !== 'hostile'),
  )
})

test('a backup of a later form is refused with that reason', async () => {
  await writeArchive('later.backup', [{ ...DESCRIPTION, content: '{"format":2}' }])
  expect(await run('later', 'restore', 'later.backup')).toEqual({
    code: 1,
    said: 'A later version of Laurel has made this backup. Restore it with that version.\n',
  })
})
