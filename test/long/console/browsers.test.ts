/** The console in browsers that block requests, or that keep nothing. */
import { describe, expect, it } from 'vitest'
import { hasBrowser, settled } from '../../helpers/console/browser'
import { MAIN_PAGES, OTHER_PAGES } from '../../helpers/console/pages'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()

/** What lists of ad blockers stop in an address, as EasyPrivacy does. */
const BLOCKED =
  /analytics|telemetry|beacon|pixel|counter|(?:send|page|client)-?event|track(?:er|ing)?[./?-]|stats?[./?-]/i

describe.skipIf(!hasBrowser)('the console', () => {
  it('[G14] shows all pages and their figures with an ad blocker', async () => {
    const { page, requests, complaints } = await world.signedIn()
    await page.route(
      ({ pathname }) => BLOCKED.test(pathname),
      (route) => route.abort('blockedbyclient'),
    )
    for (const { path, heading } of [...MAIN_PAGES, ...OTHER_PAGES]) {
      await world.open(page, path)
      expect([path, await page.locator('h1').allTextContents()]).toEqual([path, [heading]])
    }
    expect(requests.filter(({ path }) => BLOCKED.test(path.replace(/\?.*/, '')))).toEqual([])
    expect(requests.filter(({ path }) => path.startsWith('/admin/v1/figures/')).length).toBeGreaterThan(3)
    expect(complaints).toEqual([])
    await page.context().close()
  })

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
