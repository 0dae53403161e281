/** Tests `GET /docs` in a real browser. */
import type { Browser, Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { version } from '../../../package.json'
import { hasBrowser, launchBrowser, watchedPage } from '../../helpers/console/browser'
import { type Server, startServer } from '../../helpers/server/harness'

describe.skipIf(!hasBrowser)('the reference page', () => {
  let server: Server
  let browser: Browser

  beforeAll(async () => {
    server = await startServer()
    browser = await launchBrowser()
  })

  it('[G1] sends the example of an event unchanged, keeps the key when the document changes, and calls no other server', async () => {
    const { page, complaints } = await watchedPage(browser, server.url)
    await page.goto(`${server.url}/docs`)
    await page.getByText(version, { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Authorize' }).click()
    // The other form is of the ticket of a stream.
    const form = page.locator('.auth-container form').filter({ hasText: 'apiKey (apiKey)' })
    await form.locator('input').fill(server.adminKey)
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
    expect(complaints).toEqual([])
  })
})

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
