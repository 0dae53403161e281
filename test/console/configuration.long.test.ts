/** Configuration in a real browser: each page's main task, and its effect on the interface. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { hasBrowser, settled } from './browser'
import { ATTACK, sharedWorld } from './world'

const world = sharedWorld()

/** Reads something from the admin interface. */
const read = async (path: string) => (await world.ask('GET', `/admin/v1${path}`)).body

const open = (page: Page, path: string) => page.goto(`${world.server.url}/console${path}`)

describe.skipIf(!hasBrowser)('the pages of the console', () => {
  it('configure points: a system, a trigger in words, a level; bad input is told as one types', async () => {
    const { page, complaints } = await world.signedIn()
    await open(page, '/points/new')
    await page.getByLabel('Name').fill('Coins')
    await page.getByRole('button', { name: 'Create points system' }).click()
    await page.getByRole('heading', { level: 1, name: 'Coins' }).waitFor()

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
    await page.getByRole('link', { name: '10 Coins for every 5 lessons' }).waitFor()
    expect(await read('/points/coins/triggers')).toMatchObject([
      { type: 'metric', points: 10, metricThreshold: 5, status: 'active' },
    ])

    await page.getByRole('button', { name: 'New level' }).first().click()
    const level = page.getByRole('dialog', { name: 'New level' })
    await level.getByLabel('Name').fill('Gold')
    await level.getByLabel('Points', { exact: true }).fill('100')
    await level.getByRole('button', { name: 'Create level' }).click()
    await level.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Gold' }).click()
    await page.getByRole('dialog', { name: 'Gold' }).waitFor()
    expect(await read('/points/coins/levels')).toMatchObject([{ name: 'Gold', key: 'gold', points: 100 }])
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('configure an achievement, and move its status', async () => {
    const { page, complaints } = await world.signedIn()
    await open(page, '/achievements/new')
    await page.getByLabel('Name').fill('Five lessons')
    await page.getByLabel('Metric').selectOption({ label: 'Lessons completed' })
    await page.getByLabel('Value').fill('5')
    await page.getByLabel('Status').selectOption('inactive')
    await page.getByRole('button', { name: 'Create achievement' }).click()
    await page.getByRole('heading', { level: 1, name: 'Five lessons' }).waitFor()
    await page.getByText('Users complete it with 5 lessons.').waitFor()
    await page.getByRole('button', { name: 'Activate' }).click()
    await page.getByRole('button', { name: 'Lock' }).waitFor()
    expect(await read('/achievements/five-lessons')).toMatchObject({ status: 'active', metricValue: 5 })
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('configure a weekly leaderboard, and a streak', async () => {
    const { page, complaints } = await world.signedIn()
    await open(page, '/leaderboards/new')
    await page.getByLabel('Name').fill('Weekly league')
    await page.getByLabel('Points system').selectOption({ label: 'XP' })
    await page.getByText('Ranks users by XP. It begins again each week.').waitFor()
    await page.getByRole('button', { name: 'Create leaderboard' }).click()
    await page.getByRole('heading', { level: 1, name: 'Weekly league' }).waitFor()
    const board = Object(await read('/leaderboards/weekly-league'))
    expect(board).toMatchObject({ status: 'active', rankBy: 'points', runUnit: 'day', runInterval: 7 })
    expect(new Date(board.start).getUTCDay()).toBe(1)

    await open(page, '/streaks')
    await page.getByLabel('Frequency').selectOption('weekly')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('The settings of streaks were saved').waitFor()
    expect(await read('/streaks/settings')).toMatchObject({ frequency: 'weekly' })
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('show names that look like HTML as text, and a change of another tab', async () => {
    const name = ATTACK
    const first = await world.signedIn()
    await open(first.page, '/attributes/new')
    await first.page.getByLabel('Name').fill(name)
    await first.page.getByLabel('Key').fill('strange')
    await first.page.getByRole('button', { name: 'Create attribute' }).click()
    await first.page.getByRole('heading', { level: 1, name }).waitFor()

    // A tab of its own has to sign in.
    const second = await first.page.context().newPage()
    await open(second, '/attributes')
    await second.getByLabel('Admin API key').fill(world.server.adminKey)
    await second.getByRole('button', { name: 'Sign in' }).click()
    await second.getByRole('link', { name }).waitFor()
    await first.page.getByRole('button', { name: 'Delete' }).click()
    await first.page.getByRole('button', { name: 'Confirm: delete' }).click()
    await first.page.getByRole('heading', { level: 1, name: 'Attributes' }).waitFor()
    // The other tab follows a link to what is gone, and says so.
    await second.getByRole('link', { name }).click()
    await second.getByText('There is no attribute with this key').waitFor()
    expect(first.complaints.filter((text) => !text.includes('404'))).toEqual([])
    await first.page.context().close()
  })

  it('move the test clock, and show the new time', async () => {
    const { page, complaints } = await world.signedIn()
    const now = async () => Date.parse(String(Object(await read('/test-clock')).now))
    const before = await now()
    const bar = page.getByRole('region', { name: 'Test clock' })
    await bar.getByRole('button', { name: '+1 day' }).click()
    await settled(page)
    await expect.poll(async () => (await now()) - before).toBeGreaterThanOrEqual(86_400_000 - 60_000)
    expect(complaints).toEqual([])
    await page.context().close()
  })
})
