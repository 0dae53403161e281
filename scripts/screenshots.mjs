/**
 * `npm run screenshots -- [NAME…]`: pictures of the pages of the console, light and dark, on a desktop and on
 * a phone, in `dist/screenshots`. Names choose pages of `test/helpers/console/pages.ts`. With `--docs`, it makes
 * the pictures of the documentation and of the README again (`docs/pictures`).
 *
 * It starts a server of its own with the demo, and plays five weeks with it, which takes some minutes.
 */
import { join } from 'node:path'
import { adminKey, atEnd, runBench, tell } from '../bench/lib/bench.mjs'
import { laurel } from '../bench/lib/laurel.mjs'
import { launchBrowser, takePicture, VIEWER } from './lib/browser.mjs'
import { playBusyWeeks } from './lib/busy-weeks.mjs'
import { inProject, project } from './lib/project.mjs'
import { importSource } from './lib/sources.mjs'

const SIZES = {
  desktop: {},
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
}
const THEMES = /** @type {const} */ (['light', 'dark'])

/** The pictures of the documentation, by their theme, on a desktop. */
const IN_DOCS = {
  light: ['overview', 'user', 'trigger-new', 'template'],
  dark: ['user-timeline', 'leaderboard'],
}

/** A server after five weeks. */
async function serve() {
  tell('Copying and starting…')
  // A move of the test clock waits for each attempt.
  const server = await laurel('screenshots', { variables: { DEMO: 'on', WEBHOOK_TIMEOUT: '2' } })
  await server.start()
  server.key = adminKey
  tell('Playing five weeks…')
  await playBusyWeeks(server)
  return server
}

async function run(/** @type {{ docs: boolean; names: string[] }} */ { docs, names }) {
  const { MAIN_PAGES, OTHER_PAGES } = await importSource(project, 'test/helpers/console/pages.ts')
  const pages = /** @type {{ path: string; picture: string }[]} */ ([...MAIN_PAGES, ...OTHER_PAGES])
  const folder = docs ? inProject('docs', 'pictures') : inProject('dist', 'screenshots')
  const { url, key } = await serve()
  const browser = await launchBrowser()
  atEnd(() => browser.close())
  for (const colorScheme of THEMES)
    for (const [size, screen] of Object.entries(docs ? { desktop: {} } : SIZES)) {
      const wanted = docs ? IN_DOCS[colorScheme] : names
      const suffix = docs ? '' : `-${colorScheme}-${size}`
      const page = await browser.newPage({ ...VIEWER, ...screen, colorScheme })
      const take = (/** @type {string} */ picture) =>
        takePicture(page, join(folder, `${picture}${suffix}.png`))
      await page.goto(`${url}/console`)
      await page.getByLabel('Admin API key').waitFor()
      if (!docs) await take('sign-in')
      await page.getByLabel('Admin API key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      for (const { path, picture } of pages) {
        if (wanted.length > 0 && !wanted.includes(picture)) continue
        await page.goto(`${url}/console${path}`)
        await take(picture)
      }
      await page.close()
    }
  tell(`The pictures are in ${folder}.`)
}

runBench({ script: 'screenshots', options: { docs: false }, takesNames: true, run })
