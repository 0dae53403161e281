/** An app of hooks and components, in a real browser, against a running server. */
import { createServer, type Server as HttpServer } from 'node:http'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
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
  afterAll(() => stop(pages))

  it('[E2, L9, Y1] shows the state of a user, the effects of an event, and what other users score', async () => {
    const score = (id: string, name: string, value: number) =>
      laurel.event('demo-lessons', { user: { id, name: `${name} of React` }, value })
    await score('react-grace', 'Grace', 900)
    await score('react-ada', 'Ada', 899)
    const { created } = await laurel.admin.applicationKeys.create([{ userId: 'react-ada' }])
    const page = await browser.newPage()
    page.setDefaultTimeout(PATIENCE)
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(origin)
    await page.evaluate(`app.start(...${JSON.stringify([server.url, created[0]?.key, 'react-ada'])})`)

    await page.getByRole('heading', { name: 'Ada of React' }).waitFor()
    const board = page.locator('#board')
    const own = (rank: unknown) => board.locator(`tr[aria-current][data-rank="${rank}"]`).waitFor()
    const before = await laurel.users.leaderboards.get('react-ada', 'demo-all-time')
    await own(before.rank)
    await page.locator('#streak').getByText('1', { exact: true }).first().waitFor()
    await board.getByText('Live').waitFor()
    await page.getByRole('button', { name: 'Learn' }).click()
    await page.locator('#toast').getByText('+30').waitFor()
    const [points, after] = await Promise.all([
      laurel.users.points.get('react-ada', 'demo-xp'),
      laurel.users.leaderboards.get('react-ada', 'demo-all-time'),
    ])
    expect(after.rank).toBe(Number(before.rank) - 1)
    await page.locator('#points').getByText(points.total.toLocaleString('en')).last().waitFor()
    await own(after.rank)
    await score('react-emmy', 'Emmy', 905)
    await own(before.rank)
    await board.getByRole('row', { name: /Emmy of React.*new/ }).waitFor()
    expect(complaints).toEqual([])
  })
})
