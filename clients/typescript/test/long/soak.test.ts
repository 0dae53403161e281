/**
 * Ten minutes in a real browser, behind a network that fails all the time. `SOAK_SECONDS` makes it shorter, and
 * `TEST_SEED` makes other faults.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { listening, stop } from '../../../../test/helpers/listening'
import { PATIENCE } from '../../../../test/helpers/patience'
import { hasBrowser, launchBrowser, pageScript } from '../../../../test/helpers/server/browser'
import { startServer } from '../../../../test/helpers/server/harness'
import { Random } from '../../../../test/simulation/random'
import { Laurel } from '../../src/index.js'
import { PAGE } from '../server/browser.js'
import { faultyProxy } from './faulty-proxy.js'

const SECONDS = Number(process.env.SOAK_SECONDS ?? 600)
const EVENTS = 2_000
const USERS = ['soak-ada', 'soak-bob']
const LIMIT = 20

/** What happens to the page, one after another. */
const MISHAPS = ['offline', 'reload', 'cut', 'clear'] as const

describe.skipIf(!hasBrowser)('a page behind a network that fails', () => {
  it('[E4, Y1] counts each of 2,000 events once, ends with the board of the service, and asks at most twice as often as needed', {
    timeout: SECONDS * 1_000 + 2 * PATIENCE,
  }, async () => {
    const server = await startServer()
    const laurel = new Laurel({ url: server.url, apiKey: server.adminKey })
    const random = new Random(Number(process.env.TEST_SEED ?? 1))
    const script = await pageScript({ entryPoints: [PAGE], conditions: ['@laurel/source'] })
    const proxy = faultyProxy(
      server.url,
      `<!doctype html><title>Page</title><script>${script}</script>`,
      () => random.next(),
    )
    const origin = await listening(proxy.server)
    onTestFinished(() => stop(proxy.server))
    const browser = await launchBrowser()
    const context = await browser.newContext()
    const page = await context.newPage()
    const call = (name: string, ...args: unknown[]): Promise<ReturnType<ObjectConstructor>> =>
      page.evaluate(`laurelPage.${name}(...${JSON.stringify(args)})`)
    const { created } = await laurel.admin.applicationKeys.create(USERS.map((userId) => ({ userId })))
    /** How often the page itself ended all its streams: it was opened, or lost the network. */
    let beginnings = 0
    const open = async () => {
      await page.goto(`${origin}/page`)
      for (const [nth, user] of USERS.entries()) {
        await call('open', { url: origin, key: created[nth]?.key, user })
        await call('follow', user, LIMIT)
      }
      beginnings += 1
    }
    /** Waits until no event waits. Nothing may have been dropped, and no board may be watched no more. */
    const untilIdle = async () => {
      for (const user of USERS) {
        await vi.waitFor(async () => expect(await call('waiting', user)).toEqual([]), {
          timeout: PATIENCE,
          interval: 500,
        })
        expect(await call('ends', user)).toEqual([])
      }
    }

    /** Lets something happen to the page. Events that it had not stored yet are sent again. */
    const mishap = async (kind: (typeof MISHAPS)[number]) => {
      if (kind === 'cut') return proxy.cutStreams()
      if (kind === 'reload') return open()
      if (kind === 'clear') {
        // An event that still waits would be lost.
        await untilIdle()
        return clearStorage(context, page, origin)
      }
      beginnings += 1
      await context.setOffline(true)
      await sleep(random.int(500, 5_000))
      await context.setOffline(false)
    }

    await open()
    // Only the pace depends on real time.
    const began = performance.now()
    const pauses = (SECONDS * 1_000) / EVENTS
    for (let sent = 0; sent < EVENTS; sent += 1) {
      // Each user's events have the values 1, 2, 3 …
      await call('send', USERS[sent % USERS.length], [Math.floor(sent / USERS.length) + 1])
      if (sent % 50 === 49) await mishap(random.of([...MISHAPS]))
      const early = began + (sent + 1) * pauses - performance.now()
      if (early > 0) await sleep(early)
    }
    proxy.calm()
    await untilIdle()
    const each = EVENTS / USERS.length
    const values = Array.from({ length: each }, (_, nth) => nth + 1)
    for (const user of USERS) {
      const entries = await laurel.admin.users.timeline.list(user, { types: 'event' }).toArray()
      const counted = entries.map((entry) => (entry.type === 'event' ? entry.value : null)).reverse()
      expect(counted).toEqual(values)
      expect(await laurel.users.metrics.get(user, 'demo-lessons')).toMatchObject({
        current: (each * (each + 1)) / 2,
      })
    }
    const { rankings } = await laurel.leaderboards.get('demo-all-time', { limit: LIMIT })
    await vi.waitFor(
      async () => {
        for (const user of USERS) expect(await call('rankings', user)).toEqual(rankings)
      },
      { timeout: PATIENCE, interval: 500 },
    )
    const { events, failedEvents, streams, failedStreams } = proxy.counts
    console.info({ ...proxy.counts, beginnings, seconds: (performance.now() - began) / 1_000 })
    // Each failure of the network needs one more request.
    expect(events).toBeLessThanOrEqual(2 * (EVENTS + failedEvents))
    expect(streams).toBeLessThanOrEqual(2 * (USERS.length * beginnings + failedStreams))
  })
})

/** Removes everything that the browser keeps for a page, as a user does who frees space. */
async function clearStorage(context: BrowserContext, page: Page, origin: string): Promise<void> {
  const session = await context.newCDPSession(page)
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
  await session.detach()
}
