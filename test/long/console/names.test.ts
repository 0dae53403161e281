/** Ids and names that look like others, or like nothing. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, openPalette, watchAnswers } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()

/** Turns the text after it from right to left. */
const TO_LEFT = '\u202e'
const IDS = ['twin', 'twin ', ' twin', 'a  b', 'a / b', 'a/ b', 'twin\u200b', 'a%20', 'twin\u00a0']

/** Keys with names of which nothing can be seen, or that turn the text around them, and what the console says. */
const NAMES = [
  ['unseen', '\u200b\u3164', 'unseen'],
  ['turned', `${TO_LEFT}ada`, '\u2068ada\u2069'],
  // The address of a form, if it were in a path.
  ['new', 'Fresh', 'Fresh'],
] as const

/** Things that people name, with the page that lists them, and what else a new one has. */
const THINGS = [
  { one: 'metric', list: '/metrics', more: {} },
  { one: 'points system', list: '/points', more: {} },
  { one: 'level', list: '/points/demo-xp/levels', at: '/points/demo-xp', more: { points: 7654 } },
  {
    one: 'boost',
    list: '/points/demo-xp/boosts',
    at: '/points/demo-xp',
    more: { multiplier: 2, start: '2082-06-10' },
  },
  { one: 'achievement', list: '/achievements', more: { trigger: 'api' } },
  { one: 'leaderboard', list: '/leaderboards', more: { rankBy: 'streak', status: 'inactive' } },
  { one: 'attribute', list: '/attributes', more: { type: 'user' } },
].map((thing) => ({ at: thing.list, ...thing }))

describe.skipIf(!hasBrowser)('names and ids', () => {
  let page: Page
  let answered: () => Promise<void>
  let complaints: string[]
  beforeAll(async () => {
    for (const [nth, id] of IDS.entries()) {
      const { status } = await world.ask('POST', '/v1/users', { id, name: `Twin ${nth}` })
      expect([id, status]).toEqual([id, 201])
    }
    ;({ page, complaints } = await world.signedIn())
    answered = watchAnswers(page)
  })

  /** The page of a user has the name, and the whole id below it. */
  async function expectUser(nth: number) {
    await page.getByRole('heading', { level: 1, name: `Twin ${nth}` }).waitFor()
    expect(await page.getByRole('main').locator('code').first().textContent()).toBe(IDS[nth])
  }

  it('[U1] lead from each list to the user with exactly this id', async () => {
    for (const nth of IDS.keys()) {
      await world.open(page, `/users?search=${encodeURIComponent(`Twin ${nth}`)}`)
      await page.getByRole('link', { name: `Twin ${nth}` }).click()
      await expectUser(nth)
      await page.reload()
      await expectUser(nth)
      await page.getByRole('tab', { name: 'Preferences' }).click()
      await page.getByText('The user has a streak').waitFor()
      await page.getByRole('tab', { name: 'Summary' }).click()
      await expectUser(nth)
      await page.getByRole('link', { name: 'Edit' }).click()
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await expectUser(nth)
      await openPalette(page)
      await page.keyboard.type(`Twin ${nth}`)
      await page.getByRole('option', { name: `Twin ${nth}` }).click()
      await expectUser(nth)
    }
    expect(complaints.splice(0)).toEqual([])
  })

  it('in an address stay as they are written', async () => {
    for (const text of ['123456789012345678', '1e5', '1.0', '007', 'true']) {
      await world.open(page, `/users?search=${text}`)
      expect(await page.getByLabel('Search users').inputValue()).toBe(text)
    }
  })

  it('that cannot be seen are the id instead', async () => {
    await world.ask('POST', '/v1/users', { id: 'invisible', name: `${TO_LEFT}\u200b` })
    await world.open(page, '/users?search=invisible')
    await page.getByRole('link', { name: 'invisible' }).click()
    await page.getByRole('heading', { level: 1, name: 'invisible' }).waitFor()
  })

  it.each(THINGS)(
    'of a $one neither turn nor empty what is said of it: $list',
    async ({ one, list, at, more }) => {
      for (const [key, name, said] of NAMES) {
        // Where it stands alone, a name is as it was given.
        const alone = new RegExp(`${said.replace(/[\u2068\u2069]/g, '')}$`)
        const { body } = await world.ask('POST', `/admin/v1${list}`, [{ name, key, ...more }])
        expect([list, body.issues]).toEqual([list, []])
        await world.open(page, at)
        await page.getByRole('link', { name: alone }).click()
        // What is within something else opens beside its page.
        const place = at === list ? page.getByRole('main') : page.getByRole('dialog')
        await place.getByRole('heading', { name: alone }).waitFor()
        await place.getByText('Edit', { exact: true }).click()
        await page.getByRole('dialog', { name: `Edit ${said}`, exact: true }).waitFor()
        await page.getByRole('button', { name: 'Save changes' }).click()
        await page.getByText(`The ${one} “${said}” was saved`, { exact: true }).waitFor()
        if (at !== list) await page.getByRole('link', { name: alone }).click()
        await place.getByRole('button', { name: 'Delete' }).click()
        const question = page.getByRole('alertdialog')
        await question.getByRole('heading', { name: `Delete ${said}?`, exact: true }).waitFor()
        // Else the page and the question could still ask for parts of what is deleted next.
        await answered()
        await question.getByRole('button', { name: 'Confirm: delete' }).click()
        await page.getByText(`The ${one} “${said}” was deleted`, { exact: true }).waitFor()
      }
      expect(complaints.splice(0)).toEqual([])
    },
  )

  it('of a key neither turn nor empty what is said of it', async () => {
    for (const [, name, said] of NAMES) {
      const { body } = await world.ask('POST', '/admin/v1/admin-api-keys', [{ name }])
      const shown = said === 'unseen' ? body.created[0].prefix : said
      await world.open(page, '/api-keys')
      await page
        .getByRole('row', { name: body.created[0].prefix })
        .getByRole('button', { name: 'Delete' })
        .click()
      const question = page.getByRole('alertdialog')
      await question.getByRole('heading', { name: `Delete the key ${shown}?`, exact: true }).waitFor()
      await question.getByRole('button', { name: 'Confirm: delete key' }).click()
      await page.getByText(`The key “${shown}” was deleted`, { exact: true }).waitFor()
    }
  })
})

describe.skipIf(!hasBrowser)('numbers', () => {
  it.each(['de-DE', 'en-US'])('are taken and shown as the language writes them: %s', async (locale) => {
    const { page, complaints } = await world.signedIn({ locale })
    const [given, other] = locale === 'de-DE' ? ['1,5', '1,50.0'] : ['1.5', '1,5']
    await world.open(page, '/points/demo-xp?open=boosts.new')
    const form = page.getByRole('dialog')
    await form.getByLabel('Name').fill(`Weekend ${locale}`)
    await form.getByLabel('Start').fill('2082-06-10')
    await form.getByLabel('Multiplier').fill(other)
    await form.getByText('Correct the fields to see what happens.').waitFor()
    await form.getByLabel('Multiplier').fill(given)
    await form.getByText(`get ${given} times the XP`).waitFor()
    await form.getByRole('button', { name: 'Create boost' }).click()
    await page
      .getByRole('cell', { name: `× ${given}` })
      .first()
      .waitFor()
    await page.getByRole('link', { name: `Weekend ${locale}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Edit' }).click()
    expect(await page.getByLabel('Multiplier').inputValue()).toBe(given)
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it.each(['ar-EG', 'th-TH', 'fa-IR'])(
    'and dates have the digits and the calendar of fields: %s',
    async (locale) => {
      const { page } = await world.signedIn({ locale })
      await world.open(page, '/users/demo-ada')
      const text = (await page.getByRole('main').textContent()) ?? ''
      expect(text).toContain('2082')
      expect(text).not.toMatch(/(?![0-9])\p{Nd}|2625/u)
      await page.context().close()
    },
  )
})

describe.skipIf(!hasBrowser)('equal gains in a row', () => {
  it('[X2] are one entry of the timeline, which opens', async () => {
    const { page, complaints } = await world.signedIn()
    await world.ask('POST', '/admin/v1/metrics', [{ name: 'Steps', key: 'steps' }])
    await world.ask('POST', '/admin/v1/points', [{ name: 'Coins', key: 'step-coins' }])
    const trigger = { type: 'metric', metricKey: 'steps', metricThreshold: 1, points: 2, status: 'active' }
    const made = await world.ask('POST', '/admin/v1/points/step-coins/triggers', [trigger])
    expect(made.body.issues).toEqual([])
    for (let nth = 0; nth < 4; nth += 1)
      await world.ask('POST', '/v1/metrics/steps/event', { user: { id: 'walker' }, value: 1 })
    await world.open(page, '/users/walker/timeline?type=award')
    const together = page.getByText('+8 Coins in 4 steps')
    await together.waitFor()
    expect(await page.getByRole('button', { name: 'Why these 2 points?' }).count()).toBe(0)
    await together.click()
    await page.getByRole('button', { name: 'Why these 2 points?' }).nth(3).click()
    await page.getByRole('dialog', { name: 'Why +2 Coins?' }).waitFor()
    // An event by itself can be voided, by a link that is no louder than the event.
    await world.open(page, '/users/walker/timeline?type=event')
    expect(await page.getByRole('button', { name: 'Void this event' }).count()).toBe(4)
    expect(complaints).toEqual([])
    await page.context().close()
  })
})
