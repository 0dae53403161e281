/** The console in a real browser, on a real server: the frame of the pages, and what all of them have. */
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectAccessible, hasBrowser, openPalette, settled, signIn } from '../helpers/console/browser'
import { FORMS, MAIN_PAGES } from '../helpers/console/pages'
import { ATTACK, sharedWorld } from '../helpers/console/world'
import { casesOf } from '../helpers/runs'

const world = sharedWorld()

const stored = () => Object.entries(sessionStorage).concat(Object.entries(localStorage)).flat().join(' ')
/** Leaves out what the browser notes about a response with an error. */
const besides = (complaints: readonly string[], ...statuses: number[]) =>
  complaints.filter((text) => !statuses.some((status) => text.includes(`with a status of ${status}`)))

describe.skipIf(!hasBrowser)('the session', () => {
  it('[G14] tells a wrong key in place, signs in with a right one, and forgets it on demand', async () => {
    const { page, complaints } = await world.page()
    const { url, adminKey } = world.server
    await page.goto(`${url}/console/metrics`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Paste your admin key first.').waitFor()
    await page.getByLabel('Admin API key').fill('adm_wrong.key')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This key is not valid.').waitFor()
    await expectAccessible(page, 'the sign-in')
    const { body } = await world.ask('POST', '/admin/v1/application-api-keys', [{ userId: 'demo-ada' }])
    await page.getByLabel('Admin API key').fill(body.created[0].key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Use an admin key.').waitFor()
    expect(await page.evaluate(stored)).toBe('')
    expect(besides(complaints.splice(0), 401, 403)).toEqual([])

    await signIn(page, adminKey)
    // The page that was opened.
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    expect(page.url()).toBe(`${url}/console/metrics`)
    expect(await page.evaluate(stored)).toContain(adminKey)
    expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
    await page.reload()
    await page.getByRole('link', { name: 'Lessons completed' }).click()
    await page.getByRole('heading', { level: 1, name: 'Lessons completed' }).waitFor()

    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Admin API key').waitFor()
    await page.goBack()
    await page.getByLabel('Admin API key').waitFor()
    await page.reload()
    await page.getByLabel('Admin API key').waitFor()
    expect(await page.getByText('Lessons completed').count()).toBe(0)
    // Only scroll positions stay, without the addresses of pages, which may have ids of users.
    expect(await page.evaluate(stored)).not.toMatch(/adm_|metrics/)
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('[G14] signs in by the printed link, once, and keeps the code out of the address', async () => {
    const [link = ''] = /^http:\S+#code=\S+$/m.exec(world.server.output()) ?? []
    const { page, complaints } = await world.page()
    // The page is open already, so that the link changes only the fragment.
    await page.goto(`${world.server.url}/console`)
    await page.getByLabel('Admin API key').waitFor()
    await page.goto(link)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(page.url()).not.toContain('code')

    // Someone who is signed in stays so. The code goes away too.
    await page.goto(link)
    await page.waitForURL((url) => url.hash === '')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(complaints).toEqual([])

    const again = await world.page()
    await again.page.goto(link)
    await again.page.getByText('This link was used before, or is older than 10 minutes.').waitFor()
    expect(again.page.url()).not.toContain('code')
    await page.context().close()
    await again.page.context().close()
  })

  it('[G14] signs in by the link of a deployment, once: the key in it is replaced', async () => {
    const { body } = await world.ask('POST', '/admin/v1/admin-api-keys', [{ name: 'Of a link' }])
    const [{ id, key }] = body.created
    const { page } = await world.page()
    await page.goto(`${world.server.url}/console#code=${id}:${key}`)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(page.url()).not.toContain('code')
    expect(await page.evaluate(stored)).not.toContain(key)
    const again = await world.page()
    await again.page.goto(`${world.server.url}/console#code=${id}:${key}`)
    await again.page.getByText('This link was used before.').waitFor()
    for (const one of [page, again.page]) await one.context().close()
  })

  it('[G14] asks for the key again after it was deleted, and returns to the same page', async () => {
    const { body } = await world.ask('POST', '/admin/v1/admin-api-keys', [{ name: 'Of a test' }])
    const [{ id, key }] = body.created
    const { page } = await world.page()
    await page.goto(`${world.server.url}/console/metrics/demo-lessons`)
    await signIn(page, key)
    await page.getByRole('heading', { level: 1, name: 'Lessons completed' }).waitFor()
    await world.ask('DELETE', `/admin/v1/admin-api-keys?ids=${id}`)
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Metrics' }).click()
    await page.getByText('Your key is no longer valid.').waitFor()
    expect(await page.evaluate(stored)).not.toContain(key)
    await signIn(page, world.server.adminKey)
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    await page.context().close()
  })

  it('the first page loads at most 250 KB of JavaScript, compressed, each file once', async () => {
    const { page } = await world.page()
    const sizes = new Map<string, Promise<number>>()
    page.on('response', (response) => {
      const type = response.headers()['content-type'] ?? ''
      if (!type.includes('javascript')) return
      expect(sizes.has(response.url())).toBe(false)
      sizes.set(
        response.url(),
        response.body().then((body) => gzipSync(body).length),
      )
    })
    await page.goto(`${world.server.url}/console`)
    await signIn(page, world.server.adminKey)
    await settled(page)
    const total = (await Promise.all(sizes.values())).reduce((sum, size) => sum + size, 0)
    expect(sizes.size).toBeGreaterThan(1)
    expect(total).toBeLessThanOrEqual(250_000)
    await page.context().close()
  })
})

/** A page with charts, one with a table, one with a form. The long test checks all pages. */
const CHECKED_BY_AXE = ['/', '/users', '/settings']

describe.skipIf(!hasBrowser)('the pages', () => {
  // One tab for all tests.
  let page: Page
  let complaints: string[]
  beforeAll(async () => {
    ;({ page, complaints } = await world.signedIn())
  })
  beforeEach(() => {
    complaints.splice(0)
  })
  afterAll(() => page?.context().close())

  const navigation = () => page.getByRole('navigation', { name: 'Main' })
  const follow = (name: string) => navigation().getByRole('link', { name, exact: true }).click()

  it('are named by the navigation, have one heading, and axe finds nothing', async () => {
    expect(await navigation().getByRole('link').allTextContents()).toEqual(
      MAIN_PAGES.map(({ heading }) => heading),
    )
    for (const { heading, path } of MAIN_PAGES) {
      await follow(heading)
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      await settled(page)
      expect(await page.getByRole('heading', { level: 1 }).allTextContents()).toEqual([heading])
      expect(await page.title()).toBe(`${heading} · Laurel`)
      expect(page.url()).toBe(`${world.server.url}/console${path}`)
      if (CHECKED_BY_AXE.includes(path)) await expectAccessible(page, heading)
    }
    expect(complaints).toEqual([])
  })

  it('open each form by its button, with fields by their names, and each form has an address', async () => {
    for (const { path, opens, title, submit, fields } of casesOf(FORMS.length / 2, FORMS)) {
      const main = MAIN_PAGES.find((one) => one.path === path)
      if (main !== undefined) await follow(main.heading)
      else if (page.url() !== `${world.server.url}/console${path}`) await world.open(page, path)
      await page.getByRole('button', { name: opens, exact: true }).click()
      const form = page.getByRole('dialog', { name: title, exact: true })
      await form.waitFor()
      expect(page.url()).not.toBe(`${world.server.url}/console${path}`)
      // Each exists once: Playwright refuses to wait for two.
      for (const field of fields) await page.getByLabel(field, { exact: true }).waitFor()
      await form.getByRole('button', { name: submit, exact: true }).waitFor()
      expect(submit).toMatch(/^(?:Save|Create|Add|Adjust|Confirm)/)
      // The first field has the focus.
      await form.locator(':is(input, select, textarea):focus').waitFor()
      await page.keyboard.press('Escape')
      await form.waitFor({ state: 'detached' })
      expect(page.url()).toBe(`${world.server.url}/console${path}`)
    }
    expect(complaints).toEqual([])
  })

  it('the command palette opens the first match, and closes with Escape', async () => {
    await openPalette(page)
    await expectAccessible(page, 'the command palette')
    await page.keyboard.type('leader')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Leaderboards' }).waitFor()
    const palette = await openPalette(page)
    await page.keyboard.press('Escape')
    await palette.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('the command palette finds configured things and forms', async () => {
    const palette = await openPalette(page)
    await page.keyboard.type('lessons comp')
    await palette.getByText('Metric demo-lessons').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Lessons completed' }).waitFor()
    await openPalette(page)
    await page.keyboard.type('new attribute')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New attribute' }).waitFor()
    await page.keyboard.press('Escape')
    expect(complaints).toEqual([])
  })

  it('creates, edits and deletes a metric, and shows at its field what the interface objects to', async () => {
    const read = () => world.ask('GET', '/admin/v1/metrics/books-read')
    await follow('Metrics')
    await page.getByRole('button', { name: 'New metric' }).click()
    const form = page.getByRole('dialog', { name: 'New metric' })
    await form.getByLabel('Name').fill('Books read')
    await form.getByLabel('Key').fill('demo-lessons')
    await form.getByRole('button', { name: 'Create metric' }).click()
    await form.getByText('is taken by another metric').waitFor()
    expect(await form.getByLabel('Key').getAttribute('aria-invalid')).toBe('true')
    expect(await form.locator('[aria-invalid=true]').count()).toBe(1)
    await form.getByLabel('Key').fill('books-read')
    await form.getByRole('button', { name: 'Create metric' }).click()
    await page.getByRole('heading', { level: 1, name: 'Books read' }).waitFor()
    expect((await read()).body).toMatchObject({ name: 'Books read', unitType: 'number' })

    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByLabel('Units').fill('books')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('definition').getByText('books', { exact: true }).waitFor()
    await page.getByText('The metric “Books read” was saved').first().waitFor()
    expect((await read()).body).toMatchObject({ units: 'books' })

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Confirm: delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    expect((await read()).status).toBe(404)
    expect(complaints).toEqual([])
  })

  it('finds a user, shows the name as text whatever is in it, and adjusts points', async () => {
    await world.ask('POST', '/v1/users', { id: 'attack', name: ATTACK })
    await world.open(page, '/users')
    await page.getByLabel('Search users').fill('attack')
    await page.getByRole('link', { name: ATTACK }).click()
    await page.getByRole('heading', { level: 1, name: ATTACK }).waitFor()
    expect(page.url()).toBe(`${world.server.url}/console/users/attack`)
    await page.getByRole('button', { name: 'Adjust points' }).click()
    const form = page.getByRole('dialog', { name: 'Adjust points' })
    const submit = form.getByRole('button', { name: 'Adjust points' })
    // The keypad for numbers of some phones has no minus.
    expect(await form.getByLabel('Amount').getAttribute('inputmode')).toBe('text')
    await form.getByLabel('Amount').fill('ten')
    await submit.click()
    await form.getByText('Use a whole number, such as 10.').waitFor()
    await form.getByLabel('Amount').fill('25')
    await form.getByLabel('Reason').fill(ATTACK)
    await submit.click()
    await form.waitFor({ state: 'detached' })
    expect((await world.ask('GET', '/v1/users/attack/points/demo-xp')).body).toMatchObject({ total: 25 })
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.getByText(`Reason: ${ATTACK}`).waitFor()
    expect(complaints).toEqual([])
  })

  it('says that the connection was lost, and goes on when it is back', async () => {
    await world.open(page, '/')
    await page.context().setOffline(true)
    await follow('Metrics')
    await page.getByText('Lost connection to the server.').waitFor()
    await page.context().setOffline(false)
    await page.getByRole('cell', { name: 'Lessons completed' }).waitFor()
    expect(await page.getByText('Lost connection to the server.').count()).toBe(0)

    // The page of a proxy whose session has ended is no answer of the server.
    const proxied = /\/(?:admin\/v1|health)/
    await page.route(proxied, (route) => route.fulfill({ contentType: 'text/html', body: 'Sign in' }))
    await follow('Attributes')
    await page.getByText('If this stays, load the page again.').waitFor()
    for (let nth = 0; nth < 2; nth += 1) await page.waitForResponse('**/health')
    expect(await page.getByText('Lost connection to the server.').count()).toBe(1)
    await page.unroute(proxied)
    await page.getByRole('cell', { name: 'Plan', exact: true }).waitFor()
  })
})
