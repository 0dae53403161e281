/** One file of many: a tar archive, compressed with gzip. `tar -xzf` reads it too. */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { Complaint, filesIn, isSystemError, toolScript } from '../lib/project.mjs'
import { renameAndSync, sync } from './files.mjs'

/**
 * Writes the files of a folder, and one that describes them, to a new file. The file has its name only once
 * it is complete and on the disk.
 *
 * @param {string} folder it has regular files and folders only
 * @param {{ name: string; content: string }} description the first file of the archive
 * @param {string} target
 * @param {AbortSignal} signal ends it early; then no file is left
 */
export async function pack(folder, { name, content }, target, signal) {
  toolScript('modern-tar', 'package.json')
  const { packTar } = await import('modern-tar/fs')
  const draft = `${target}.${process.pid}.part`
  try {
    const mode = 0o600
    const files = filesIn(folder)
      .toSorted()
      .map((target) => ({ type: /** @type {const} */ ('file'), source: join(folder, target), target, mode }))
    const archive = packTar([{ type: 'content', content, target: name, mode }, ...files])
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
 * @param {(name: string, content: string) => void} describe is given the first file; may throw
 * @param {string} folder where the others are written
 * @param {AbortSignal} signal ends it early
 * @throws {Complaint} if it is no such archive, or not whole
 */
export async function unpack(source, describe, folder, signal) {
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
          if (isFirst) describe(header.name, await text(body))
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

/** The path of an entry. Throws if it may lead out of the folder, or if the entry is, for example, a link. */
function safePath(/** @type {import('modern-tar').TarHeader} */ { name, type }) {
  if (type !== 'file' || name.startsWith('/') || name.split('/').includes('..'))
    throw new Error(`it has a ${type} ${name}`)
  return name
}
