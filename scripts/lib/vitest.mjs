/** Runs tests for a command of npm. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { SIGNALS } from './ending.mjs'
import { nodeExecutable, project, toolScript } from './project.mjs'

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
