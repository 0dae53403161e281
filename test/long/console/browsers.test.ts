/** The console in browsers that block requests, or that keep nothing. */
import { describe, expect, it } from 'vitest'
import { hasBrowser, settled, signIn } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()

describe.skipIf(!hasBrowser)('the console', () => {
  it('says in one sentence that the browser blocks requests, and does not ask for ever', async () => {
    const { page, requests } = await world.signedIn()
    await page.route('**/admin/v1/figures/**', (route) => route.abort('blockedbyclient'))
    requests.splice(0)
    await page.goto(`${world.server.url}/console/`)
    await page.getByText('The browser blocks requests of this page. Switch your ad blocker off').waitFor()
    await settled(page)
    const asked = requests.filter(({ path }) => path.startsWith('/admin/v1/figures/'))
    // The client repeats a read, and the page asks once more when it has found the server.
    expect(asked.length).toBeLessThanOrEqual(12)
    // As soon as all of a page was read, nothing is said any more.
    await page.unroute('**/admin/v1/figures/**')
    await page.getByRole('link', { name: 'Users' }).click()
    await page.getByText('The browser blocks requests').waitFor({ state: 'detached' })
    await page.context().close()
  })
})

describe.skipIf(!hasBrowser)('pages', () => {
  it('are shown by a browser that does not know the zone of a user, nor its own', async () => {
    await world.ask('POST', '/v1/users', { id: 'far', name: 'Far', tz: 'Asia/Tokyo' })
    const { page, complaints } = await world.page()
    await page.addInitScript(`(() => {
      const { DateTimeFormat } = Intl
      const known = DateTimeFormat.prototype.resolvedOptions
      DateTimeFormat.prototype.resolvedOptions = function () {
        return { ...known.call(this), timeZone: 'Etc/Unknown' }
      }
      Intl.DateTimeFormat = function (locale, options) {
        if (options?.timeZone === 'Asia/Tokyo') throw new RangeError('Invalid time zone')
        return new DateTimeFormat(locale, options)
      }
      Intl.DateTimeFormat.prototype = DateTimeFormat.prototype
    })()`)
    await page.goto(`${world.server.url}/console/users?search=far`)
    await signIn(page, world.server.adminKey)
    await page.getByRole('link', { name: 'Far' }).click()
    await page.getByRole('heading', { name: 'Streak', exact: true }).waitFor()
    for (const [path, text] of [
      ['/users/far/timeline', 'Timeline'],
      ['/leaderboards/demo-weekly-xp', 'Rankings'],
    ] as const) {
      await world.open(page, path)
      await page.getByRole('heading', { name: text }).waitFor()
    }
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('leave Ctrl+K to the fields on a Mac, and find by ⌘K', async () => {
    const { page } = await world.page()
    await page.addInitScript(
      "Object.defineProperty(navigator, 'userAgent', { value: 'Macintosh; Mac OS X' })",
    )
    await page.goto(`${world.server.url}/console`)
    await signIn(page, world.server.adminKey)
    await page.keyboard.press('Control+k')
    await page.keyboard.press('Meta+k')
    // Ctrl+K would have opened it, and ⌘K closed it.
    await page.getByRole('dialog', { name: 'Search' }).locator('input:focus').waitFor()
    await page.context().close()
  })

  it('know what today is by the clock of the server', async () => {
    const { page } = await world.page()
    // The answers have the time of the test clock, in 2082.
    const features = { multiTenancy: false, testClock: false }
    await page.route('**/admin/v1/session', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), ...features } })
    })
    const asked = page.waitForRequest(/figures\/overview\?.*to=2082-/)
    await page.goto(`${world.server.url}/console`)
    await signIn(page, world.server.adminKey)
    await asked
    await page.context().close()
  })

  it('go on while the browser translates them', async () => {
    const { page, complaints } = await world.signedIn()
    await settled(page)
    const chart = page.getByRole('img', { name: /^Active users by day/ })
    const { x, y, width } = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0 }
    // As browsers do, this puts elements in the place of texts.
    await page.evaluate(`
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      const all = []
      while (texts.nextNode()) all.push(texts.currentNode)
      for (const text of all) {
        const element = document.createElement('font')
        element.textContent = text.nodeValue
        text.replaceWith(element)
      }`)
    for (const part of [0.2, 0.99, 0.5]) await page.mouse.move(x + width * part, y + 30)
    await page.getByRole('link', { name: 'Metrics' }).click()
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('are shown if another version has kept something else in the tab', async () => {
    const { page, complaints } = await world.signedIn()
    for (const kept of ['{}', '[1]', '[["form"]]', '[["form",null]]']) {
      await page.addInitScript((text) => sessionStorage.setItem('laurel.entries', text), kept)
      await world.open(page, '/metrics/new')
      await page.getByLabel('Name').waitFor()
    }
    expect(complaints).toEqual([])
    await page.context().close()
  })
})

describe.skipIf(!hasBrowser)('the sign-in', () => {
  it('[G14] takes a key with blanks and invisible characters around it, and says what else is wrong', async () => {
    const { page, complaints } = await world.page()
    const { url, adminKey } = world.server
    await page.goto(`${url}/console/metrics`)
    const field = page.getByLabel('Admin API key')
    for (const given of [
      `“${adminKey}”`,
      `"${adminKey}"`,
      `X-API-KEY: ${adminKey}`,
      `${adminKey.slice(0, 9)}\u200b9`,
    ]) {
      await field.fill(given)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Paste the key alone').waitFor()
    }
    await field.fill(`\ufeff\u200b ${adminKey}\u2060\u00a0`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it.each([
    [
      'blocked',
      "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('', 'SecurityError') } })",
    ],
    ['full', "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError') }"],
  ])('[G14] says that the browser keeps nothing if its storage is %s', async (_state, script) => {
    const { page } = await world.page()
    await page.addInitScript(script)
    await page.goto(`${world.server.url}/console`)
    await page.getByLabel('Admin API key').fill(world.server.adminKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('the storage of this site is blocked or full').waitFor()
    await page.context().close()
  })
})
