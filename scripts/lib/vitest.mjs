import { project, toolScript } from './project.mjs'
import { runInFront } from './tools.mjs'

/**
 * Runs tests with environment variables, for a command of npm. Returns the exit code.
 *
 * @param {string[]} args
 * @param {Record<string, string>} variables
 */
export const runVitest = (args, variables) =>
  runInFront([toolScript('vitest', 'vitest.mjs'), 'run', ...args], {
    cwd: project,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...variables },
  })
