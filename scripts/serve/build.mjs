/**
 * Builds what `npm run serve` runs, in one folder that needs nothing but Node and workerd: the Worker as it
 * is deployed, its assets, the migrations, and the settings for the configuration of workerd.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readMigrations } from '../lib/migrations.mjs'
import { inProject, project } from '../lib/project.mjs'
import { bundleSource } from '../lib/sources.mjs'
import { buildWorker, readSettings } from '../lib/wrangler.mjs'

/** The path of the folder with the build. */
export const BUILT = inProject('dist', 'serve')

/** Writes over the last build. A server that runs it reads nothing of it again but the assets. */
export async function build() {
  mkdirSync(BUILT, { recursive: true })
  const [{ variables: _, raw: __, ...settings }] = await Promise.all([
    readSettings(),
    buildWorker(join(BUILT, 'worker')),
    bundleSource(project, 'src/platform/env.ts', join(BUILT, 'variables.mjs')),
    bundleSource(project, 'src/lib/net.ts', join(BUILT, 'net.mjs')),
  ])
  cpSync(join(BUILT, 'worker', 'index.js'), join(BUILT, 'laurel.js'))
  rmSync(join(BUILT, 'worker'), { recursive: true })
  cpSync(inProject('.wrangler', 'assets'), join(BUILT, 'assets'), { recursive: true })
  const inWorker = ['entry', 'look', 'platform', 'database', 'key-values', 'rate-limit']
  for (const name of inWorker)
    cpSync(inProject('scripts', 'serve', `${name}.mjs`), join(BUILT, `${name}.mjs`))
  for (const name of ['directory.mjs', 'restored.mjs'])
    cpSync(inProject('scripts', 'lib', name), join(BUILT, name))
  const write = (/** @type {string} */ name, /** @type {string} */ content) =>
    writeFileSync(join(BUILT, name), content)
  write('migrations.json', JSON.stringify(readMigrations()))
  write('settings.json', JSON.stringify(settings))
}
