/**
 * The files that the Worker serves as assets: the viewer of `GET /docs`, the two OpenAPI documents, the
 * README, the console, and the site if it was built for the Worker. They are made from the sources, so they are never committed and never out of date.
 * `wrangler.toml` makes them before each `wrangler dev` and `wrangler deploy`, `vitest.config.ts` before the
 * tests.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { place, placeConsole, placeNotice } from './console.mjs'
import { Complaint, report } from './project.mjs'
import { importSource } from './sources.mjs'

/** The parts of swagger-ui-dist that the page loads. */
const VIEWER = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js']

/**
 * Writes the assets of a project to its `.wrangler/assets`. Does not touch files that are up to date, so that
 * a running server does not restart.
 *
 * @param {string} folder of the project
 * @param {{ console?: boolean; mayFail?: boolean }} [options] whether the console is made too (true), and
 *   whether the rest goes on without a console that cannot be built (false)
 * @throws {Complaint} if the console cannot be built
 */
export async function buildAssets(folder, { console: isConsoleMade = true, mayFail = false } = {}) {
  const target = join(folder, '.wrangler', 'assets')
  mkdirSync(target, { recursive: true })
  const files = new Map(await documents(folder))
  for (const name of VIEWER)
    files.set(name, readFileSync(join(folder, 'node_modules', 'swagger-ui-dist', name)))
  const readme = join(folder, 'README.md')
  if (existsSync(readme)) files.set('readme.md', readFileSync(readme))
  for (const name of readdirSync(target))
    if (!files.has(name) && !['console', 'site'].includes(name))
      rmSync(join(target, name), { recursive: true, force: true })
  for (const [name, content] of files) place(content, join(target, name), folder)
  placeSite(folder, join(target, 'site'))
  if (!isConsoleMade) return
  try {
    await placeConsole(folder, target)
  } catch (error) {
    if (!mayFail || !(error instanceof Complaint)) throw error
    report(error)
    placeNotice(folder, target)
  }
}

/**
 * Puts the site among the assets, if it was built for the Worker (`npm run site -- --worker`), and else removes
 * it. As for the console, a page gets a name without `.html`, because Cloudflare would redirect to it.
 */
function placeSite(/** @type {string} */ folder, /** @type {string} */ target) {
  const built = join(folder, 'dist', 'site-of-worker')
  const filesOf = (/** @type {string} */ path) =>
    existsSync(path)
      ? readdirSync(path, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ parentPath, name }) => relative(path, join(parentPath, name)))
      : []
  const pages = new Map(filesOf(built).map((file) => [file.replace(/\.html$/, '.page'), join(built, file)]))
  for (const [name, file] of pages) {
    mkdirSync(dirname(join(target, name)), { recursive: true })
    place(readFileSync(file), join(target, name), folder)
  }
  for (const name of filesOf(target)) if (!pages.has(name)) rmSync(join(target, name))
}

/** The OpenAPI documents of the project's sources. */
async function documents(/** @type {string} */ folder) {
  const { application, admin } = await importSource(folder, 'src/worker/openapi.ts')
  return [
    ['application.json', Buffer.from(JSON.stringify(application.document))],
    ['admin.json', Buffer.from(JSON.stringify(admin.document))],
  ]
}
