/** examples/nextjs in a browser: the reading diary, as its README starts it. */
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible } from '../../helpers/console/browser'
import { hasBrowser, launchBrowser, NO_BROWSER } from '../../helpers/server/browser'
import {
  type Example,
  expectGood,
  expectSameAgain,
  installedExample,
  openedApp,
} from '../../helpers/server/example'
import { freePort, type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'

describe.skipIf(!hasBrowser)(`the diary${hasBrowser ? '' : ` (skipped: ${NO_BROWSER})`}`, () => {
  let example: Example
  let server: Server
  let url: string
  let env: Record<string, string>
  let browser: Browser

  beforeAll(async () => {
    example = await installedExample('nextjs')
    server = await startServer({ clock: SERVER_START })
    const port = String(await freePort())
    url = `http://localhost:${port}`
    // The server is in another time zone than the users, as most servers are.
    const TZ = 'Pacific/Auckland'
    env = { PORT: port, TZ, LAUREL_URL: server.url, LAUREL_ADMIN_KEY: server.adminKey }
    // This builds the app too, and so checks all types.
    await example.start(['npm', 'start'], env, /Ready in/)
    browser = await launchBrowser()
  })

  const opened = (options: Parameters<typeof openedApp>[2] = {}) =>
    openedApp(browser, url, { timezoneId: 'America/Los_Angeles', ...options })

  /** The sign-in has started as soon as it knows the time zone. */
  const started = (page: Page) =>
    page.locator('input[name=timeZone]:not([value=""])').waitFor({ state: 'attached' })

  /** The message of a form. The router of Next.js has another alert, for screen readers. */
  const alert = (page: Page) => page.locator('form').getByRole('alert')

  async function signIn(page: Page, name: string) {
    await started(page)
    await page.getByLabel('Your name').fill(name)
    await page.getByRole('button', { name: 'Start reading' }).click()
    await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
  }

  async function log(page: Page, book: string, pages: string) {
    await page.getByLabel('Book', { exact: true }).fill(book)
    await page.getByLabel('Pages', { exact: true }).fill(pages)
    const button = page.getByRole('button', { name: 'Write it down' })
    await button.click()
    // React empties the fields of a form at the end of its action. Until then, the button is disabled.
    await page.locator('form button:enabled', { hasText: /Write it down|Start reading/ }).waitFor()
  }

  const diary = (page: Page) => page.getByRole('region', { name: 'Your diary' })
  const points = (page: Page, total: string) =>
    page.getByRole('group', { name: 'Reading points', exact: true }).getByText(total, { exact: true }).last()
  const streak = (page: Page, text: string) => page.locator('.laurel-streak-counter').getByText(text)

  it('moves points, level, streak and diary by an action, and the page of the server is complete', async () => {
    const { context, page, complaints } = await opened()
    await signIn(page, 'Ada')
    await diary(page).getByText('Nothing yet.').waitFor()
    await log(page, 'Middlemarch', '60')
    await page.getByText('+60 Reading points').waitFor()
    await points(page, '60').waitFor()
    await page.getByText('40 Reading points to Page-turner').waitFor()
    await streak(page, '1 day streak').waitFor()
    // The date where Ada is.
    await diary(page).getByRole('listitem').getByText('60 pages, Jun 3, 2082').waitFor()
    await page.getByRole('row', { name: /Ada.*60/ }).waitFor()

    const { status } = await server.ask('PUT', '/admin/v1/test-clock', { advance: 'P1D' })
    expect(status).toBe(200)
    await page.reload()
    await log(page, 'Middlemarch', '40')
    await streak(page, '2 day streak').waitFor()
    await page.getByRole('progressbar', { name: 'Level: Page-turner' }).waitFor()

    const html = await (await context.request.get(url)).text()
    expect(html).toContain('Middlemarch')
    expect(html.replaceAll('<!-- -->', '')).toContain('40 pages, Jun 4, 2082')
    expect(html).toContain('day streak')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('moves the board of one reader while another one reads', async () => {
    const emmy = await opened()
    await signIn(emmy.page, 'Emmy')
    await log(emmy.page, 'Dune', '10')
    await emmy.page.getByRole('row', { name: /Emmy.*10/ }).waitFor()
    const grace = await opened()
    await signIn(grace.page, 'Grace')
    await log(grace.page, 'Dune', '20')
    // Emmy has done nothing.
    await emmy.page.getByRole('row', { name: /Grace.*20/ }).waitFor()
    expect([...emmy.complaints, ...grace.complaints]).toEqual([])
    await emmy.context.close()
    await grace.context.close()
  })

  it('says what is wrong with an entry, keeps it, and counts one once whose answer was lost', async () => {
    const { context, page } = await opened()
    await signIn(page, 'Alan')
    for (const pages of ['0', '301', '1.5', '-3', 'ten']) {
      await log(page, 'Emma', pages)
      await alert(page).getByText('Enter a whole number of pages, from 1 to 300.').waitFor()
      expect(await page.getByLabel('Pages', { exact: true }).inputValue()).toBe(pages)
    }
    await log(page, '  ', '3')
    await alert(page).getByText('Enter a book with at most 80 characters.').waitFor()

    let requests = 0
    await page.route(`${url}/`, async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      requests += 1
      if (requests > 1) return route.continue()
      // The first request arrives, and its answer is lost.
      await route.fetch()
      await route.abort()
    })
    await log(page, 'Emma', '30')
    await alert(page).getByText('You seem to be offline.').waitFor()
    await page.getByRole('button', { name: 'Write it down' }).click()
    await diary(page).getByText('30 pages').waitFor()
    await points(page, '30').waitFor()
    expect(await diary(page).getByRole('listitem').count()).toBe(1)
    await context.close()
  })

  it('gives each user an own token without a reload, and asks for the sign-in when the session is over', async () => {
    const { context, page, complaints } = await opened()
    await signIn(page, 'Lise')
    await log(page, 'Persuasion', '7')
    await points(page, '7').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await signIn(page, 'Otto')
    await points(page, '0').waitFor()
    await log(page, 'Ulysses', '9')
    await page.locator('tr[data-own]').getByText('Otto').waitFor()
    await points(page, '9').waitFor()
    expect(complaints).toEqual([])

    await context.clearCookies()
    await log(page, 'Ulysses', '9')
    await page.getByLabel('Your name').waitFor()
    await context.close()
  })

  it('refuses strangers and bad requests with words', async () => {
    const { context, page } = await opened()
    // A client without the cookies of the page.
    const stranger = await browser.newContext()
    const ask = (cookie: string) => stranger.request.post(`${url}/laurel-token`, { headers: { cookie } })
    expect((await stranger.request.get(`${url}/laurel-token`)).status()).toBe(405)
    for (const value of ['', 'reader-1.9999999999999.x', '%FF', '..', 'reader-1.NaN.']) {
      const answer = await ask(`reading-session=${value}`)
      expect(answer.status(), value).toBe(401)
      expect(await answer.json()).toEqual({ error: 'Sign in first.' })
    }
    await signIn(page, 'Mallory')
    const cookies = await context.cookies()
    expect(cookies).toMatchObject([{ name: 'reading-session', httpOnly: true, sameSite: 'Lax' }])
    const [own = ''] = cookies.map(({ name, value }) => `${name}=${value}`)
    const answer = await ask(own)
    expect([answer.status(), answer.headers()['cache-control']]).toEqual([200, 'no-store'])
    // The token only reads, and only of its user.
    const headers = { 'x-api-key': (await answer.json()).token }
    const [, id = ''] = /=([^.]+)/.exec(own) ?? []
    const event = { user: { id }, value: 300 }
    const sent = await stranger.request.post(`${server.url}/v1/metrics/reading-pages/event`, {
      headers,
      data: event,
    })
    expect(sent.status()).toBe(403)
    expect((await stranger.request.get(`${server.url}/v1/users/${id}`, { headers })).status()).toBe(200)
    expect((await stranger.request.get(`${server.url}/v1/users/ada`, { headers })).status()).toBe(403)
    // Another user with the signature of the own session.
    const [, end, signature] = own.split('.')
    const forged = await ask(`reading-session=reader-0123456789abcdef.${end}.${signature}`)
    expect(forged.status()).toBe(401)

    // Actions by hand: an unknown time zone, and fields that are missing.
    await page.getByRole('button', { name: 'Sign out' }).click()
    await started(page)
    await page.evaluate('document.querySelector("[name=timeZone]").value = "Moon/Sea"')
    await page.getByLabel('Your name').fill('Mallory')
    await page.getByRole('button', { name: 'Start reading' }).click()
    await alert(page).getByText(/tz/).waitFor()
    await page.getByLabel('Your name').fill('   ')
    await page.getByRole('button', { name: 'Start reading' }).click()
    await alert(page).getByText('Enter a name with at most 40 characters.').waitFor()
    await stranger.close()
    await context.close()
  })

  it('axe finds nothing, and nothing is too wide', async () => {
    for (const [look, viewport, colorScheme] of [
      ['desktop, light', { width: 1280, height: 860 }, 'light'],
      ['phone, dark', { width: 390, height: 844 }, 'dark'],
    ] as const) {
      const { context, page, complaints } = await opened({ viewport, colorScheme })
      const check = (name: string) => expectGood(page, `${name}, ${look}`)
      await check('sign-in')
      await signIn(page, `Mary of ${look}`)
      await log(page, 'Frankenstein', '0')
      await alert(page).waitFor()
      await check('error')
      await log(page, 'Frankenstein', '12')
      await diary(page).getByText('12 pages').waitFor()
      await page.getByText('+12 Reading points').waitFor()
      await check('diary')
      expect(complaints).toEqual([])
      await context.close()
    }
  })

  it('sets up again without a change, and says that Laurel does not answer', async () => {
    const paths = ['metrics', 'attributes', 'points', 'leaderboards', 'streaks/settings']
    await expectSameAgain(example, server, { env, paths, key: 'reading-week' })
    const { context, page } = await opened()
    await signIn(page, 'Niels')
    await server.stop()
    await page.reload()
    await page.getByRole('heading', { name: 'The page could not be loaded' }).waitFor()
    await expectAccessible(page, 'the page without Laurel')
    await context.close()
  })
})
