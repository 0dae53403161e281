/** The npm client in a real browser, on a page of another origin (G8). */
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listening, stop } from '../listening'
import { hasBrowser, launchBrowser, NO_BROWSER, pageScript } from './browser'
import type { Server } from './harness'

/** Declares the test of a running server. It is skipped, with a message, if there is no browser. */
export function testCrossOrigin(server: () => Server): void {
  if (!hasBrowser) {
    // Not `console`: vitest shows its lines only if a test fails.
    process.stderr.write(`\nThe tests in a browser are skipped: ${NO_BROWSER}.\n`)
  }

  describe.skipIf(!hasBrowser)('a page of another origin', () => {
    it('[G8] uses the npm client with an application key, and reads responses, errors and request ids', async () => {
      const userId = 'page-visitor'
      const made = await fetch(`${server().url}/admin/v1/application-api-keys`, {
        method: 'POST',
        headers: { 'x-api-key': server().adminKey, 'content-type': 'application/json' },
        body: JSON.stringify([{ userId }]),
      })
      const { key } = Object(await made.json()).created[0]
      // The client uses `node-fetch` only if there is no `fetch`, and browsers have it.
      const script = await pageScript({
        entryPoints: [join(import.meta.dirname, 'cross-origin.page.ts')],
        external: ['node-fetch'],
      })
      const pages = createServer((_request, response) => {
        response
          .setHeader('content-type', 'text/html; charset=utf-8')
          .end('<!doctype html><title>Page</title>')
      })
      const browser = await launchBrowser()
      try {
        const page = await browser.newPage()
        await page.goto(await listening(pages))
        await page.addScriptTag({ content: script })
        const apis = ['/v1', '/api'].map((base) => server().url + base)
        const visits = await page.evaluate(`laurelPage.visit(${JSON.stringify({ apis, key, userId })})`)
        const errors = [
          [422, expect.stringContaining('tz: must be an IANA time zone')],
          [403, expect.stringContaining('another user')],
          [404, expect.stringContaining('no-such-metric')],
        ]
        const visit = { replayed: [false, true], isSameEvent: true, userId, errors, hasRequestId: true }
        expect(visits).toEqual([visit, visit])
      } finally {
        stop(pages)
        await browser.close()
      }
    })
  })
}
