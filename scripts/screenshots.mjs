/**
 * `npm run screenshots -- [NAME…]`: pictures of the pages of the console, light and dark, on a desktop and on
 * a phone, in `dist/screenshots`. Names choose pages of `test/helpers/console/pages.ts`. With `--docs`, it makes
 * the pictures of the documentation and of the README again (`docs/pictures`).
 *
 * It starts a server of its own with the demo, and plays five weeks with it, which takes some minutes.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { adminKey, atEnd, runBench, tell } from '../bench/lib/bench.mjs'
import { laurelServed } from '../bench/lib/laurel.mjs'
import { playBusyWeeks } from './lib/busy-weeks.mjs'
import { inProject, project } from './lib/project.mjs'
import { importSource } from './lib/sources.mjs'

const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
}
const THEMES = /** @type {const} */ (['light', 'dark'])
/** So that the same dates look the same on every machine. */
const VIEWER = { locale: 'en-US', timezoneId: 'Europe/Berlin', reducedMotion: 'reduce' }

/** The pictures of the documentation, by their theme, on a desktop. */
const IN_DOCS = {
  light: ['overview', 'user', 'trigger-new', 'template'],
  dark: ['user-timeline', 'leaderboard'],
}

/** A server after five weeks. */
async function serve() {
  tell('Copying and starting…')
  // A move of the test clock waits for each attempt.
  const server = await laurelServed({ DEMO: 'on', WEBHOOK_TIMEOUT: '2' })
  await server.start()
  server.key = adminKey
  tell('Playing five weeks…')
  await playBusyWeeks(server)
  return server
}

/** Waits until nothing of the page is loading. */
async function settled(/** @type {import('playwright-core').Page} */ page) {
  await page.locator('h1').first().waitFor({ state: 'attached' })
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  await page.evaluate('document.fonts.ready.then(() => undefined)')
}

async function run(/** @type {{ docs: boolean; names: string[] }} */ { docs, names }) {
  const { MAIN_PAGES, OTHER_PAGES } = await importSource(project, 'test/helpers/console/pages.ts')
  const pages = [...MAIN_PAGES, ...OTHER_PAGES]
  /** @type {(picture: string, theme: string, size: string) => boolean} */
  const isWanted = (picture, theme, size) =>
    docs
      ? size === 'desktop' && IN_DOCS[theme].includes(picture)
      : names.length === 0 || names.includes(picture)
  const folder = docs ? inProject('docs', 'pictures') : inProject('dist', 'screenshots')
  mkdirSync(folder, { recursive: true })
  /** @type {(picture: string, theme: string, size: string) => string} */
  const pathOf = (picture, theme, size) =>
    join(folder, docs ? `${picture}.png` : `${picture}-${theme}-${size}.png`)
  const { url, key } = await serve()
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  atEnd(() => browser.close())
  for (const theme of THEMES)
    for (const [size, screen] of Object.entries(SIZES)) {
      const chosen = pages.filter(({ picture }) => isWanted(picture, theme, size))
      if (chosen.length === 0) continue
      const context = await browser.newContext({ colorScheme: theme, ...VIEWER, ...screen })
      const page = await context.newPage()
      await page.goto(`${url}/console`)
      await page.getByLabel('Admin API key').waitFor()
      if (!docs) await page.screenshot({ path: pathOf('sign-in', theme, size) })
      await page.getByLabel('Admin API key').fill(key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      for (const { path, picture } of chosen) {
        await page.goto(`${url}/console${path}`)
        await settled(page)
        await page.screenshot({ path: pathOf(picture, theme, size) })
      }
      await context.close()
    }
  tell(`The pictures are in ${folder}.`)
}

runBench({ script: 'screenshots', minutes: 60, options: { docs: false }, takesNames: true, run })
