/** The browser that takes pictures of pages: Debian's chromium, or the one that CHROMIUM_PATH names. */
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
/** Is true if the browser is installed. */
export const hasBrowser = existsSync(executablePath)

const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
]
export const launchBrowser = () => chromium.launch({ executablePath, args: FLAGS })

/** What a page needs to look the same on every machine. */
export const VIEWER = {
  viewport: { width: 1280, height: 800 },
  locale: 'en-US',
  timezoneId: 'Europe/Berlin',
  reducedMotion: /** @type {const} */ ('reduce'),
}

/** Takes a picture of a page once nothing of it is loading. */
export async function takePicture(
  /** @type {import('playwright-core').Page} */ page,
  /** @type {string} */ path,
) {
  await page.locator('h1').first().waitFor({ state: 'attached' })
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  await page.evaluate('document.fonts.ready.then(() => undefined)')
  await page.screenshot({ path })
}
