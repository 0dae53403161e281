/** One file of many: a tar archive, compressed with gzip. `tar -xzf` reads it too. */
import { createReadStream, createWriteStream, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { Complaint, filesIn, inProject, isSystemError, toolScript } from '../lib/project.mjs'
import { renameAndSync, sync } from './files.mjs'

/** The form of backups. A later one that this version can't read has another number. */
const FORMAT = 1
/** The first file of the archive. */
const DESCRIPTION = 'laurel.json'

/**
 * Writes the files of a folder, as they were `at` a moment, to a new file. The file has its name only once it is
 * complete and on the disk.
 *
 * @param {{ folder: string; at: string }} copy it has regular files and folders only
 * @param {string} target
 * @param {AbortSignal} signal ends it early; then no file is left
 */
export async function pack({ folder, at }, target, signal) {
  toolScript('modern-tar', 'package.json')
  const { packTar } = await import('modern-tar/fs')
  const draft = `${target}.${process.pid}.part`
  try {
    const mode = 0o600
    const files = filesIn(folder)
      .toSorted()
      .map((target) => ({ type: /** @type {const} */ ('file'), source: join(folder, target), target, mode }))
    const { version } = JSON.parse(readFileSync(inProject('package.json'), 'utf8'))
    const content = `${JSON.stringify({ format: FORMAT, version, at })}\n`
    const archive = packTar([{ type: 'content', content, target: DESCRIPTION, mode }, ...files])
    const output = createWriteStream(draft, { flags: 'wx', mode })
    await pipeline(archive, createGzip({ level: 1 }), output, { signal })
    await sync(draft)
    await renameAndSync(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/**
 * Reads an archive that `pack` has made.
 *
 * @param {string} source
 * @param {string} folder where the files are written
 * @param {AbortSignal} signal ends it early
 * @throws {Complaint} if it is no such archive, or not whole, or of a later version
 */
export async function unpack(source, folder, signal) {
  toolScript('modern-tar', 'package.json')
  const { createTarDecoder } = await import('modern-tar')
  const decoder = createTarDecoder({ strict: true })
  try {
    await pipeline(
      createReadStream(source),
      createGunzip(),
      async (/** @type {AsyncIterable<Buffer>} */ bytes) => {
        let isFirst = true
        for await (const { header, body } of Readable.toWeb(Readable.from(bytes)).pipeThrough(decoder)) {
          // With the signal of `pipeline`, a file could be written after its error.
          signal.throwIfAborted()
          if (isFirst) demandKnown(header.name, await text(body))
          else {
            const path = join(folder, safePath(header))
            await mkdir(dirname(path), { recursive: true, mode: 0o700 })
            await writeFile(path, body, { flag: 'wx', mode: 0o600, signal })
          }
          isFirst = false
        }
        if (isFirst) throw new Error('it is empty')
      },
    )
  } catch (error) {
    if (error instanceof Complaint || isSystemError(error)) throw error
    throw new Complaint(`${source} is no backup of Laurel, or not a whole one: ${Object(error).message}`)
  }
}

function demandKnown(/** @type {string} */ name, /** @type {string} */ content) {
  const { format } = name === DESCRIPTION ? JSON.parse(content) : { format: undefined }
  if (format === undefined) throw new Error('it does not begin with its description')
  if (format !== FORMAT)
    throw new Complaint(`A later version of Laurel has made this backup. Restore it with that version.`)
}

/** The path of an entry. Throws if it may lead out of the folder, or if the entry is, for example, a link. */
function safePath(/** @type {import('modern-tar').TarHeader} */ { name, type }) {
  if (type !== 'file' || name.startsWith('/') || name.split('/').includes('..'))
    throw new Error(`it has a ${type} ${name}`)
  return name
}
