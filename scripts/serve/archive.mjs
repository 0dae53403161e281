/**
 * One file of many: a tar archive (ustar), compressed with gzip. `tar -xzf` reads it too.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { Complaint } from '../lib/project.mjs'

const BLOCK = 512

/**
 * Writes the files of a folder, and one that describes them, to a new file. The file has its name only once
 * it is complete.
 *
 * @param {string} folder
 * @param {{ name: string; content: string }} description the first file of the archive
 * @param {string} target
 * @param {AbortSignal} signal ends it early; then no file is left
 */
export async function pack(folder, description, target, signal) {
  const draft = `${target}.${process.pid}.part`
  try {
    const output = createWriteStream(draft, { flags: 'wx', mode: 0o600 })
    await pipeline(Readable.from(blocksOf(folder, description)), createGzip({ level: 1 }), output, { signal })
    const file = await open(draft, 'r')
    await file.sync()
    await file.close()
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** @returns {AsyncGenerator<Buffer>} */
async function* blocksOf(
  /** @type {string} */ folder,
  /** @type {{ name: string; content: string }} */ { name, content },
) {
  const bytes = Buffer.from(content)
  yield header(name, bytes.length)
  yield bytes
  yield padding(bytes.length)
  for (const path of await filesIn(folder)) {
    const { size } = await stat(join(folder, path))
    yield header(path, size)
    // Of a file that grows meanwhile no more than the header says.
    if (size > 0) yield* createReadStream(join(folder, path), { end: size - 1 })
    yield padding(size)
  }
  yield Buffer.alloc(2 * BLOCK)
}

const padding = (/** @type {number} */ size) => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

/** @returns {Promise<string[]>} paths below the folder, with slashes */
async function filesIn(/** @type {string} */ folder, below = '') {
  const entries = await readdir(join(folder, below), { withFileTypes: true })
  const found = await Promise.all(
    entries.map((entry) => {
      const path = posix.join(below, entry.name)
      return entry.isDirectory() ? filesIn(folder, path) : [path]
    }),
  )
  return found.flat().sort()
}

/** The header of a file. A name of more than 100 characters is cut at a slash into two fields. */
function header(/** @type {string} */ path, /** @type {number} */ size) {
  const cut = path.length <= 100 ? -1 : path.indexOf('/', path.length - 101)
  const block = Buffer.alloc(BLOCK)
  const write = (/** @type {string} */ text, /** @type {number} */ from, /** @type {number} */ most) => {
    if (block.write(text, from, most) < Buffer.byteLength(text))
      throw new Error(`The name is too long for an archive: ${path}`)
  }
  write(path.slice(cut + 1), 0, 100)
  if (cut > 0) write(path.slice(0, cut), 345, 155)
  block.write('0000600\0', 100)
  block.write('0000000\0', 108)
  block.write('0000000\0', 116)
  // Eleven octal digits hold 8 GiB; what is larger is written in binary, as GNU tar does.
  if (size < 8 ** 11) block.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  else {
    block[124] = 0x80
    block.writeBigUInt64BE(BigInt(size), 128)
  }
  block.write('00000000000\0', 136)
  block.write('        ', 148)
  block.write('0', 156)
  block.write('ustar\x0000', 257)
  block.write(`${checksum(block).toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** The sum of the bytes of a header, with blanks for the sum itself. */
function checksum(/** @type {Buffer} */ block) {
  let sum = 0
  for (let index = 0; index < BLOCK; index += 1) sum += index >= 148 && index < 156 ? 32 : (block[index] ?? 0)
  return sum
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
  try {
    await pipeline(
      createReadStream(source),
      createGunzip(),
      async (/** @type {AsyncIterable<Buffer>} */ all) => {
        const chunks = unlessAborted(all, signal)
        const input = new Blocks(chunks)
        for (let isFirst = true; ; isFirst = false) {
          const block = await input.take(BLOCK)
          // The end of the archive.
          if (block.every((byte) => byte === 0)) break
          const { path, size } = parse(block)
          if (isFirst) describe(path, String(await input.take(size)))
          else await writeTo(join(folder, path), input, size)
          await input.take(padding(size).length)
        }
        for await (const _ of chunks);
      },
    )
  } catch (error) {
    if (error instanceof Complaint) throw error
    throw new Complaint(`${source} is no backup of Laurel, or not a whole one: ${Object(error).message}`)
  }
}

/** The chunks, until the signal. With the signal of `pipeline`, a file could be written after its error. */
async function* unlessAborted(
  /** @type {AsyncIterable<Buffer>} */ chunks,
  /** @type {AbortSignal} */ signal,
) {
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    yield chunk
  }
}

function parse(/** @type {Buffer} */ block) {
  const field = (/** @type {number} */ from, /** @type {number} */ length) =>
    String(block.subarray(from, from + length)).replace(/\0.*$/s, '')
  if (Number.parseInt(field(148, 8), 8) !== checksum(block)) throw new Error('a header is damaged')
  const prefix = field(345, 155)
  const path = prefix === '' ? field(0, 100) : `${prefix}/${field(0, 100)}`
  if (path.startsWith('/') || path.split('/').includes('..')) throw new Error(`it has a file ${path}`)
  const size = block[124] === 0x80 ? Number(block.readBigUInt64BE(128)) : Number.parseInt(field(124, 12), 8)
  return { path, size }
}

async function writeTo(/** @type {string} */ path, /** @type {Blocks} */ input, /** @type {number} */ size) {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, 'wx', 0o600)
  try {
    for (let left = size; left > 0; ) {
      const part = await input.some(left)
      await file.write(part)
      left -= part.length
    }
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Bytes of a stream, in pieces of the size that is asked for. */
class Blocks {
  #chunks
  #rest = Buffer.alloc(0)
  constructor(/** @type {AsyncIterable<Buffer>} */ chunks) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Returns the next bytes: at least one, and at most `most`. */
  async some(/** @type {number} */ most) {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next()
      if (done) throw new Error('it ends too early')
      this.#rest = value
    }
    const part = this.#rest.subarray(0, most)
    this.#rest = this.#rest.subarray(part.length)
    return part
  }

  async take(/** @type {number} */ size) {
    const parts = []
    for (let left = size; left > 0; left -= parts.at(-1)?.length ?? 0) parts.push(await this.some(left))
    return Buffer.concat(parts)
  }
}
