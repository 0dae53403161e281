/** A real browser on the console of a running server. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page, Request } from 'playwright-core'
import { expect } from 'vitest'
import { PATIENCE } from '../patience'

export { hasBrowser, launchBrowser } from '../server/browser'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A page of the console, and everything that went wrong in it. */
export type Watched = {
  page: Page
  /**
   * Errors and warnings of the browser, also those of the page's policy, requests to other servers, keys in
   * addresses, and dialogs that a script opened.
   */
  complaints: string[]
  /** All requests so far, in their order: the method, and the address without the server. */
  requests: { method: string; path: string }[]
}

/** The body of a key, in an address. The prefix is public. */
const KEY = /\b(?:adm|app)_\w+\.[\w-]{16}/

export type PageOptions = { scheme?: 'light' | 'dark'; isPhone?: boolean; locale?: string }

/** Opens a page with storage of its own, and watches it. */
export async function watchedPage(
  browser: Browser,
  url: string,
  { scheme = 'light', isPhone = false, locale = 'en-US' }: PageOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({
    colorScheme: scheme,
    viewport: isPhone ? { width: 390, height: 844 } : { width: 1280, height: 800 },
    locale,
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  page.setDefaultTimeout(Math.min(PATIENCE, 30_000))
  const complaints: string[] = []
  const requests: Watched['requests'] = []
  // Not by a route: with one, the browser would keep no files.
  page.on('request', (request) => {
    const requested = request.url()
    requests.push({ method: request.method(), path: requested.slice(url.length) })
    if (KEY.test(requested)) complaints.push('a key in the address of a request')
    if (!requested.startsWith(`${url}/`) && !/^(?:data|blob):/.test(requested))
      complaints.push(`request to ${requested}`)
  })
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('framenavigated', (frame) => {
    if (KEY.test(frame.url())) complaints.push('a key in the address of a page')
  })
  page.on('dialog', (dialog) => {
    // The browser's own question before a page with entries is left.
    if (dialog.type() === 'beforeunload') return dialog.accept()
    complaints.push(`dialog: ${dialog.message()}`)
    return dialog.dismiss()
  })
  return { page, complaints, requests }
}

/** An answer that refuses a read. The client does not ask again. */
export const REFUSED = {
  status: 422,
  headers: { 'x-request-id': 'a-test' },
  json: { error: 'Not now.' },
}

/** Signs in on the page that is open. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Admin API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' })
}

/** A page of the console, signed in. */
export async function signedInPage(
  browser: Browser,
  { url, adminKey }: { url: string; adminKey: string },
  options: PageOptions = {},
): Promise<Watched> {
  const watched = await watchedPage(browser, url, options)
  await watched.page.goto(`${url}/console`)
  await watched.page.getByLabel('Admin API key').fill(adminKey)
  await watched.page.getByRole('button', { name: 'Sign in' }).click()
  await watched.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  return watched
}

/** Opens the command palette, once no dialog is open, and waits until it takes what is typed. */
export async function openPalette(page: Page) {
  const palette = page.getByRole('dialog')
  await palette.waitFor({ state: 'detached' })
  await page.keyboard.press('Control+k')
  await palette.locator('input:focus').waitFor()
  return palette
}

/** Waits until nothing of the page is loading. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor({ state: 'attached' })
  await page
    .locator('[aria-busy="true"]:not([aria-label="Test clock"])')
    .first()
    .waitFor({ state: 'detached' })
}

/**
 * Watches the requests of a page. Answers a function that waits until all of them are answered and painted,
 * but not the streams of live leaderboards, which have no end.
 */
export function watchAnswers(page: Page): () => Promise<void> {
  const waiting = new Set<Request>()
  page.on('request', (request) => {
    if (!request.url().includes('/live')) waiting.add(request)
  })
  page.on('requestfinished', (request) => waiting.delete(request))
  page.on('requestfailed', (request) => waiting.delete(request))
  return async () => {
    do {
      await expect.poll(() => waiting.size, { timeout: 30_000 }).toBe(0)
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    } while (waiting.size > 0)
  }
}

/** Fails if axe finds something on the page. */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  // The policy of the page allows no scripts of others, so axe comes over the protocol of the browser. It
  // takes the guards of Base UI for hidden content with a focus. They only pass the focus on.
  await page.evaluate(axe)
  // Text that fades in or out has too little contrast for a moment, so animations are ended first. A spinner runs for
  // ever: it can't be ended.
  await page.evaluate(`for (const one of document.getAnimations())
    if (one.effect.getComputedTiming().endTime !== Infinity) one.finish()`)
  const found: { id: string; targets: string[] }[] = await page.evaluate(`
    axe.run({ exclude: '[data-base-ui-focus-guard]' }, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    }).then(({ violations }) => violations.map(({ id, nodes }) =>
        ({ id, targets: nodes.map(({ target, failureSummary }) =>
          target.join(' ') + ': ' + failureSummary) })))`)
  expect(found, `axe on ${name}`).toEqual([])
}
