/** Writes outlive their forms: slow, failing and lost answers, sessions that end, presses that come twice. */
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdWrites, NAMES } from '../../helpers/console/adversary'
import { hasBrowser } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()
let page: Page

beforeEach(async () => {
  if (!hasBrowser) return
  ;({ page } = await world.signedIn())
  page.setDefaultTimeout(7000)
})
afterEach(() => page?.context().close())

const hold = () => holdWrites(page, world.server.url)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const follow = (name: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()
const form = (name: string) => page.getByRole('dialog', { name, exact: true })
const message = (text: string | RegExp) =>
  page.getByRole('region', { name: 'Messages' }).getByText(text).first()
const stored = async (path: string) => (await world.ask('GET', `/admin/v1${path}`)).body
const isAskedBeforeReload = () =>
  page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))")

/** Begins a new metric: its form is open, with a name. */
async function begin(name: string) {
  await world.open(page, '/metrics/new')
  await form('New metric').getByLabel('Name').fill(name)
}

/** Closes the form, which does not ask, and begins an achievement on another page. */
async function leave() {
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await follow('Achievements')
  await button('New achievement').click()
  await form('New achievement').getByLabel('Name').fill('Half')
}

/** The achievement that `leave` has begun is as it was. */
async function staysThere() {
  expect(page.url()).toBe(`${world.server.url}/console/achievements/new`)
  expect(await form('New achievement').getByLabel('Name').inputValue()).toBe('Half')
}

describe.skipIf(!hasBrowser)('a write', () => {
  it('is shown as saved only when it is, and its answer moves nobody', async () => {
    await world.open(page, '/metrics/demo-minutes/edit')
    const held = await hold()
    await page.getByLabel('Name').fill('Quarters')
    await button('Save changes').click()
    await button('Saving…').waitFor()
    expect(await page.getByRole('heading', { level: 1, name: 'Quarters', includeHidden: true }).count()).toBe(
      0,
    )
    expect(await isAskedBeforeReload()).toBe(true)
    await leave()
    await held.release('passes')
    await message('The metric “Quarters” was saved').waitFor()
    await staysThere()

    await begin('Hours')
    const second = await hold()
    await button('Create metric').click()
    await leave()
    await second.release('passes')
    await message('The metric “Hours” was created').waitFor()
    await staysThere()
    expect(await stored('/metrics/hours')).toMatchObject({ name: 'Hours' })
  })

  it.each([
    ['is refused', 'The metric “Pages” was not created', /is not wanted\. Choose another one\./i],
    [
      'is refused in a 200',
      'The metric “Pages” was not created',
      'The name is not wanted. Choose another one.',
    ],
    ['must wait for an hour', 'The metric “Pages” was not created', 'Too many requests. Try again later.'],
    ['fails', 'It is not known whether the metric “Pages” was created', 'Something failed.'],
    ['lost', 'It is not known whether the metric “Pages” was created', 'There was no answer of the server.'],
  ] as const)('that %s after people left its form leads back to the entries', async (fault, told, why) => {
    await begin('Pages')
    const held = await hold()
    await button('Create metric').click()
    await leave()
    const end = await held.release(fault)
    await end()
    await message(told).waitFor()
    await message(why).waitFor()
    await staysThere()
    await button('Back to the entries').click()
    await form('New metric').getByText(why).first().waitFor()
    expect(await form('New metric').getByLabel('Name').inputValue()).toBe('Pages')
    // It follows the name, which nobody has changed.
    expect(await form('New metric').getByLabel('Key').inputValue()).toBe('pages')
    // Nothing else was lost on the way.
    await world.open(page, '/achievements/new')
    await staysThere()
    if (fault === 'lost') await world.ask('DELETE', '/admin/v1/metrics?keys=pages')
  })

  it('that was asked for twice at once is done once, and not the opposite of it', async () => {
    await world.open(page, '/leaderboards/demo-all-time')
    const requests: string[] = []
    page.on('request', (request) => request.method() === 'PATCH' && requests.push(request.url()))
    await page.locator('h1 + *', { hasText: /^active$/ }).waitFor()
    // Somebody presses again just as the button turns into its opposite.
    await page.evaluate(`new MutationObserver(() => {
      for (const one of document.querySelectorAll('main button')) if (one.textContent === 'Activate') one.click()
    }).observe(document.body, { childList: true, subtree: true, characterData: true })`)
    const { x, y, width, height } = (await button('Deactivate').boundingBox()) ?? Object(null)
    await page.mouse.dblclick(x + width / 2, y + height / 2, { delay: 60 })
    await page.locator('h1 + *', { hasText: /^inactive$/ }).waitFor()
    await button('Activate').and(page.locator(':enabled')).waitFor()
    expect(requests).toHaveLength(1)
  })

  it('of an action that is refused says why, with the name of the item', async () => {
    for (const [path, press, told] of [
      ['/achievements/demo-first-lesson', ['Lock'], 'The achievement “First lesson” was not locked'],
      ['/leaderboards/demo-weekly-xp', ['Delete', 'Confirm: delete'], 'Delete XP this week?'],
    ] as const) {
      await world.open(page, path)
      const held = await hold()
      for (const name of press) await button(name).click()
      const end = await held.release('is refused in a 200')
      await end()
      await page.getByText(told).first().waitFor()
      await page.getByText('The name is not wanted. Choose another one.').first().waitFor()
    }
  })
})

describe.skipIf(!hasBrowser)('entries', () => {
  it('survive the end of the session and a reload, until people drop them', async () => {
    const { body } = await world.ask('POST', '/admin/v1/admin-api-keys', [{ name: 'Of a test' }])
    const [{ id, key }] = body.created
    await page.context().close()
    ;({ page } = await world.page())
    const enter = async (with_: string) => {
      await page.getByLabel('Admin API key').fill(with_)
      await button('Sign in').click()
    }
    await page.goto(`${world.server.url}/console/notifications/new`)
    await enter(key)
    await page.getByLabel('Title').fill('Hello')
    await page.getByLabel('Body').fill('Come back')
    await page.locator('form p').getByText('Come back', { exact: true }).waitFor()
    await world.ask('DELETE', `/admin/v1/admin-api-keys?ids=${id}`)
    // The preview asks as one types, and the answer ends the session.
    await page.keyboard.type('!')
    await page.getByText('Your key is no longer valid.').waitFor()
    await enter(world.server.adminKey)
    expect(await page.getByLabel('Title').inputValue()).toBe('Hello')
    expect(await page.getByLabel('Body').inputValue()).toMatch(/^Come back/)
    await page.reload()
    expect(await page.getByLabel('Title').inputValue()).toBe('Hello')

    await page.keyboard.press('Escape')
    const question = page.getByRole('alertdialog')
    await question.getByRole('button', { name: 'Keep editing' }).click()
    await question.waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await question.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await button('New template').click()
    expect(await page.getByLabel('Title').inputValue()).toBe('')
  })
})

/** A form that creates something with a name, and the list that has it afterwards. */
type Kind = {
  title: string
  path: string
  list: string
  /** The field with the name, and the others that must be filled in. */
  field: string
  others?: readonly (readonly [label: string, value: string])[]
  chosen?: readonly [label: string, value: string]
  nameOf?: (one: Record<string, unknown>) => unknown
}

const KINDS: readonly Kind[] = [
  { title: 'New metric', path: '/metrics/new', list: '/admin/v1/metrics', field: 'Name' },
  { title: 'New points system', path: '/points/new', list: '/admin/v1/points', field: 'Name' },
  {
    title: 'New level',
    path: '/points/demo-coins?open=levels.new',
    list: '/admin/v1/points/demo-coins/levels',
    field: 'Name',
    others: [['Points', '']],
  },
  {
    title: 'New boost',
    path: '/points/demo-coins?open=boosts.new',
    list: '/admin/v1/points/demo-coins/boosts',
    field: 'Name',
    others: [['Start', '2083-05-01']],
  },
  {
    title: 'New achievement',
    path: '/achievements/new',
    list: '/admin/v1/achievements',
    field: 'Name',
    chosen: ['Trigger', 'api'],
  },
  {
    title: 'New leaderboard',
    path: '/leaderboards/new',
    list: '/admin/v1/leaderboards',
    field: 'Name',
    chosen: ['Rank by', 'streak'],
  },
  { title: 'New attribute', path: '/attributes/new', list: '/admin/v1/attributes', field: 'Name' },
  {
    title: 'New webhook',
    path: '/webhooks/new',
    list: '/admin/v1/webhooks',
    field: 'Address',
    nameOf: ({ url }) => url,
  },
  { title: 'New admin key', path: '/api-keys/new-admin', list: '/admin/v1/admin-api-keys', field: 'Name' },
  {
    title: 'New application key',
    path: '/api-keys/new',
    list: '/admin/v1/application-api-keys',
    field: 'User id',
    nameOf: ({ userId }) => userId,
  },
  {
    title: 'New user',
    path: '/users/new',
    list: '/admin/v1/users',
    field: 'Id',
    nameOf: ({ id }) => id,
  },
]

const WAYS = ['stays', 'closes the form', 'goes elsewhere', 'presses twice', 'loads the page again'] as const

describe.skipIf(!hasBrowser)('from a seed', () => {
  /** What people were told about a name: null until they are told. */
  async function toldOf(name: string): Promise<'done' | 'not done' | 'not known' | null> {
    const shown = (await page.locator('body').innerText()).replaceAll('\n', ' ')
    if (new RegExp(`It is not known whether [^.]*${name}`).test(shown)) return 'not known'
    if (new RegExp(`${name}”? was not created`).test(shown)) return 'not done'
    if (new RegExp(`${name}”? was created`).test(shown)) return 'done'
    const alert = page.getByRole('dialog').getByRole('alert')
    return (await alert.count()) > 0 ? 'not done' : null
  }

  it('what the server holds is what people were told, and what was not done is still in its form', async () => {
    const cases = KINDS.flatMap((kind) => WAYS.map((way) => ({ kind, way })))
    // They follow from TEST_SEED, as all that fast-check makes.
    const drawn = fc.sample(fc.constantFrom(...NAMES), cases.length)
    const rounds = cases.map((one, nth) => ({ ...one, fault: drawn[nth] ?? 'passes' }))
    const found: string[] = []
    for (const [nth, { kind, way, fault }] of rounds.entries()) {
      const name = kind.field === 'Address' ? `https://example.com/r${nth}r` : `r${nth}r`
      const round = `${kind.title}: the person ${way}, the write ${fault}`
      await world.open(page, kind.path)
      const opened = form(kind.title)
      const first = opened.getByLabel(kind.field, { exact: true })
      await first.fill(name)
      for (const [label, value] of kind.others ?? [])
        await opened.getByLabel(label, { exact: true }).fill(value || String(1000 + nth))
      if (kind.chosen) await opened.getByLabel(kind.chosen[0], { exact: true }).selectOption(kind.chosen[1])
      const held = await hold()
      const submit = opened.locator('button[type=submit]')
      if (way === 'presses twice') await submit.dblclick({ delay: 30 })
      else await submit.click()
      await expect.poll(() => held.seen.length).toBeGreaterThan(0)
      if (way === 'closes the form' || way === 'goes elsewhere') {
        await page.keyboard.press('Escape')
        await opened.waitFor({ state: 'detached' })
      }
      if (way === 'goes elsewhere') await follow('Audit log')
      const isReloaded = way === 'loads the page again'
      if (isReloaded) await page.reload()
      await (await held.release(fault))()
      if (fault === 'finds the session ended' && !isReloaded) {
        await page.getByLabel('Admin API key').fill(world.server.adminKey)
        await button('Sign in').click()
      }
      await expect.poll(() => toldOf(name), { message: round, timeout: 20_000 }).not.toBe(null)
      const told = await toldOf(name)
      if (told === 'done') {
        // A secret is shown at once, or on demand.
        if (await button('Show it').isVisible()) await button('Show it').click()
        const secret = page.getByRole('dialog').getByRole('button', { name: 'Done' })
        if (/key|webhook/.test(kind.title)) await secret.click()
      } else {
        if (!(await first.isVisible())) await button('Back to the entries').or(button('Look')).last().click()
        expect([round, await first.inputValue()]).toEqual([round, name])
        await opened.getByRole('button', { name: 'Cancel' }).click()
        await opened.waitFor({ state: 'detached' })
      }
      expect([round, await isAskedBeforeReload()]).toEqual([round, false])
      const { body } = await world.ask('GET', `${kind.list}?limit=100`)
      const stored = Object.values(body).filter(
        (one) => (kind.nameOf ?? ((item: Record<string, unknown>) => item.name))(Object(one)) === name,
      ).length
      const allowed = { done: [1], 'not done': [0], 'not known': [0, 1] }[told ?? 'not known']
      if (!allowed.includes(stored)) found.push(`${round}: told ${told}, stored ${stored}`)
    }
    expect(found).toEqual([])
  })
})
