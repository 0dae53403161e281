/** What the server tells the Worker of the machine, which the Worker itself cannot see. */
import { rm, writeFile } from 'node:fs/promises'

/** How long an answer about the disk counts, in milliseconds: `/health` needs no key. */
const FRESH = 5000
/** More than most changes need. */
const SAMPLE = Buffer.alloc(65_536, '.')
const PROBE = 'probe'

let last = { at: Number.NEGATIVE_INFINITY, code: Promise.resolve('') }

/** The code of the error on writing to the folder with the data, such as `ENOSPC`; empty if there is none. */
export function storageFault() {
  const now = performance.now()
  if (now - last.at > FRESH) last = { at: now, code: write() }
  return last.code
}

async function write() {
  try {
    await writeFile(PROBE, SAMPLE, { mode: 0o600, flush: true })
    await rm(PROBE)
    return ''
  } catch (error) {
    await rm(PROBE, { force: true }).catch(() => undefined)
    return Object(error).code
  }
}
