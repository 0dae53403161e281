/** The files of `npm run serve -- backup` and `restore`, and disks that refuse them. No server runs. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { packTar, type TarHeader } from 'modern-tar'
import { beforeAll, expect, test } from 'vitest'
import { newProject, run as runIn, runServe, serveEnv } from '../helpers/server/harness'

let folder: string

beforeAll(async () => {
  folder = await newProject()
})

const SCRIPT = 'scripts/serve.mjs'
const SERVE = [process.execPath, SCRIPT]

const command = (data: string, given: string[]) => runIn(folder, given, serveEnv(folder, data))
const run = (data: string, ...args: string[]) => runServe(folder, data, ...args)

/** The names in a folder; none if it does not exist. */
const namesIn = async (path: string) => (await readdir(join(folder, path)).catch(() => [])).sort()

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

/** Runs a command with a new file system of two megabytes at `disk`. Then prints the names there. */
const withSmallDisk = (disk: string, before: string, ...args: string[]) => [
  ...['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c'],
  `disk=$0; mount -t tmpfs -o size=2m,mode=0700 none "$disk"; ${before}
"$@"; code=$?; ls -AR "$disk"; exit $code`,
  ...[join(folder, disk), ...SERVE, ...args],
]

const canMount = spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'true']).status === 0

test.runIf(canMount)('a full disk ends a backup and a restore, without half files', async () => {
  const disk = join(folder, 'disk')
  await mkdir(disk)
  await writeData('large', 'file', randomBytes(4_000_000))
  expect(await command('large', withSmallDisk('disk', '', 'backup', 'disk/full.backup'))).toEqual({
    code: 1,
    said:
      `${disk}:\n` +
      `The backup to ${disk}/full.backup has failed: ENOSPC: no space left on device, write.\n`,
  })
  expect(await namesIn('large')).toEqual(['objects'])

  expect(await run('large', 'backup', 'large.backup')).toMatchObject({ code: 0 })
  expect(await command('disk', withSmallDisk('disk', '', 'restore', 'large.backup'))).toEqual({
    code: 1,
    said: `${disk}:\nThe restore into ${disk} has failed: ENOSPC: no space left on device, write.\n`,
  })

  // The copy of the data has no room beside it.
  const data = 'mkdir "$disk/objects"; head -c 1500000 /dev/urandom > "$disk/objects/file"'
  const { code, said } = await command('disk', withSmallDisk('disk', data, 'backup', 'copy.backup'))
  expect([code, await namesIn('copy.backup')]).toEqual([1, []])
  expect(said).toMatch(
    /^\S+\/disk:\nobjects\n\n\S+\/disk\/objects:\nfile\nThe backup to .* has failed: ENOSPC/,
  )
  expect(said.trimEnd().split('\n')).toHaveLength(6)
  expect((await namesIn('.')).filter((name) => name.startsWith('copy.backup'))).toEqual([])
})

/** Root may do everything, so its commands run without that capability. */
const asUser = (...args: string[]) =>
  process.getuid?.() === 0
    ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search', ...SERVE, ...args]
    : [...SERVE, ...args]

test('a folder or a file without permission ends a backup and a restore', async () => {
  await writeData('small', 'file', 'content')
  await mkdir(join(folder, 'closed', 'lost+found'), { recursive: true })
  await chmod(join(folder, 'closed'), 0o500)
  expect(await command('small', asUser('backup', 'closed/no.backup'))).toEqual({
    code: 1,
    said: expect.stringMatching(
      /^The backup to \S+\/closed\/no.backup has failed: EACCES: permission denied, open '\S+'\.\n$/,
    ),
  })
  expect(await namesIn('small')).toEqual(['objects'])

  expect(await run('small', 'backup', 'small.backup')).toMatchObject({ code: 0 })
  expect(await command('closed', asUser('restore', 'small.backup'))).toEqual({
    code: 1,
    said: expect.stringMatching(/^LAUREL_DATA can't be used: listen EACCES: permission denied \S+\n$/),
  })
  expect(await namesIn('closed')).toEqual(['lost+found'])

  await chmod(join(folder, 'small.backup'), 0)
  expect(await command('open', asUser('restore', 'small.backup'))).toEqual({
    code: 1,
    said: expect.stringMatching(
      /^The restore into \S+\/open has failed: EACCES: permission denied, open '\S+\/small.backup'\.\n$/,
    ),
  })
  expect(await namesIn('open')).toEqual([])
})

test.runIf(process.getuid?.() === 0)(
  'a volume is used that belongs to another user, if its group may write',
  async () => {
    const volume = join(folder, 'volume')
    await mkdir(volume)
    await chown(volume, 0, 65_534)
    await chmod(volume, 0o2775)
    await chmod(folder, 0o755)
    const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...SERVE]
    expect(await command('volume', [...asNobody, 'backup', 'none.backup'])).toEqual({
      code: 1,
      said: `There is no data in ${volume}.\n`,
    })
    expect((await stat(volume)).mode & 0o7777).toBe(0o2775)
  },
)

/**
 * A command in which one call of fsync fails, counted from 1. It prints for each call if a path exists by
 * then.
 */
const withSync = (path: string, failing: number, ...args: string[]) => {
  const module = `
    import { existsSync } from 'node:fs'
    import { open } from 'node:fs/promises'
    const file = await open('package.json')
    const handle = Object.getPrototypeOf(file)
    await file.close()
    const { sync } = handle
    let calls = 0
    handle.sync = async function () {
      console.log(existsSync(${JSON.stringify(join(folder, path))}))
      calls += 1
      if (calls !== ${failing}) return sync.call(this)
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' })
    }`
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(module)}`, SCRIPT, ...args]
}

test('files and folders are on the disk before and after they are renamed, or the command fails', async () => {
  await writeData('synced', 'file', 'content')
  const backup = (failing: number) =>
    command('synced', withSync('synced.backup', failing, 'backup', 'synced.backup'))
  for (const failing of [1, 2]) {
    const { code, said } = await backup(failing)
    expect(code).toBe(1)
    expect(said).toMatch(/The backup to \S+\/synced.backup has failed: EIO: i\/o error, fsync\.\n$/)
    expect((await namesIn('.')).filter((name) => name.startsWith('synced.backup'))).toEqual([])
  }
  expect(await backup(0)).toEqual({ code: 0, said: expect.stringMatching(/^false\ntrue\nThe backup is in/) })

  const restore = (failing: number) =>
    command('target', withSync('target/objects', failing, 'restore', 'synced.backup'))
  // The file, its folder, the folder of the restore, its note, and the folder of the data before and after the
  // renaming.
  for (const failing of [1, 2, 3, 4, 5, 6]) {
    const { code, said } = await restore(failing)
    expect(code).toBe(1)
    expect(said).toMatch(/The restore into \S+\/target has failed: EIO: i\/o error, fsync\.\n$/)
    expect(await namesIn('target')).toEqual([])
  }
  expect(await restore(0)).toEqual({
    code: 0,
    said: expect.stringMatching(/^false\nfalse\nfalse\nfalse\nfalse\ntrue\nThe data is in/),
  })
})
