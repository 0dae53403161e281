/** Two tabs, or two people, change the same thing: nobody overwrites what they have not seen. */
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdWrites } from '../../helpers/console/adversary'
import { hasBrowser } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()
let page: Page
let other: Page

beforeEach(async () => {
  if (!hasBrowser) return
  ;({ page } = await world.signedIn())
  ;({ page: other } = await world.signedIn())
  for (const one of [page, other]) one.setDefaultTimeout(7000)
})
afterEach(async () => {
  await page?.context().close()
  await other?.context().close()
})

const button = (name: string, on = page) => on.getByRole('button', { name, exact: true })
const field = (label: string, on = page) => on.getByLabel(label, { exact: true })
const changes = () => page.getByRole('region', { name: 'Changed meanwhile' })
const message = (text: string | RegExp, on = page) =>
  on.getByRole('region', { name: 'Messages' }).getByText(text).first()
const stored = async (path: string) => (await world.ask('GET', `/admin/v1${path}`)).body
const change = (path: string, body: unknown) => world.ask('PATCH', `/admin/v1${path}`, body)

async function save(on = page) {
  await button('Save changes', on).click()
  await message(/(was|were) saved/, on).waitFor()
}

/** Begins to change the metric of minutes in one tab, and then another one changes and saves it. */
async function bothChange(mine: string, theirs: string) {
  await world.open(page, METRIC)
  await world.open(other, METRIC)
  await enter(page, 'Name', mine)
  await enter(other, 'Name', theirs)
  await save(other)
}
const LOW = { width: 844, height: 390 }
const METRIC = '/metrics/demo-minutes/edit'

/** Fills a field in, or chooses the value of a list. */
async function enter(on: Page, label: string, value: string) {
  const control = field(label, on)
  if ((await control.and(on.locator('select')).count()) > 0) await control.selectOption(value)
  else await control.fill(value)
}

type Field = readonly [label: string, value: string, nameInService: string]

/** A form, a field for which two people have two values, and another one that only one of them changes. */
type Kind = { api: string; both: Field; theirs: string; also: Field; form: string }

/** By default, the form has the address of the item. */
const kind = (api: string, both: Field, theirs: string, also: Field, form = `${api}/edit`): Kind => ({
  ...{ api, both, theirs, also, form },
})

const [NAME, THEIRS] = [['Name', 'Mine', 'name'] as const, 'Theirs']
const TITLE = ['Title', 'Mine', 'title'] as const
const ADDRESS = ['Address', 'https://example.com/mine', 'url'] as const
const APP = ['Name of the app', 'Mine', 'branding.appName'] as const
const FREEZES = ['Freezes at most', '3', 'freezes.maxCount'] as const
const XP = '/points/demo-xp'
const PUSH = '/achievement_completed-push'
/** `KEY` and `ID` stand for the first item of the list that `api` then is. */
const KINDS: readonly Kind[] = [
  kind('/metrics/demo-minutes', NAME, THEIRS, ['Units', 'hours', 'units']),
  kind('/points/demo-coins', NAME, THEIRS, ['Description', 'Money', 'description']),
  kind(
    `${XP}/levels/demo-legend`,
    NAME,
    THEIRS,
    ['Points', '900000', 'points'],
    `${XP}?open=levels.demo-legend.edit`,
  ),
  kind(`${XP}/boosts`, NAME, THEIRS, ['Multiplier', '3', 'multiplier'], `${XP}?open=boosts.KEY.edit`),
  kind(
    `${XP}/triggers`,
    ['Points', '7', 'points'],
    '8',
    ['Status', 'inactive', 'status'],
    `${XP}?open=triggers.KEY.edit`,
  ),
  kind('/achievements/demo-ten-hours', NAME, THEIRS, ['Value', '500', 'metricValue']),
  kind('/leaderboards/demo-sprint', NAME, THEIRS, ['Key', 'dash', 'key']),
  kind('/attributes', NAME, THEIRS, ['Set by', 'admin', 'writableBy'], '/attributes/ID/edit'),
  kind(
    '/webhooks',
    ADDRESS,
    'https://example.com/theirs?key=1',
    ['Key', 'hook', 'key'],
    '/webhooks/KEY/edit',
  ),
  kind(
    `/notifications/templates${PUSH}`,
    TITLE,
    THEIRS,
    ['Body', 'Well done', 'body'],
    `/notifications${PUSH}/edit`,
  ),
  kind('/settings', APP, THEIRS, ['Colour', '#000000', 'branding.brandColor'], '/settings'),
  kind('/streaks/settings', FREEZES, '4', ['Freezes of a new user', '2', 'freezes.startCount'], '/streaks'),
]

const at = (item: object, path: string) =>
  String(path.split('.').reduce<unknown>((found, part) => Object(found)[part], item))

/** The addresses of a kind. */
async function addressesOf({ form, api }: Kind) {
  if (!/KEY|ID/.test(form)) return { form, api: (id = api) => id }
  const [{ id, key }] = await stored(`${api}?limit=1`)
  return { form: form.replace('KEY', key).replace('ID', id), api: () => `${api}/${id}` }
}

describe.skipIf(!hasBrowser)('two tabs', () => {
  it.each(KINDS)('[G15] never overwrite each other: $form', async (one) => {
    const { both, theirs, also } = one
    const [label, mine, name] = both
    const { form, api } = await addressesOf(one)
    const { id } = await stored(api())
    const now = async (path: string) =>
      at(await stored(id === undefined ? api() : api().replace(/[^/]+$/, id)), path)
    await world.open(page, form)
    await world.open(other, form)
    await enter(page, label, mine)
    await enter(other, label, theirs)
    await enter(other, also[0], also[1])
    await save(other)
    if (also[2] === 'key') await other.waitForURL(new RegExp(`/${also[1]}$`))

    await button('Save changes').dblclick()
    await page.getByText('Nothing was done: it was changed meanwhile.').waitFor()
    expect([await now(name), await now(also[2])]).toEqual([theirs, also[1]])
    const shown = changes().getByRole('group', { name: label, exact: true })
    for (const text of [mine, theirs, /ADMIN_API_KEY, .*\d/])
      await shown.getByText(text, { exact: true }).waitFor()
    expect(await field(label).inputValue()).toBe(mine)

    await changes()
      .getByRole('button', { name: `Take the new value: ${also[0]}` })
      .click()
    expect(await field(also[0]).inputValue()).toBe(also[1])
    await changes().getByRole('group', { name: also[0], exact: true }).waitFor({ state: 'detached' })
    await button('Save over it').click()
    await message(/(was|were) saved/).waitFor()
    expect([await now(name), await now(also[2])]).toEqual([mine, also[1]])
  })

  it('[G15] show what was changed at once if a form is restored after a reload', async () => {
    await bothChange('Mine 2', 'Theirs 2')
    await page.reload()
    await page.getByText('Your entries from before are back.').waitFor()
    for (const text of ['Mine 2', 'Theirs 2', /^ADMIN_API_KEY, /])
      await changes().getByText(text, { exact: true }).waitFor()
    expect(await field('Name').inputValue()).toBe('Mine 2')
    await button('Save over it').click()
    await message('was saved').waitFor()
    expect((await stored('/metrics/demo-minutes')).name).toBe('Mine 2')
  })

  it('[G15] tell about a form that was left, and lead back to the entries', async () => {
    await world.open(page, METRIC)
    await enter(page, 'Name', 'Mine 3')
    const held = await holdWrites(page, world.server.url)
    await button('Save changes').click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await change('/metrics', [{ key: 'demo-minutes', name: 'Theirs 3' }])
    await held.release('passes')
    await message('The metric “Mine 3” was not saved').waitFor()
    await message('Nothing was done: it was changed meanwhile.').waitFor()
    await button('Back to the entries').click()
    await changes().getByText('Theirs 3', { exact: true }).waitFor()
    expect(await field('Name').inputValue()).toBe('Mine 3')
    await changes().getByRole('button', { name: 'Take the new value: Name' }).click()
    await changes().waitFor({ state: 'detached' })
    await button('Cancel').click()
  })

  it.each([
    ['that was lost', 'Mine 4', 'Mine 4'],
    ['that was lost, and after which another tab has changed it', 'Mine 5', 'Theirs 5'],
  ])('[G15] a write is sent again after an answer %s', async (_name, mine, now) => {
    await world.open(page, METRIC)
    const isChanged = now !== mine
    let writes = 0
    await page.route('**/admin/v1/metrics', async (route) => {
      if (route.request().method() !== 'PATCH') return route.fallback()
      writes += 1
      if (writes > 1) return route.fallback()
      await route.fetch()
      if (isChanged) await change('/metrics', [{ key: 'demo-minutes', name: now }])
      await route.abort('connectionreset')
    })
    await enter(page, 'Name', mine)
    await button('Save changes').click()
    if (isChanged) await changes().getByText(now, { exact: true }).waitFor()
    else await message(`The metric “${mine}” was saved`).waitFor()
    expect((await stored('/metrics/demo-minutes')).name).toBe(now)
    expect(writes).toBeGreaterThan(1)
  })

  it('[G15] keep the entries if the other one has deleted it', async () => {
    await world.ask('POST', '/admin/v1/metrics', [{ name: 'Pages', key: 'pages' }])
    await world.open(page, '/metrics/pages/edit')
    await enter(page, 'Name', 'Leaves')
    await world.ask('DELETE', '/admin/v1/metrics?keys=pages')
    await button('Save changes').click()
    await page.getByText('Nothing was done: it was deleted meanwhile.').waitFor()
    expect(await field('Name').inputValue()).toBe('Leaves')
    await button('Cancel').click()
    await world.open(page, '/metrics/pages')
    await page.getByText('There is no metric with this key').waitFor()
  })

  it.each([
    ['/achievements/demo-profile', 'achievements', ['Lock']],
    ['/leaderboards/demo-all-time', 'leaderboards', ['Finish', 'Confirm: finish']],
    ['/metrics/demo-lessons', 'metrics', ['Delete', 'Confirm: delete']],
  ])(
    '[G15] an action says what was changed before it is done: %s',
    async (path, list, [first = '', confirm = first]) => {
      await world.open(page, path)
      const before = await stored(path)
      await page.setViewportSize(LOW)
      await button(first).and(page.locator(':enabled')).waitFor()
      if (confirm !== first) await button(first).click()
      await change(`/${list}`, [{ id: before.id, name: 'Keep this' }])
      await button(confirm).dblclick()
      const told = page.getByText(`Name: before “${before.name}”, now “Keep this” (ADMIN_API_KEY,`).first()
      // A question shows it above its buttons, also in a low window.
      const lowest = confirm === first ? LOW.height : LOW.height - 64
      await expect.poll(async () => (await told.boundingBox())?.y).toBeLessThan(lowest)
      expect(await stored(path)).toEqual({ ...before, name: 'Keep this' })
      await button(confirm).click()
      await message(/was (locked|finished|deleted)/).waitFor()
      expect(await stored(path)).not.toMatchObject({ status: before.status ?? '', name: 'Keep this' })
    },
  )
})
