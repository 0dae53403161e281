/** Tests `GET /docs` in a real browser. */
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { version } from '../../../package.json'
import { PATIENCE } from '../patience'
import { hasBrowser, launchBrowser } from './browser'
import type { Server } from './harness'

/** Declares the tests of the reference page of a running server. They are skipped if there is no browser. */
export function testReferencePage(server: () => Server): void {
  describe.skipIf(!hasBrowser)('the reference page', () => {
    let browser: Browser

    beforeAll(async () => {
      browser = await launchBrowser()
    })
    afterAll(() => browser?.close())

    /** A page that blocks and notes all requests to other servers, and notes all errors of the browser. */
    async function watchedPage(): Promise<{ page: Page; foreign: string[]; complaints: string[] }> {
      const page = await browser.newPage()
      page.setDefaultTimeout(PATIENCE)
      const foreign: string[] = []
      const complaints: string[] = []
      await page.route('**/*', (route) => {
        const url = route.request().url()
        if (url.startsWith(`${server().url}/`)) return route.continue()
        foreign.push(url)
        return route.abort()
      })
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      return { page, foreign, complaints }
    }

    it('[G1] sends the example of an event unchanged, keeps the key when the document changes, and calls no other server', async () => {
      const { page, foreign, complaints } = await watchedPage()
      await page.goto(`${server().url}/docs`)
      await page.getByText(version, { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Authorize' }).click()
      // The other form is of the ticket of a stream.
      const form = page.locator('.auth-container form').filter({ hasText: 'apiKey (apiKey)' })
      await form.locator('input').fill(server().adminKey)
      await form.getByRole('button', { name: 'Apply credentials' }).click()
      await form.getByRole('button', { name: 'Close' }).click()

      const event = operationOf(page, 'post', '/metrics/{key}/event')
      expect(await send(event)).toBe('201')
      // The response shows the changes for the user of the example.
      await event.locator('.live-responses-table').getByText('"demo-xp"').first().waitFor()

      await page.getByLabel('Select a definition').selectOption('Admin')
      const metrics = operationOf(page, 'get', '/metrics')
      expect(await send(metrics)).toBe('200')
      await metrics.locator('.live-responses-table').getByText('demo-lessons').first().waitFor()
      expect(await page.getByText('Record an event of a user').count()).toBe(0)

      await page.getByLabel('Select a definition').selectOption('Application')
      expect(await send(operationOf(page, 'get', '/users/{id}'))).toBe('200')
      expect({ foreign, complaints }).toEqual({ foreign: [], complaints: [] })
    })
  })
}

/** An operation on the page, closed at first. */
const operationOf = (page: Page, method: string, path: string) =>
  page.locator(`.opblock-${method}`).filter({ has: page.locator(`[data-path="${path}"]`) })

/** Opens an operation, sends its example as it is filled in, and reads the status of the response. */
async function send(operation: Locator): Promise<string> {
  await operation.locator('.opblock-summary-control').click()
  await operation.getByRole('button', { name: 'Try it out' }).click()
  await operation.getByRole('button', { name: 'Execute' }).click()
  const status = operation.locator('.live-responses-table tbody .response-col_status').first()
  return ((await status.textContent()) ?? '').trim().slice(0, 3)
}
