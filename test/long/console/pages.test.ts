/** All pages of the console, and all that opens on them, in both themes and sizes. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible, hasBrowser, settled, watchAnswers } from '../../helpers/console/browser'
import { FORMS, MAIN_PAGES, OTHER_PAGES } from '../../helpers/console/pages'
import { ATTACK, sharedWorld } from '../../helpers/console/world'
import { words } from '../../helpers/words'

const world = sharedWorld()
/** The frame around all pages asks this. */
const ENVIRONMENTS = '/admin/v1/environments'
/** Ad blockers with lists such as EasyPrivacy stop requests to addresses with these words. */
const BLOCKED =
  /analytics|telemetry|beacon|pixel|counter|(?:send|page|client)-?event|track(?:er|ing)?[./?-]|stats?[./?-]/i
/** The id of an event in the timeline of `opened`. */
let eventId: string

beforeAll(async () => {
  if (!hasBrowser) return
  const { body } = await world.ask('POST', '/v1/metrics/demo-lessons/event', {
    user: { id: 'opened' },
    value: 3,
  })
  eventId = body.eventId
  await world.ask('POST', '/v1/users', {
    id: 'strange',
    name: `${ATTACK}${'Wolfeschlegelsteinhausen'.repeat(9)}`,
  })
})

const VARIANTS = [
  { scheme: 'light', isPhone: false },
  { scheme: 'dark', isPhone: false },
  { scheme: 'light', isPhone: true },
  { scheme: 'dark', isPhone: true },
] as const

const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click()
const submit = (name: string) => async (page: Page) => {
  await press(name)(page)
  await page.getByRole('alert').first().waitFor()
}

/** Dialogs, menus and messages: the address of the page, and the steps that open them. */
const opened = (): { name: string; path: string; act?: (page: Page) => Promise<unknown> }[] => [
  ...FORMS.map(({ path, opens, submit: name }) => ({
    name: `the faults of ${opens}`,
    path,
    act: async (page: Page) => {
      await press(opens)(page)
      await page.getByRole('dialog').waitFor()
      // A choice without a chosen item, or a text that is missing.
      await submit(name)(page)
    },
  })),
  { name: 'the actions', path: '/users/opened', act: press('Actions') },
  ...['freeze', 'pause', 'restore', 'erase'].map((action) => ({
    name: action,
    path: `/users/opened?action=${action}`,
  })),
  { name: 'the fault of a restore', path: '/users/opened?action=restore', act: submit('Confirm: restore') },
  { name: 'an explanation', path: '/users/opened/timeline', act: press(/^Why /) },
  { name: 'the form to void', path: `/users/opened/timeline?void=${eventId}` },
  { name: 'the question of an achievement', path: '/users/opened/achievements', act: press(/^Complete /) },
  { name: 'a long name', path: '/users/strange' },
  { name: 'a search without a result', path: '/users?search=no-such-user' },
  { name: 'no such user', path: '/users/no-such-user' },
  { name: 'no such metric', path: '/metrics/no-such-metric' },
  { name: 'no such page', path: '/no/such/page' },
  { name: 'a question before a removal', path: '/metrics/demo-lessons', act: press('Delete') },
  {
    name: 'a message',
    path: '/settings',
    act: async (page) => {
      await press('Save changes')(page)
      await page.getByText('The settings were saved').first().waitFor()
    },
  },
  {
    name: 'a chart as a table',
    path: '/',
    act: async (page) => page.getByText('Show as a table').first().click(),
  },
  {
    name: 'an entry of the audit log',
    path: '/audit-log',
    act: async (page) => page.getByRole('main').getByRole('row').nth(1).getByRole('link').click(),
  },
  { name: 'the command palette', path: '/', act: (page) => page.keyboard.press('Control+k') },
]

/** More users than any list shows at once. */
const MANY = 500
/** Besides the pages of the navigation, those of which more users make more. No user fits the last one. */
const GROWING = words`
  /users?search=a /users?search=no-such-user /users/demo-ada /users/demo-ada/timeline
  /users/demo-ada/achievements /metrics/demo-lessons /points/demo-xp /leaderboards/demo-weekly-xp
`

describe.skipIf(!hasBrowser)('the pages of the console', () => {
  it.each(VARIANTS)(
    'have one heading, no faults that axe finds, and fit the screen: $scheme, phone: $isPhone',
    async (options) => {
      const { page, complaints } = await world.signedIn(options)
      for (const { path, heading } of [...MAIN_PAGES, ...OTHER_PAGES]) {
        await world.open(page, path)
        expect([path, await page.locator('h1').allTextContents()]).toEqual([path, [heading]])
        expect(await page.title()).toBe(`${heading} · Laurel`)
        await expectAccessible(page, path)
        expect([path, await overflowOf(page)]).toEqual([path, 0])
      }
      expect(complaints).toEqual([])
      await page.context().close()
    },
  )

  it.each(VARIANTS)(
    'open dialogs, menus and messages without such faults: $scheme, phone: $isPhone',
    async (options) => {
      const { page, complaints } = await world.signedIn(options)
      for (const { name, path, act } of opened()) {
        await world.open(page, path)
        await act?.(page)
        await settled(page)
        await expectAccessible(page, name)
        expect([name, await overflowOf(page)]).toEqual([name, 0])
      }
      if (options.isPhone) {
        await world.open(page, '/')
        await press('Menu')(page)
        await page.getByRole('navigation', { name: 'Main' }).waitFor()
        await expectAccessible(page, 'the menu')
      }
      expect(complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([])
      await page.context().close()
    },
  )

  it('show with aria-busy that they are loading, have their heading from the start, and nothing jumps', async () => {
    const { page } = await world.signedIn()
    await page.addInitScript(`
      shift = 0
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shift += value
      }).observe({ type: 'layout-shift', buffered: true })`)
    for (const { heading, path } of MAIN_PAGES) {
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      await page.route(/\/(?:v1|api)\//, async (route) => {
        await held
        await route.continue()
      })
      await page.goto(`${world.server.url}/console${path}`)
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      await page.getByRole('main').locator('[aria-busy="true"]').first().waitFor()
      release()
      await settled(page)
      // Two frames later, everything has been painted and counted.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      const shift = Number(await page.evaluate('shift'))
      // Below 0.1 counts as good (Web Vitals). A list may be shorter than its place.
      expect([path, shift < 0.05 ? 'steady' : shift]).toEqual([path, 'steady'])
      await page.unroute(/\/(?:v1|api)\//)
    }
    await page.context().close()
  })

  it('[G14] ask once for what they show: few requests, none that ad blockers stop, and no list without a limit', async () => {
    const { page, requests } = await world.signedIn()
    const isBlocked = (one: { path: string }) => BLOCKED.test(one.path.replace(/\?.*/, ''))
    let figures = 0
    const lists = new Set<string>()
    page.on('response', async (response) => {
      if (!/\/(?:v1|api)\//.test(response.url())) return
      const answer: unknown = await response.json().catch(() => null)
      if (Array.isArray(answer)) lists.add(response.url().slice(world.server.url.length))
    })
    for (const { path } of [...MAIN_PAGES, ...OTHER_PAGES]) {
      expect(requests.splice(0).filter(isBlocked)).toEqual([])
      await world.open(page, path)
      const asked = requests.filter((one) => /\/(?:v1|api)\//.test(one.path)).map((one) => one.path)
      expect([path, asked.filter((one, nth) => asked.indexOf(one) !== nth)]).toEqual([path, []])
      // On the host ADMIN_HOST, that is the admin interface (G1).
      expect([path, asked.filter((one) => one.startsWith('/v1/'))]).toEqual([path, []])
      const own = asked.filter((one) => one !== ENVIRONMENTS)
      expect([path, own.length <= 12 ? 'few' : own]).toEqual([path, 'few'])
      figures += asked.filter((one) => one.startsWith('/admin/v1/figures/')).length
    }
    expect(requests.filter(isBlocked)).toEqual([])
    expect(figures).toBeGreaterThan(3)
    expect(lists.size).toBeGreaterThan(10)
    // The achievements of a user and the environment have no pages. Neither do the databases, if there are several.
    const whole = [ENVIRONMENTS, '/api/users/demo-ada/achievements?includeIncomplete=true']
    if (process.env.TEST_DATABASES !== undefined) whole.push('/admin/v1/databases')
    expect([...lists].filter((path) => !/[?&]limit=\d/.test(path)).toSorted()).toEqual(whole.toSorted())
    await page.context().close()
  })

  it('ask for the same number of answers with many users as with few', async () => {
    const { page, requests } = await world.signedIn()
    const answered = watchAnswers(page)
    const numbersOfAnswers = async () => {
      const numbers: Record<string, number> = {}
      for (const path of [...MAIN_PAGES.map((one) => one.path), ...GROWING]) {
        requests.splice(0)
        await world.open(page, path)
        await answered()
        numbers[path] = requests.filter((one) => /\/(?:v1|api)\//.test(one.path)).length
      }
      return numbers
    }
    const few = await numbersOfAnswers()
    expect(few['/users']).toBeGreaterThan(0)
    const events = Array.from({ length: MANY }, (_, nth) => ({
      key: 'demo-lessons',
      user: { id: `many-${nth}`, name: `Many ${nth}` },
      value: 1 + (nth % 50),
    }))
    const { status } = await world.ask('POST', '/admin/v1/metrics/events', events)
    expect(status).toBe(202)
    // Events of a batch are stored after the answer.
    await expect
      .poll(() => world.ask('GET', `/v1/users/many-${MANY - 1}`), { timeout: 60_000 })
      .toMatchObject({ status: 200 })
    expect(await numbersOfAnswers()).toEqual(few)
    await page.context().close()
  })
})

/** By how much the content is wider than the screen, in pixels. */
const overflowOf = (page: Page) =>
  page.locator('#content').evaluate((main) => main.scrollWidth - main.clientWidth)
