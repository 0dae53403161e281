/** Runs wrangler with the project's Node, without a network, and apart from other projects. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inProject, installed, isPackage, project, toolScript } from './project.mjs'
import { fetchedTool, runNode } from './tools.mjs'

/** Environment variables of each wrangler. */
export const QUIET = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_WRITE_LOGS: 'false',
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: 'true',
  CLOUDFLARE_ENV: '', // Otherwise wrangler adds it to the name, and deploys another Worker.
}

/**
 * The script of wrangler. It needs the Node that `nodeExecutable` finds. Without a clone, npm fetches wrangler when it is
 * first needed. Throws a Complaint if there is none.
 */
export function wranglerScript() {
  const path = ['wrangler', 'bin', 'wrangler.js']
  if (!isPackage) return toolScript(...path)
  return installed(...path) ?? join(fetchedTool('wrangler'), ...path)
}

/** The standard output of wrangler. Throws a Complaint with what it printed, and `failure`, if it fails. */
export function outputOfWrangler(/** @type {string[]} */ args, /** @type {string} */ failure) {
  // It asks nothing. Its banner would ask the registry for a newer version.
  const env = { ...process.env, ...QUIET, WRANGLER_HIDE_BANNER: 'true', CI: '1' }
  return runNode([wranglerScript(), ...args], { cwd: project, env }, failure)
}

/** Prints wrangler.toml as JSON. Needs the Node of wrangler. */
const READ = `import { experimental_readRawConfig } from 'wrangler'
process.stdout.write(JSON.stringify(experimental_readRawConfig({ config: 'wrangler.toml' }).rawConfig))`

/**
 * The content of `wrangler.toml`, which the package has read.
 *
 * @returns {Promise<import('../serve/config.mjs').Settings>}
 * @throws {Complaint} if it cannot be read
 */
export async function readSettings() {
  if (isPackage) return JSON.parse(readFileSync(inProject('dist', 'serve', 'settings.json'), 'utf8'))
  const options = { cwd: project, env: { ...process.env, ...QUIET } }
  const args = ['--input-type=module', '--eval', READ]
  return JSON.parse(await runNode(args, options, 'wrangler.toml could not be read.'))
}

/** Builds `index.js` in the folder, without a network. Throws a Complaint with the output of wrangler. */
export const buildWorker = (/** @type {string} */ folder) =>
  outputOfWrangler(['deploy', '--minify', '--dry-run', '--outdir', folder], 'The build failed.')
