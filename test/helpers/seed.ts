/** Random numbers and ids that are the same in each run: they follow from TEST_SEED and the test. */
import fc from 'fast-check'
import { v4 } from 'uuid'
import { beforeEach, expect, inject } from 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    seed: string
  }
}

/** The value of TEST_SEED. */
export const SEED = inject('seed')

/** The state of the generator (sfc32). With 128 bits, no two texts begin the same numbers. */
let [a, b, c, count] = [0, 0, 0, 0]
/** How often each text has begun its numbers, so that a test that runs again makes other ids. */
const begun = new Map<string, number>()

/**
 * Begins the random numbers of a test file, and of each of its tests. A setup file calls it. The Worker and
 * its objects take their numbers from there too, since they run in the isolate of the tests.
 */
export function seedTests(): void {
  const path = expect.getState().testPath ?? ''
  const file = path.slice(path.lastIndexOf('/test/'))
  begin(file)
  fc.configureGlobal({ seed: hashed(`${SEED} ${file}`) })
  beforeEach(({ task }) => begin(task.id))
}

function begin(text: string): void {
  const times = begun.get(text) ?? 0
  begun.set(text, times + 1)
  const word = (nth: number) => hashed(`${nth} ${SEED} ${times} ${text}`)
  ;[a, b, c, count] = [word(0), word(1), word(2), word(3)]
}

/** A number of 32 bits that follows from a text (FNV-1a with a last step of MurmurHash3). */
function hashed(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return hash ^ (hash >>> 13)
}

function next(): number {
  const sum = (a + b + count) | 0
  a = b ^ (b >>> 9)
  b = (c + (c << 3)) | 0
  c = (((c << 21) | (c >>> 11)) + sum) | 0
  count = (count + 1) | 0
  return sum >>> 0
}

Math.random = () => next() / 2 ** 32
crypto.getRandomValues = (array) => {
  if (array === null) return array
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = next() >>> 24
  return array
}
crypto.randomUUID = () => v4({ random: crypto.getRandomValues(new Uint8Array(16)) })
