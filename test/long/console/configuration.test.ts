/** Configuration in a real browser: charts, rankings and writes of single items, and new items. */
import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectAccessible, hasBrowser, settled, type Watched } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()
let watched: Watched
let page: Page

beforeAll(async () => {
  // Two weeks of the weekly leaderboard, with other users in each.
  await sendLessons('first', 3)
  await sendLessons('second', 2)
  const by = { rankBy: 'metric', metricKey: 'demo-lessons', runUnit: 'day', runInterval: 7 }
  const item = { key: 'by-hand', name: 'Finished by hand', status: 'active', ...by }
  const { body } = await world.ask('POST', '/admin/v1/leaderboards', [item])
  await world.ask('PATCH', '/admin/v1/leaderboards', [{ id: body.created[0].id, status: 'finished' }])
  await world.ask('PUT', '/admin/v1/test-clock', { advance: 'P7D' })
  await sendLessons('third', 2)
  await sendLessons('fourth', 1)
  watched = await world.signedIn()
  page = watched.page
})
beforeEach(() => watched?.complaints.splice(0))

const sendLessons = (id: string, value: number) =>
  world.ask('POST', '/v1/metrics/demo-lessons/event', { user: { id, name: `User ${id}` }, value })
const sendMinutes = (id: string, plan: string) => {
  const user = { id, name: `User ${id}`, attributes: { 'demo-plan': plan } }
  return world.ask('POST', '/v1/metrics/demo-minutes/event', { user, value: 10 })
}

const open = (path: string) => world.open(page, path)

/** Reads something from the admin interface. */
const read = async (path: string) => (await world.ask('GET', `/admin/v1${path}`)).body

const card = (title: string) =>
  page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: title, exact: true }) })
    .last()

async function valuesOf(title: string): Promise<number[]> {
  await card(title).getByText('Show as a table').click()
  const cells = await card(title).getByRole('cell').allTextContents()
  return cells.map((text) => Number(text.replaceAll(',', '')))
}

/** The names of a table whose numbers are drawn as bars, each with its number. */
async function barsOf(label: string): Promise<[name: string, value: number][]> {
  const table = page.getByRole('table', { name: label })
  const names = await table.getByRole('rowheader').allTextContents()
  const values = await table.getByRole('cell').allTextContents()
  return names.map((name, nth) => [name, Number(values[nth])])
}

type Row = Record<string, number> & { byTrigger: Record<string, number>; byLevel: Record<string, number> }

/** The figures of an item from the interface. */
async function seriesOf(path: string): Promise<Row[]> {
  return (await world.ask('GET', `/admin/v1${path}/analytics`)).body.series
}

describe.skipIf(!hasBrowser)('charts', () => {
  it('[I2] the page of a metric shows its events, total and active users by day', async () => {
    const series = await seriesOf('/metrics/demo-lessons')
    expect(series.reduce((sum, { events = 0 }) => sum + events, 0)).toBeGreaterThan(3)
    await open('/metrics/demo-lessons')
    await card('Events')
      .getByRole('img', { name: /^Events by day, from / })
      .waitFor()
    expect(await valuesOf('Events')).toEqual(series.map(({ events }) => events))
    expect(await valuesOf('Total')).toEqual(series.map(({ total }) => total))
    expect(await valuesOf('Active users')).toEqual(series.map(({ activeUsers }) => activeUsers))
    await expectAccessible(page, 'a metric')

    await page.getByRole('button', { name: '7 days' }).click()
    await page.waitForURL(/days=7/)
    await settled(page)
    await page.reload()
    await settled(page)
    expect(await valuesOf('Events')).toEqual(series.slice(-7).map(({ events }) => events))
    expect(watched.complaints).toEqual([])
  })

  it('[I2] the page of a points system shows points by day, by trigger, and users by level', async () => {
    const series = await seriesOf('/points/demo-xp')
    await open('/points/demo-xp')
    expect(await valuesOf('Added')).toEqual(series.map(({ added }) => added))
    const lessons = series.reduce((sum, row) => sum + (row.byTrigger['metric-demo-lessons-1'] ?? 0), 0)
    expect(lessons).toBeGreaterThan(0)
    expect(await barsOf('XP by trigger')).toContainEqual(['10 XP for each lesson', lessons])
    const { byLevel } = series.at(-1) ?? { byLevel: {} }
    expect((await barsOf('Users by level')).map(([, users]) => users)).toEqual(Object.values(byLevel))
    expect(watched.complaints).toEqual([])
  })

  it('[I2] the pages of an achievement, a leaderboard and the streaks show their figures', async () => {
    await open('/achievements/demo-first-lesson')
    const completions = (await seriesOf('/achievements/demo-first-lesson')).map((row) => row.completions)
    expect(await valuesOf('Completions')).toEqual(completions)
    await open('/leaderboards/demo-weekly-xp')
    const participants = (await seriesOf('/leaderboards/demo-weekly-xp')).map((row) => row.participants)
    expect(await valuesOf('Participants')).toEqual(participants)
    await open('/streaks')
    const { streaks } = (await world.ask('GET', '/admin/v1/analytics/overview')).body
    const lengths = await barsOf('Users by the length of their streak')
    expect(lengths.map(([, users]) => users)).toEqual(streaks.map(({ users }: { users: number }) => users))
    expect(watched.complaints).toEqual([])
  })
})

describe.skipIf(!hasBrowser)('the rankings of a leaderboard', () => {
  const ranking = () => card('Rankings').getByRole('table')
  const names = () => ranking().getByRole('rowheader').allInnerTexts()

  it('[L9, Y1] move while one looks, and lead to the users', async () => {
    await open('/leaderboards/demo-weekly-xp')
    await card('Rankings').getByText('Live').waitFor()
    expect((await names()).map((name) => name.split('\n').at(-1))).toEqual(['User third', 'User fourth'])
    await expectAccessible(page, 'the rankings')
    await sendLessons('fourth', 2)
    await ranking().getByText('up 1').waitFor({ state: 'attached' })
    expect((await names())[0]).toContain('User fourth')
    await ranking().getByRole('link', { name: 'User fourth' }).click()
    await page.getByRole('heading', { level: 1, name: 'User fourth' }).waitFor()
    expect(watched.complaints).toEqual([])
  })

  it('[L2] show an earlier run, whose address can be sent to others', async () => {
    await open('/leaderboards/demo-weekly-xp')
    await page.getByLabel('Run').selectOption({ index: 1 })
    await ranking().getByText('User first').waitFor()
    expect(await ranking().getByText('User third').count()).toBe(0)
    expect(await card('Rankings').getByText('Live').count()).toBe(0)
    await page.reload()
    await ranking().getByText('User first').waitFor()
  })

  it('[L2, L7] have the dates of the run in which the leaderboard was finished by hand', async () => {
    const { body } = await world.ask('GET', '/v1/leaderboards/by-hand')
    const format = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
    await open('/leaderboards/by-hand')
    await ranking().getByText('User first').waitFor()
    const dates = await card('Rankings').locator('.laurel-detail').first().innerText()
    expect(dates).toContain(format.format(new Date(body.run.key)))
    expect(await page.getByLabel('Run').count(), 'runs to choose from').toBe(0)
  })

  it('[L9] offer more places only if there are more', async () => {
    for (let nth = 0; nth < 10; nth += 1) await sendMinutes(`of-ten-${nth}`, 'ten')
    const places = ranking().locator('tbody tr')
    const more = card('Rankings').getByRole('button', { name: 'Show the first 100' })
    await open('/leaderboards/demo-minutes-by-plan?group={"demo-plan":"ten"}')
    await expect.poll(() => places.count()).toBe(10)
    expect(await more.count()).toBe(0)
    await sendMinutes('of-ten-10', 'ten')
    await more.click()
    await expect.poll(() => places.count()).toBe(11)
  })

  it('[L6] show one group at a time', async () => {
    for (const plan of ['pro', 'free']) await sendMinutes(plan, plan)
    await open('/leaderboards/demo-minutes-by-plan')
    await card('Rankings').getByRole('radio', { name: /^pro/ }).check()
    await ranking().getByText('User pro').waitFor()
    expect(await ranking().getByText('User free').count()).toBe(0)
    await page.reload()
    await ranking().getByText('User pro').waitFor()
    await card('Rankings').getByRole('radio', { name: /^free/ }).check()
    await ranking().getByText('User free').waitFor()
  })
})

describe.skipIf(!hasBrowser)('writes', () => {
  it('[L7, L13, O1] a form says why a field is fixed', async () => {
    await open('/leaderboards/demo-pro-league/edit')
    expect(await page.getByLabel('Rank by').isDisabled()).toBe(true)
    expect(await page.getByLabel('Value 1').isDisabled()).toBe(true)
    await page.getByText('Deactivate the leaderboard to change it.').first().waitFor()
    await page.getByLabel('Status').selectOption('inactive')
    expect(await page.getByLabel('Rank by').isEnabled()).toBe(true)
    expect(await page.getByLabel('Value 1').inputValue()).toBe('pro')
    expect(await page.getByLabel('Value 1').isEnabled()).toBe(true)
    await expectAccessible(page, 'the form of a leaderboard')
    await open('/metrics/demo-lessons/edit')
    expect(await page.getByLabel('Key').isDisabled()).toBe(true)
  })
})

describe.skipIf(!hasBrowser)('new items', () => {
  it('configure points: a system, and a trigger in words; bad input is told as one types', async () => {
    await open('/points/new')
    await page.getByLabel('Name').fill('Coins')
    await page.getByRole('button', { name: 'Create points system' }).click()
    await page.getByRole('heading', { level: 1, name: 'Coins' }).waitFor()
    const hint = page.getByText('Nothing gives points yet. Create a trigger first.')
    await hint.waitFor()

    await page.getByRole('button', { name: 'New trigger' }).first().click()
    const trigger = page.getByRole('dialog', { name: 'New trigger' })
    await trigger.getByLabel('Metric').selectOption({ label: 'Lessons completed' })
    await trigger.getByLabel('Threshold').fill('5')
    await trigger.getByLabel('Points', { exact: true }).fill('ten')
    await trigger.getByLabel('Threshold').focus()
    await trigger.getByText('Use a whole number, such as 10.').waitFor()
    await trigger.getByLabel('Points', { exact: true }).fill('10')
    await trigger.getByText('10 Coins for every 5 lessons.').waitFor()
    await trigger.getByRole('button', { name: 'Create trigger' }).click()
    await trigger.waitFor({ state: 'detached' })
    await page.getByText('The trigger “10 Coins for every 5 lessons” was created').waitFor()
    await page.getByRole('link', { name: '10 Coins for every 5 lessons' }).waitFor()
    await hint.waitFor({ state: 'detached' })
    expect(await read('/points/coins/triggers')).toMatchObject([
      { type: 'metric', points: 10, metricThreshold: 5, status: 'active' },
    ])
    expect(watched.complaints).toEqual([])
  })

  it('configure an achievement, and move its status', async () => {
    await open('/achievements/new')
    await page.getByLabel('Name').fill('Five lessons')
    await page.getByLabel('Metric').selectOption({ label: 'Lessons completed' })
    await page.getByLabel('Value').fill('5')
    await page.getByLabel('Status').selectOption('inactive')
    await page.getByRole('button', { name: 'Create achievement' }).click()
    await page.getByRole('heading', { level: 1, name: 'Five lessons' }).waitFor()
    await page.getByText('Users complete it with 5 lessons.').waitFor()
    await page.getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('button', { name: 'Lock' }).waitFor()
    // The page shows the change before the server has answered.
    await expect
      .poll(() => read('/achievements/five-lessons'))
      .toMatchObject({ status: 'active', metricValue: 5 })
    // The list has the new item at once.
    await page.getByRole('main').getByRole('link', { name: 'Achievements' }).click()
    await page.getByRole('cell', { name: 'Five lessons', exact: true }).waitFor()
    expect(watched.complaints).toEqual([])
  })

  it('configure a weekly leaderboard, and a streak', async () => {
    await open('/leaderboards/new')
    await page.getByLabel('Name').fill('Weekly league')
    await page.getByLabel('Points system').selectOption({ label: 'XP' })
    await page.getByText('Ranks users by XP. It begins again each week.').waitFor()
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByLabel('Attribute 1').selectOption({ label: 'Plan' })
    await page.getByLabel('Value 1').fill('pro')
    await page.getByText('Ranks users whose Plan is pro by XP. It begins again each week.').waitFor()
    await page.getByRole('button', { name: 'Create leaderboard' }).click()
    await page.getByRole('heading', { level: 1, name: 'Weekly league' }).waitFor()
    const board = Object(await read('/leaderboards/weekly-league'))
    expect(board).toMatchObject({ status: 'active', rankBy: 'points', runUnit: 'day', runInterval: 7 })
    expect(new Date(board.start).getUTCDay()).toBe(1)
    expect(board.userAttributes).toMatchObject([{ attributeValue: 'pro' }])
    await page.getByText('Plan is pro', { exact: true }).waitFor()
    // Fixed filters are kept if something else is changed.
    await open('/leaderboards/weekly-league/edit')
    await page.getByLabel('Description').fill('For members')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('For members', { exact: true }).waitFor()
    await expect
      .poll(() => read('/leaderboards/weekly-league'))
      .toMatchObject({ description: 'For members', userAttributes: board.userAttributes })

    await open('/streaks')
    const save = async () => {
      await page.getByRole('button', { name: 'Save changes' }).click()
      await page.getByText('The settings of streaks were saved').last().waitFor()
    }
    for (const day of ['Sunday', 'Saturday']) await page.getByRole('switch', { name: day }).click()
    await page.getByText('Days off: Saturday, Sunday.').waitFor()
    await save()
    expect(await read('/streaks/settings')).toMatchObject({ frequency: 'daily', daysOff: [0, 6] })
    await page.getByLabel('Frequency').selectOption('weekly')
    expect(await page.getByRole('switch', { name: 'Sunday' }).count()).toBe(0)
    await save()
    await expect.poll(() => read('/streaks/settings')).toMatchObject({ frequency: 'weekly', daysOff: [] })
    expect(watched.complaints).toEqual([])
  })
})
