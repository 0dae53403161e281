/**
 * The log of `npm run serve`. While the server serves, each line is JSON: those of the Worker, of workerd and
 * of the server itself. Nobody has to read them: the server goes on.
 */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { until } from '../lib/until.mjs'

/** How much waits for a reader, in bytes for each stream. Further lines are lost. */
const MOST_UNREAD = 4 << 20

/** @typedef {'stdout' | 'stderr'} Stream */

let isServing = false
const lost = { stdout: 0, stderr: 0 }

/** Without a reader, such as a pager that was closed, there is an error. */
for (const name of /** @type {const} */ (['stdout', 'stderr'])) process[name].on('error', () => undefined)

function write(/** @type {Stream} */ name, /** @type {string} */ line) {
  const stream = process[name]
  if (stream.writableLength > MOST_UNREAD) {
    lost[name] += 1
    return
  }
  const gap =
    lost[name] === 0 ? '' : `${lineOf('warn', `${lost[name]} lines of the log were lost: nobody read it.`)}\n`
  lost[name] = 0
  stream.write(`${gap}${line}\n`)
}

const lineOf = (/** @type {string} */ level, /** @type {string} */ error) => JSON.stringify({ level, error })

/** True while only problems are told: until `start` has said how to use the server. */
let isQuiet = false
export const beQuiet = (/** @type {boolean} */ quiet) => {
  isQuiet = quiet
}

/** Says something about the server. `level` is that of the line in the log. */
export const say = (/** @type {string} */ text, level = 'warn') => {
  if (!isQuiet || level !== 'info') write('stderr', isServing ? lineOf(level, text) : text)
}

/** Says that the server serves. */
export function sayServing(/** @type {string} */ text) {
  write('stdout', text)
  isServing = true
}

/** Says that the server stops. */
export const sayStopping = (/** @type {string} */ text) => write('stderr', text)

function isJson(/** @type {string} */ line) {
  try {
    return line.startsWith('{') && typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

/** Passes on a line of workerd, whose own lines have their level in them. */
function passOn(/** @type {Stream} */ name, /** @type {string} */ line) {
  if (isQuiet && line.startsWith('{"level":"info"')) return
  if (!isServing || isJson(line)) return write(name, line)
  const [, level = name === 'stdout' ? 'info' : 'error'] = /: (info|warning|error|fatal): /.exec(line) ?? []
  write(name, lineOf({ warning: 'warn', fatal: 'error' }[level] ?? level, line))
}

/** Passes on what workerd prints. Resolves after its last line. */
export const follow = (/** @type {import('node:child_process').ChildProcess} */ { stdout, stderr }) =>
  Promise.all(
    Object.entries({ stdout, stderr }).map(async ([key, input]) => {
      if (input === null) return
      const name = key === 'stdout' ? 'stdout' : 'stderr'
      const lines = createInterface({ input }).on('line', (line) => passOn(name, line))
      await once(lines, 'close')
    }),
  )

/** Waits until all is written, if somebody reads it. */
export async function written(/** @type {number} */ patience) {
  const isWritten = () => process.stdout.writableLength + process.stderr.writableLength === 0
  await until(isWritten, { patience, pause: 10 })
}
