/** Imports the Worker's own modules into a script, so that scripts don't repeat definitions. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inProject, isPackage, project, toolScript } from './project.mjs'

/** Modules of the Workers runtime don't exist in Node. The scripts need only their names. */
const runtime = {
  name: 'runtime',
  setup(/** @type {import('esbuild').PluginBuild} */ plugin) {
    plugin.onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({ path, namespace: 'runtime' }))
    plugin.onLoad({ filter: /.*/, namespace: 'runtime' }, () => ({
      contents: 'export class DurableObject {}; export class WorkerEntrypoint {}; export const env = {}',
    }))
  },
}

/** Imports what the Worker says of its variables and bindings. The package has only the build of it. */
export const importVariables = () =>
  isPackage
    ? import(pathToFileURL(inProject('dist', 'serve', 'variables.mjs')).href)
    : importSource(project, 'src/platform/env.ts')

/** Imports a module of a project's sources, bundled with its imports. */
export async function importSource(/** @type {string} */ folder, /** @type {string} */ path) {
  const workshop = mkdtempSync(join(tmpdir(), 'laurel-sources-'))
  const bundle = join(workshop, 'bundle.mjs')
  try {
    await bundleSources(folder, [path], bundle)
    return await import(pathToFileURL(bundle).href)
  } finally {
    rmSync(workshop, { recursive: true, force: true })
  }
}

/**
 * Writes modules of a project's sources as one, bundled with all that they import, to a file.
 *
 * @param {string} folder
 * @param {string[]} paths
 * @param {string} bundle
 * @param {{ minify?: boolean }} [options]
 */
export async function bundleSources(folder, paths, bundle, { minify = false } = {}) {
  const contents = paths.map((path) => `export * from './${path}'\n`).join('')
  await bundleAsWrangler({
    absWorkingDir: folder,
    stdin: { contents, resolveDir: folder },
    outfile: bundle,
    minify,
    plugins: [runtime],
  })
}

/**
 * Writes the Worker of a project as one module to a file: the same text that wrangler makes.
 *
 * @param {string} folder
 * @param {string} file
 * @param {{ minify?: boolean }} options
 */
export const bundleWorker = (folder, file, { minify = false }) =>
  bundleAsWrangler({
    absWorkingDir: folder,
    entryPoints: ['src/worker/index.ts'],
    outfile: file,
    minify,
    external: ['node:*', 'cloudflare:*'],
    define: { 'navigator.userAgent': '"Cloudflare-Workers"' },
  })

async function bundleAsWrangler(/** @type {import('esbuild').BuildOptions} */ options) {
  toolScript('esbuild', 'lib', 'main.js')
  const { build } = await import('esbuild')
  await build({
    bundle: true,
    format: 'esm',
    target: 'es2024',
    // Some packages have a version for Workers and another one for Node. This takes the one for Workers.
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    mainFields: ['browser', 'module', 'main'],
    external: ['node:*'],
    logLevel: 'error',
    ...options,
  })
}
