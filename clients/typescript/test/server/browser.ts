import { createServer, type Server as HttpServer } from 'node:http'
import { join } from 'node:path'
import type { BuildOptions } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listening, stop } from '../../../../test/helpers/listening'
import { hasBrowser, launchBrowser, pageScript } from '../../../../test/helpers/server/browser'
import type { Server } from '../../../../test/helpers/server/harness'
import { untilHeld } from '../../../../test/helpers/until'
import { Laurel } from '../../src/index.js'

/** The script of the page of the tests. */
export const PAGE = join(import.meta.dirname, 'browser.page.ts')

/** Declares the tests in a browser. They are skipped if there is none. By default, the page has this source. */
export function testBrowser(
  server: () => Server,
  page: () => BuildOptions = () => ({ entryPoints: [PAGE], conditions: ['@laurel/source'] }),
): void {
  describe.skipIf(!hasBrowser)('the client in a browser, on a page of another origin', () => {
    let pages: HttpServer
    let origin: string
    let browser: Browser
    let script: string
    let laurel: Laurel

    beforeAll(async () => {
      script = await pageScript(page())
      pages = createServer((_, response) => {
        response
          .setHeader('content-type', 'text/html; charset=utf-8')
          .end(`<!doctype html><title>Page</title><script>${script}</script>`)
      })
      origin = await listening(pages)
      browser = await launchBrowser()
      laurel = new Laurel({ url: server().url, apiKey: server().adminKey })
    })
    afterAll(() => stop(pages))

    /** A user's access, with an application key. */
    async function accessOf(user: string) {
      const { created } = await laurel.admin.applicationKeys.create([{ userId: user }])
      return { url: server().url, key: created[0]?.key ?? '', user }
    }

    async function opened(): Promise<Page> {
      const page = await browser.newPage()
      await page.goto(origin)
      return page
    }

    const evaluate = (page: Page, name: string, ...args: unknown[]): Promise<unknown> =>
      page.evaluate(`laurelPage.${name}(...${JSON.stringify(args)})`)

    it('[G8] sends events, reads, and sees errors with their request ids', async () => {
      const page = await opened()
      const visited = await evaluate(page, 'visit', await accessOf('browser-ada'))
      expect(visited).toEqual({
        totals: [2, 2],
        replayed: true,
        ranked: 2,
        // A page of another origin can read the time of the service (C1).
        knowsTime: true,
        error: [403, true],
      })
      await page.close()
    })

    it('[Y1] watches a leaderboard', async () => {
      const page = await opened()
      const scores = await evaluate(page, 'watch', await accessOf('watching-ada'))
      expect(scores).toEqual([undefined, 5000])
      await page.close()
    })

    it('[E4] keeps events while it is offline and closed, and sends each once and in order', async () => {
      const access = await accessOf('offline-ada')
      const context = await browser.newContext()
      const [first, second] = [await context.newPage(), await context.newPage()]
      for (const page of [first, second]) {
        await page.goto(origin)
        await evaluate(page, 'open', access)
      }
      await context.setOffline(true)
      await evaluate(first, 'send', access.user, [1, 2])
      await evaluate(second, 'send', access.user, [3])
      expect(await evaluate(first, 'waiting', access.user)).toEqual([1, 2, 3])
      await first.close()
      // The second page begins to send when the network is back.
      await context.setOffline(false)
      await untilHeld(async () => expect(await evaluate(second, 'waiting', access.user)).toEqual([]))
      await context.close()
      const entries = await laurel.admin.users.timeline.list(access.user, { types: 'event' }).toArray()
      const values = entries.map((entry) => (entry.type === 'event' ? entry.value : null))
      expect(values).toEqual([3, 2, 1])
    })

    it('[E4] sends events from a sandboxed frame, which gets no storage and no locks', async () => {
      const access = await accessOf('framed-ada')
      const page = await opened()
      await page.setContent(`<iframe sandbox="allow-scripts" src="${origin}"></iframe>`)
      const frame = page.frames()[1]
      await frame?.waitForLoadState()
      const inFrame = (name: string, ...args: unknown[]) =>
        frame?.evaluate(`laurelPage.${name}(...${JSON.stringify(args)})`)
      await inFrame('open', access)
      await inFrame('send', access.user, [3, 4])
      await untilHeld(async () => expect(await inFrame('waiting', access.user)).toEqual([]))
      await page.close()
      expect(await laurel.users.metrics.get(access.user, 'demo-lessons')).toMatchObject({ current: 7 })
    })

    it('[E4] drops stored events of which no request can be made, and sends those behind them', async () => {
      const access = await accessOf('blocked-ada')
      const page = await opened()
      await evaluate(page, 'storeUnsendable', access.user)
      await evaluate(page, 'open', access)
      await evaluate(page, 'send', access.user, [7, 8])
      await untilHeld(async () => expect(await evaluate(page, 'waiting', access.user)).toEqual([]))
      const reason = 'No request can be made of this event.'
      expect(await evaluate(page, 'ends', access.user)).toEqual([reason, reason, reason])
      await page.close()
      expect(await laurel.users.metrics.get(access.user, 'demo-lessons')).toMatchObject({ current: 15 })
    })
  })
}
