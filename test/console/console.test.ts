/** The frame of the console, in a real browser on a real server. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Server, startServer } from '../server/harness'
import {
  expectAccessible,
  hasBrowser,
  launchBrowser,
  settled,
  signedInPage,
  signIn,
  watchedPage,
} from './browser'
import { MAIN_PAGES } from './pages'

let server: Server
let browser: Browser

beforeAll(async () => {
  ;[server, browser] = await Promise.all([startServer(), launchBrowser()])
})
afterAll(async () => {
  await browser?.close()
  await server?.stop()
})

/** Asks the admin interface. */
async function ask(method: string, path: string, body?: unknown, key = server.adminKey) {
  const answer = await fetch(`${server.url}/admin/v1${path}`, {
    method,
    headers: { 'X-API-KEY': key, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: Object(await answer.json()) }
}

const stored = () => Object.entries(sessionStorage).concat(Object.entries(localStorage)).flat().join(' ')

describe.skipIf(!hasBrowser)('the console', () => {
  it('[G14] tells a wrong key in place, signs in with a right one, and forgets it on demand', async () => {
    const { page, complaints } = await watchedPage(browser, server.url)
    await page.goto(`${server.url}/console/metrics`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Paste your admin key first.').waitFor()
    await page.getByLabel('Admin API key').fill('adm_wrong.key')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This key is not valid.').waitFor()
    await expectAccessible(page, 'the sign-in')
    // The browser notes that the answer was 401.
    expect(complaints.splice(0).filter((text) => !text.includes('401'))).toEqual([])

    await signIn(page, server.adminKey)
    // The page that was opened.
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    expect(page.url()).toBe(`${server.url}/console/metrics`)
    expect(await page.evaluate(stored)).toContain(server.adminKey)
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Admin API key').waitFor()
    expect(await page.evaluate(stored)).not.toContain(server.adminKey)
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('[G14] signs in by the printed link, once, and keeps the code out of the address', async () => {
    const [link = ''] = /^http:\S+#code=\S+$/m.exec(server.output()) ?? []
    const { page, complaints } = await watchedPage(browser, server.url)
    await page.goto(link)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(page.url()).not.toContain('code')
    expect(complaints).toEqual([])

    const again = await watchedPage(browser, server.url)
    await again.page.goto(link)
    await again.page.getByText('This link was used before, or is older than 10 minutes.').waitFor()
    await page.context().close()
    await again.page.context().close()
  })

  it('[G14] asks for the key again after it was deleted, and returns to the same page', async () => {
    const { body } = await ask('POST', '/admin-api-keys', [{ name: 'Of a test' }])
    const [{ id, key }] = body.created
    const { page } = await watchedPage(browser, server.url)
    await page.goto(`${server.url}/console/metrics/demo-lessons`)
    await signIn(page, key)
    await page.getByRole('heading', { level: 1, name: 'Lessons completed' }).waitFor()
    await ask('DELETE', `/admin-api-keys?ids=${id}`)
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Metrics' }).click()
    await page.getByText('Your key is no longer valid.').waitFor()
    await signIn(page, server.adminKey)
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    await page.context().close()
  })

  it('the addresses of pages and forms can be opened, and axe finds no faults', async () => {
    const { page, complaints } = await signedInPage(browser, server)
    // pages.long.test.ts opens all pages.
    for (const path of ['/metrics', '/metrics/demo-lessons', '/metrics/new']) {
      await page.goto(`${server.url}/console${path}`)
      await settled(page)
      await expectAccessible(page, path)
    }
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('the navigation leads to every page, and the command palette opens the first match', async () => {
    const { page, complaints } = await signedInPage(browser, server)
    const main = page.getByRole('navigation', { name: 'Main' })
    expect(await main.getByRole('link').allTextContents()).toEqual(MAIN_PAGES.map(({ heading }) => heading))
    for (const { heading } of MAIN_PAGES) {
      await main.getByRole('link', { name: heading, exact: true }).click()
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      expect(await page.title()).toBe(`${heading} · Laurel`)
    }
    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog')
    await palette.waitFor()
    await page.keyboard.type('leader')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Leaderboards' }).waitFor()
    await page.keyboard.press('Control+k')
    await palette.waitFor()
    await page.keyboard.press('Escape')
    await palette.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('says that the connection was lost, and goes on when it is back', async () => {
    const { page } = await signedInPage(browser, server)
    await page.context().setOffline(true)
    await page.getByRole('link', { name: 'Metrics' }).click()
    await page.getByText('Lost connection to the server.').waitFor()
    await page.context().setOffline(false)
    await page.getByRole('cell', { name: 'Lessons completed' }).waitFor()
    expect(await page.getByText('Lost connection to the server.').count()).toBe(0)
    await page.context().close()
  })

  it('creates, edits and deletes a metric, and shows at its field what the interface objects to', async () => {
    const { page, complaints } = await signedInPage(browser, server)
    await page.getByRole('link', { name: 'Metrics' }).click()
    await page.getByRole('link', { name: 'New metric' }).click()
    const form = page.getByRole('dialog', { name: 'New metric' })
    await form.getByLabel('Name').fill('Books read')
    await form.getByLabel('Key').fill('demo-lessons')
    await form.getByRole('button', { name: 'Create metric' }).click()
    await form.getByText('is taken by another metric').waitFor()
    await form.getByLabel('Key').fill('books-read')
    await form.getByRole('button', { name: 'Create metric' }).click()
    await page.getByRole('heading', { level: 1, name: 'Books read' }).waitFor()
    expect((await ask('GET', '/metrics/books-read')).body).toMatchObject({
      name: 'Books read',
      unitType: 'number',
    })

    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Units').fill('books')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('definition').getByText('books', { exact: true }).waitFor()
    expect((await ask('GET', '/metrics/books-read')).body).toMatchObject({ units: 'books' })

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Confirm: delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    expect((await ask('GET', '/metrics/books-read')).status).toBe(404)
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
    await page.context().close()
  })
})
