/** The size of the deployed Worker. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { nodeExecutable, toolScript } from '../../scripts/lib/project.mjs'
import { BUILD } from '../../scripts/lib/wrangler.mjs'

/**
 * Builds as `npm run deploy` does, and compresses the modules.
 *
 * @param {string} folder of the project
 * @returns {Promise<{ bytes: number; gzip: number }>}
 */
export async function workerSize(folder) {
  const wrangler = toolScript('wrangler', 'bin', 'wrangler.js')
  const args = [wrangler, 'deploy', ...BUILD, '--dry-run', '--outdir', 'dist']
  await promisify(execFile)(nodeExecutable(), args, {
    cwd: folder,
    timeout: 60_000,
    env: {
      ...process.env,
      CI: '1',
      WRANGLER_SEND_METRICS: 'false',
      WRANGLER_SEND_ERROR_REPORTS: 'false',
      WRANGLER_WRITE_LOGS: 'false',
      WRANGLER_HIDE_BANNER: 'true',
    },
  })
  const modules = readdirSync(join(folder, 'dist'))
    .filter((name) => !/\.map$|^README/.test(name))
    .map((name) => readFileSync(join(folder, 'dist', name)))
  return {
    bytes: modules.reduce((sum, module) => sum + module.length, 0),
    gzip: modules.reduce((sum, module) => sum + gzipSync(module).length, 0),
  }
}
