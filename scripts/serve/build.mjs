/**
 * Builds what `npm run serve` runs, in one folder that needs nothing but Node and workerd: the Worker as it
 * is deployed, its assets, the migrations, and the settings for the configuration of workerd.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildAssets } from '../lib/assets.mjs'
import { readMigrations } from '../lib/migrations.mjs'
import { inProject, project } from '../lib/project.mjs'
import { bundleSources, bundleWorker } from '../lib/sources.mjs'
import { readSettings } from '../lib/wrangler.mjs'

/**
 * Writes over the last build. A server that runs it reads nothing of it again but the assets. For the package, it is
 * small. With `mayLackConsole`, it goes on without a console that cannot be built.
 *
 * @param {string} folder
 * @param {{ forPackage?: boolean; mayLackConsole?: boolean }} [options]
 * @returns {Promise<boolean>} whether the console was built
 */
export async function build(folder, { forPackage = false, mayLackConsole = false } = {}) {
  mkdirSync(folder, { recursive: true })
  const minify = forPackage
  const [settings, hasConsole] = await Promise.all([
    readSettings(),
    buildAssets(project, { mayFail: mayLackConsole }),
    bundleWorker(project, join(folder, 'laurel.js'), { minify }),
    bundleSources(project, ['src/platform/env.ts', 'src/lib/net.ts'], join(folder, 'variables.mjs'), {
      minify,
    }),
  ])
  cpSync(inProject('.wrangler', 'assets'), join(folder, 'assets'), { recursive: true })
  cpSync(inProject('scripts', 'serve', 'worker'), folder, { recursive: true })
  for (const name of ['directory.mjs', 'restored.mjs'])
    cpSync(inProject('scripts', 'lib', name), join(folder, name))
  writeFileSync(join(folder, 'migrations.json'), JSON.stringify(readMigrations()))
  writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings))
  return hasConsole
}
