/** An app of hooks and components, in a real browser, against a running server. */
import { createServer, type Server as HttpServer } from 'node:http'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listening, stop } from '../../../../test/helpers/listening'
import { PATIENCE } from '../../../../test/helpers/patience'
import { hasBrowser, launchBrowser, pageScript } from '../../../../test/helpers/server/browser'
import { type Server, startServer } from '../../../../test/helpers/server/harness'
import { Laurel } from '../../../typescript/src/index.js'

describe.skipIf(!hasBrowser)('an app with React', () => {
  let server: Server
  let pages: HttpServer
  let origin: string
  let browser: Browser
  let laurel: Laurel

  beforeAll(async () => {
    const script = await pageScript({
      entryPoints: [join(import.meta.dirname, 'app.page.tsx')],
      globalName: 'app',
      jsx: 'automatic',
      conditions: ['@laurel/source'],
      define: { 'process.env.NODE_ENV': '"development"' },
    })
    const page = `<!doctype html><title>App</title><body><script>${script}</script>`
    pages = createServer((_, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8').end(page)
    })
    origin = await listening(pages)
    browser = await launchBrowser()
    server = await startServer()
    laurel = new Laurel({ url: server.url, apiKey: server.adminKey })
  })
  afterAll(async () => {
    await browser?.close()
    if (pages !== undefined) stop(pages)
    await server?.stop()
  })

  async function appOf(userId: string): Promise<{ page: Page; complaints: string[] }> {
    const { created } = await laurel.admin.applicationKeys.create([{ userId }])
    const page = await browser.newPage()
    page.setDefaultTimeout(PATIENCE)
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    // Before the page begins: timers from before would not end, and the time would be 1970 for a moment.
    await page.clock.install()
    await page.goto(origin)
    await page.evaluate(`app.start(...${JSON.stringify([server.url, created[0]?.key, userId])})`)
    return { page, complaints }
  }

  it('[E2, L9] shows the state of a user, sends an event, and shows its effects', async () => {
    const metric = 'demo-lessons'
    await laurel.event(metric, { user: { id: 'react-grace', name: 'Grace of React' }, value: 900 })
    await laurel.event(metric, { user: { id: 'react-ada', name: 'Ada of React' }, value: 899 })
    const { page, complaints } = await appOf('react-ada')
    await page.getByRole('heading', { name: 'Ada of React' }).waitFor()
    const own = page.locator('#board tr[aria-current]')
    const before = await laurel.users.leaderboards.get('react-ada', 'demo-all-time')
    await own.and(page.locator(`[data-rank="${before.rank}"]`)).waitFor()
    await page.locator('#streak').getByText('1', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Learn' }).click()
    await page.locator('#toast').getByText('+30').waitFor()
    const [points, after] = await Promise.all([
      laurel.users.points.get('react-ada', 'demo-xp'),
      laurel.users.leaderboards.get('react-ada', 'demo-all-time'),
    ])
    expect(after.rank).toBe(Number(before.rank) - 1)
    await page.locator('#points').getByText(points.total.toLocaleString('en')).last().waitFor()
    await own.and(page.locator(`[data-rank="${after.rank}"]`)).waitFor()
    expect(complaints).toEqual([])
  })

  it('[Y1] follows a leaderboard while other users score', async () => {
    const metric = 'demo-lessons'
    await laurel.event(metric, { user: { id: 'react-alan', name: 'Alan of React' }, value: 700 })
    const { page, complaints } = await appOf('react-alan')
    const board = page.locator('#board')
    await board.getByText('Live').waitFor()
    const { rank } = await laurel.users.leaderboards.get('react-alan', 'demo-all-time')
    const own = board.locator('tr[aria-current]')
    await own.and(page.locator(`[data-rank="${rank}"]`)).waitFor()
    await laurel.event(metric, { user: { id: 'react-emmy', name: 'Emmy of React' }, value: 701 })
    await own.and(page.locator(`[data-rank="${Number(rank) + 1}"]`)).waitFor()
    await board.getByRole('row', { name: /Emmy of React.*new/ }).waitFor()
    expect(complaints).toEqual([])
  })

  it('[L6, Y1] begins with the own group, and counts the users who join it and other groups', async () => {
    const practise = (id: string, plan: string) =>
      laurel.event('demo-minutes', { user: { id, attributes: { 'demo-plan': plan } }, value: 5 })
    await laurel.users.create({ id: 'react-lise', attributes: { 'demo-plan': 'react' } })
    const { page, complaints } = await appOf('react-lise')
    const plans = page.locator('#plans')
    const options = plans.getByRole('radio')
    /** Waits until the picker has these counts, and the chosen group as many rows as it counts. */
    const counts = async (own: number, other?: number) => {
      await expect.poll(() => plans.locator('tbody tr[data-rank]').count()).toBe(own)
      // A ranking lets the picker be read again, at most every 15 seconds.
      await page.clock.fastForward(15_000)
      await plans.locator(`label[data-own] small:text-is("${own}")`).waitFor()
      if (other !== undefined) await plans.locator(`label[title="other"] small:text-is("${other}")`).waitFor()
    }
    await counts(0)
    expect(await options.first().isChecked()).toBe(true)
    await practise('react-lise', 'react')
    await counts(1)
    await practise('react-mary', 'react')
    await practise('react-max', 'react')
    await counts(3)
    // One of them leaves for another group, which no stream follows.
    await practise('react-max', 'other')
    await counts(2, 1)
    expect(complaints).toEqual([])
  })
})
