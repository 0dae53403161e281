/**
 * The files that the Worker serves as assets: the viewer of `GET /docs`, the two OpenAPI documents, the README, the
 * console, and the site if it was built for the Worker. They are made from the sources, so they are never committed
 * and never out of date. `npm start`, `npm run serve` and `npm run deploy` make them. `vitest.config.ts` makes them
 * before the tests.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { builtConsole } from './console.mjs'
import { Complaint, filesIn, report } from './project.mjs'
import { importSource } from './sources.mjs'

/** The parts of swagger-ui-dist that the page loads. */
const VIEWER = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js']

/** The page of the console. Its name has no `.html`, because Cloudflare would redirect a request for it. */
const CONSOLE_PAGE = join('console', 'page')

/** Answers instead of a console that could not be built. */
const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>The console is missing · Laurel</title></head>
  <body>
    <h1>The console could not be built</h1>
    <p>The reason is in the output of <code>npm start</code>. Repair it, then start again.</p>
    <p>The interfaces work without the console. <a href="/">Back</a></p>
  </body>
</html>
`

/**
 * Writes the assets of a project to its `.wrangler/assets`. A server may run meanwhile: new files come first, then
 * the page of the console that names them, and old files are removed last.
 *
 * @param {string} folder of the project
 * @param {{ console?: boolean; mayFail?: boolean }} [options] whether the console is made too (true), and
 *   whether the rest goes on without a console that cannot be built (false)
 * @returns {Promise<boolean>} whether the console is as the sources are
 * @throws {Complaint} if the console cannot be built
 */
export async function buildAssets(folder, { console: isConsoleMade = true, mayFail = false } = {}) {
  const target = join(folder, '.wrangler', 'assets')
  const files = new Map([...(await documents(folder)), ...filesOfSite(folder)])
  for (const name of VIEWER)
    files.set(name, readFileSync(join(folder, 'node_modules', 'swagger-ui-dist', name)))
  const readme = join(folder, 'README.md')
  if (existsSync(readme)) files.set('readme.md', readFileSync(readme))
  let isConsoleNew = isConsoleMade
  try {
    if (isConsoleMade) for (const [name, content] of await filesOfConsole(folder)) files.set(name, content)
  } catch (error) {
    if (!mayFail || !(error instanceof Complaint)) throw error
    report(error)
    // One that was built before stays.
    isConsoleNew = false
    if (!existsSync(join(target, CONSOLE_PAGE))) files.set(CONSOLE_PAGE, Buffer.from(NOT_BUILT))
  }
  for (const [name, content] of files) place(content, join(target, name), folder)
  for (const name of filesIn(target))
    if (!files.has(name) && (isConsoleNew || !name.startsWith(`console${sep}`)))
      rmSync(join(target, name), { force: true })
  return isConsoleNew
}

/** The OpenAPI documents of the project's sources. @returns {Promise<[string, Buffer][]>} */
async function documents(/** @type {string} */ folder) {
  const { application, admin } = await importSource(folder, 'src/worker/openapi.ts')
  return [
    ['application.json', Buffer.from(JSON.stringify(application.document))],
    ['admin.json', Buffer.from(JSON.stringify(admin.document))],
  ]
}

/** The files of the site, if it was built for the Worker (`npm run site -- --worker`). @returns {[string, Buffer][]} */
function filesOfSite(/** @type {string} */ folder) {
  const built = join(folder, 'dist', 'site-of-worker')
  return filesIn(built).map((name) => [
    // As for the console.
    join('site', name.replace(/\.html$/, '.page')),
    readFileSync(join(built, name)),
  ])
}

/** The files of the console, with its page at the end. @returns {Promise<[string, Buffer][]>} */
async function filesOfConsole(/** @type {string} */ folder) {
  const built = await builtConsole(folder)
  const assets = filesIn(join(built, 'assets')).map((name) => join('assets', name))
  return [
    ...assets.map((name) => [join('console', name), readFileSync(join(built, name))]),
    [CONSOLE_PAGE, readFileSync(join(built, 'index.html'))],
  ]
}

/**
 * Writes a file by a rename, so that a reader gets the old file or the new one, never a part of it. Does not
 * touch a file that is up to date, so that a running server does not restart.
 *
 * @type {(content: Buffer, path: string, folder: string) => void}
 */
function place(content, path, folder) {
  if (existsSync(path) && readFileSync(path).equals(content)) return
  mkdirSync(dirname(path), { recursive: true })
  const draft = join(folder, '.wrangler', `asset-${process.pid}`)
  writeFileSync(draft, content)
  renameSync(draft, path)
}
