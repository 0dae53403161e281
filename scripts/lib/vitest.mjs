/** Runs tests for a command of npm, as its options say. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { SIGNALS } from './ending.mjs'
import { Complaint, nodeExecutable, project, toolScript } from './project.mjs'

/**
 * Runs vitest until it ends, and returns its exit code. A signal to this process is passed on, so that vitest
 * stops what it has started.
 *
 * @param {string[]} args
 * @param {Record<string, string>} variables
 */
export async function runVitest(args, variables) {
  const child = spawn(nodeExecutable(), [toolScript('vitest', 'vitest.mjs'), 'run', ...args], {
    cwd: project,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...variables },
  })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'exit')
  return code ?? 1
}

/** Options of the command line: a text, or a flag. */
export const text = /** @type {const} */ ({ type: 'string' })
export const flag = /** @type {const} */ ({ type: 'boolean', default: false })

/** A whole number from 1 on, as the text of an option. */
export function wholeNumber(/** @type {string} */ name, given = '1', most = 1_000_000) {
  if (/^[1-9]\d*$/.test(given) && Number(given) <= most) return given
  throw new Complaint(`--${name} must be a whole number from 1 to ${most}`)
}
