/**
 * Builds what `npm run serve` runs, in one folder that needs nothing but Node and workerd: the Worker as it
 * is deployed, its assets, the migrations, and the settings for the configuration of workerd.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readMigrations } from '../lib/migrations.mjs'
import { inProject, project } from '../lib/project.mjs'
import { bundleSources } from '../lib/sources.mjs'
import { BUILD, buildWorker, readSettings } from '../lib/wrangler.mjs'

/** The path of the folder with the build. */
export const BUILT = inProject('dist', 'serve')

/**
 * Writes over the last build. A server that runs it reads nothing of it again but the assets. For the package, it is
 * small, and has all settings, so that it can be deployed too.
 *
 * @param {string} [folder]
 * @param {{ forPackage?: boolean }} [options]
 */
export async function build(folder = BUILT, { forPackage = false } = {}) {
  mkdirSync(folder, { recursive: true })
  const [{ vars, raw, ...settings }] = await Promise.all([
    readSettings(),
    buildWorker(join(folder, 'worker'), forPackage ? BUILD : []),
    bundleSources(project, ['src/platform/env.ts', 'src/lib/net.ts'], join(folder, 'variables.mjs'), {
      minify: forPackage,
    }),
  ])
  const worker = readFileSync(join(folder, 'worker', 'index.js'), 'utf8')
  rmSync(join(folder, 'worker'), { recursive: true })
  cpSync(inProject('.wrangler', 'assets'), join(folder, 'assets'), { recursive: true })
  const inWorker = ['entry', 'look', 'platform', 'database', 'key-values', 'rate-limit']
  for (const name of inWorker)
    cpSync(inProject('scripts', 'serve', `${name}.mjs`), join(folder, `${name}.mjs`))
  for (const name of ['directory.mjs', 'restored.mjs'])
    cpSync(inProject('scripts', 'lib', name), join(folder, name))
  const write = (/** @type {string} */ name, /** @type {string} */ content) =>
    writeFileSync(join(folder, name), content)
  // No build has the source map.
  write('laurel.js', worker.replace(/^\/\/# sourceMappingURL=.*$/m, ''))
  write('migrations.json', JSON.stringify(readMigrations()))
  write('settings.json', JSON.stringify(forPackage ? { ...settings, vars, raw } : settings))
}
