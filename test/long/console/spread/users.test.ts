/** The pages of users and the overview, in a real browser on a real server. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, REFUSED, settled, type Watched } from '../../../helpers/console/browser'
import { sharedWorld } from '../../../helpers/console/world'

const world = sharedWorld({ clock: Date.UTC(2083, 2, 1, 10) })
const { ask } = world
let watched: Watched
let page: Page

beforeAll(async () => {
  if (!hasBrowser) return
  watched = await world.signedIn()
  page = watched.page
})

const sendLessons = (id: string, value: number) =>
  ask('POST', '/v1/metrics/demo-lessons/event', { user: { id }, value })

const open = (path: string) => world.open(page, path)

/** Chooses an item of the menu of a user's page. */
async function choose(item: string): Promise<void> {
  await page.getByRole('button', { name: 'Actions' }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

const dialog = () => page.getByRole('dialog')
const question = () => page.getByRole('alertdialog')

describe.skipIf(!hasBrowser)('users', () => {
  it('creates a user, refuses a bad form at its fields, finds the user, and edits the profile', async () => {
    await open('/users')
    await page.getByRole('button', { name: 'New user' }).click()
    const form = page.getByRole('dialog', { name: 'New user' })
    await form.getByLabel('Email').fill('no address')
    await form.getByRole('button', { name: 'Create user' }).click()
    await form.getByText('Fill this in.').waitFor()
    await form.getByText('Use an address such as ada@example.com.').waitFor()
    await form.getByLabel('Id', { exact: true }).fill('demo-ada')
    await form.getByLabel('Email').fill('mary@example.com')
    await form.getByRole('button', { name: 'Create user' }).click()
    await form.getByText('There is a user with this id already.').waitFor()
    await form.getByLabel('Id', { exact: true }).fill('mary/a b%')
    await form.getByLabel('Name').fill('Mary')
    await form.getByLabel('Time zone').selectOption('Asia/Tokyo')
    await form.getByRole('button', { name: 'Create user' }).click()
    await page.getByRole('heading', { level: 1, name: 'Mary' }).waitFor()

    await page.getByRole('link', { name: 'Edit' }).click()
    await dialog().getByLabel('Name').fill('Mary S.')
    await dialog().getByLabel('Plan').fill('pro')
    await dialog().getByLabel('Email').fill('')
    await dialog().getByRole('button', { name: 'Save changes' }).click()
    await dialog().getByText('An address can be replaced, but not removed.').waitFor()
    await dialog().getByLabel('Email').fill('mary.s@example.com')
    await dialog().getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { level: 1, name: 'Mary S.' }).waitFor()
    expect((await ask('GET', '/v1/users/mary%2Fa%20b%25')).body).toMatchObject({
      name: 'Mary S.',
      email: 'mary.s@example.com',
      tz: 'Asia/Tokyo',
      attributes: { 'demo-plan': 'pro' },
    })

    await open('/users')
    await page.getByLabel('Search users').fill('MARY')
    await page.getByRole('row').nth(2).waitFor({ state: 'detached' })
    await page.getByLabel('Search users').fill('')
    await page.getByLabel('Filter by attribute').selectOption('Plan')
    await page.getByLabel('Value').fill('pro')
    await page.waitForURL(/attribute=demo-plan&value=pro/)
    await settled(page)
    const pro = await ask('GET', '/admin/v1/users?limit=100&userAttributes=demo-plan:pro')
    await expect.poll(() => page.getByRole('row').count()).toBe(Object.keys(pro.body).length + 1)
    await page.getByRole('link', { name: 'Mary S.' }).click()
    await page.getByRole('heading', { level: 1, name: 'Mary S.' }).waitFor()
  })

  it('[U2] a user without an email address can be edited, and stays subscribed', async () => {
    // Only what was changed is sent: not even blanks of other values are.
    const untouched = { attributes: { 'demo-plan': ' pro ' } }
    await sendLessons('by-event', 1)
    await ask('PATCH', '/v1/users/by-event', untouched)
    await open('/users/by-event/edit')
    await page.getByLabel('Name', { exact: true }).fill('By event')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { level: 1, name: 'By event' }).waitFor()
    expect((await ask('GET', '/v1/users/by-event')).body).toMatchObject({
      ...untouched,
      name: 'By event',
      email: null,
      subscribeToEmails: true,
    })
  })

  it('brings back the entries of a reload, and no old values of what others have changed since', async () => {
    await ask('POST', '/admin/v1/attributes', [{ name: 'Score', key: 'score', type: 'user' }])
    await ask('POST', '/v1/users', { id: 'returning', attributes: { score: '1' } })
    await open('/users/returning/edit')
    await page.getByLabel('Plan', { exact: true }).fill('pro')
    await expect.poll(() => page.evaluate("sessionStorage.getItem('laurel.entries')")).toContain('pro')
    await ask('PATCH', '/v1/users/returning', { attributes: { score: '2' } })
    await page.reload()
    await page.getByText('Your entries from before are back.').waitFor()
    await page.getByRole('button', { name: 'Save changes' }).click()
    await dialog().waitFor({ state: 'detached' })
    expect((await ask('GET', '/v1/users/returning')).body.attributes).toEqual({
      score: '2',
      'demo-plan': 'pro',
    })
  })

  it('asks for no more users than it shows, and says if the next ones can’t be read', async () => {
    for (let nth = 0; nth < 30; nth += 1) await ask('POST', '/v1/users', { id: `many-${nth}` })
    const requests: URL[] = []
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.pathname === '/admin/v1/users' && url.searchParams.has('search')) requests.push(url)
    })
    await open('/users?search=many')
    expect(await page.getByRole('row').count()).toBe(26)
    expect(requests.map(({ searchParams }) => searchParams.get('limit'))).toEqual(['25'])
    await page.route(/after=/, (route) => route.fulfill(REFUSED), { times: 1 })
    const more = page.getByRole('button', { name: 'Show more' })
    await more.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'Not now.' }).waitFor()
    // The button has kept the focus.
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'many-9' }).waitFor()
    expect(await page.getByRole('row').count()).toBe(31)
    expect(requests).toHaveLength(3)
    expect(requests[2]?.searchParams.get('after')).toBeTruthy()
  })

  it('[P9] shows the level of a user, also if it is not among the first hundred', async () => {
    const levels = Array.from({ length: 101 }, (_, nth) => ({
      ...{ key: `floor-${nth}`, name: `Floor ${nth}`, points: nth },
    }))
    await ask('POST', '/admin/v1/points', [{ name: 'Floors', key: 'floors', levels: levels.slice(0, 100) }])
    await ask('POST', '/admin/v1/points/floors/levels', levels.slice(100))
    await ask('POST', '/v1/users', { id: 'climber' })
    await ask('POST', '/admin/v1/points/floors/adjustments', [{ userId: 'climber', amount: 100 }])
    await open('/users/climber')
    await page.getByText('Floor 100', { exact: true }).waitFor()
  })

  it('[X1] explains an award in words, and voids an event', async () => {
    await sendLessons('voided', 3)
    const { body: event } = await sendLessons('voided', 5)
    await open('/users/voided/timeline')
    await page.getByLabel('Type').selectOption('Points')
    await page.getByRole('button', { name: 'Why these 50 points?' }).click()
    const explanation = page.getByRole('dialog', { name: 'Why +50 XP?' })
    await explanation.getByText('The total went from 30 to 80 XP.').waitFor()
    expect(await explanation.locator('li p').allTextContents()).toEqual([
      'The event of Mar 1, 2083 counted 5 for Lessons completed.',
      'The trigger gives 10 XP for each lesson.',
      'The highest total went from 3 to 8.',
      '5 × 10 = 50 XP.',
      'The total went from 30 to 80 XP.',
    ])
    await page.keyboard.press('Escape')

    await page.getByLabel('Type').selectOption('Events')
    await page.getByText('Lessons completed: +5').waitFor()
    await page.getByRole('button', { name: 'Void this event' }).first().click()
    await dialog().getByLabel('Reason').fill('Sent twice')
    await dialog().getByRole('button', { name: 'Confirm void' }).click()
    await page.getByText('Voided: it no longer counts.').waitFor()
    expect((await ask('GET', '/v1/users/voided/metrics/demo-lessons')).body).toMatchObject({ current: 3 })
    await page.getByLabel('Type').selectOption('Voided events')
    await page.getByText('Reason: Sent twice').waitFor()
    expect(event.eventId).toBeTruthy()
  })

  it('completes an achievement, and revokes it with its points', async () => {
    await ask('POST', '/v1/users', { id: 'achiever' })
    await open('/users/achiever/achievements')
    await page.getByRole('button', { name: 'Complete Profile complete' }).click()
    await question().getByRole('button', { name: 'Confirm: complete' }).click()
    const revoke = page.getByRole('button', { name: 'Revoke Profile complete' })
    await revoke.waitFor()
    const gems = async () => (await ask('GET', '/v1/users/achiever/points/demo-gems')).body.total
    expect(await gems()).toBe(15)
    await revoke.click()
    await question().getByRole('button', { name: 'Confirm: revoke' }).click()
    await page.getByRole('button', { name: 'Complete Profile complete' }).waitFor()
    expect(await gems()).toBe(5)
  })

  it('grants a freeze, pauses the streak, removes the pause, says if there is nothing to restore, and resets', async () => {
    await sendLessons('streaker', 1)
    await open('/users/streaker')
    await choose('Grant a freeze')
    await question().getByRole('button', { name: 'Confirm: grant a freeze' }).click()
    await page.getByText('2 of at most 2').waitFor()
    await choose('Pause the streak')
    await dialog().getByLabel('First day').fill('2083-03-05')
    await dialog().getByLabel('Last day').fill('2083-03-04')
    await dialog().getByRole('button', { name: 'Create pause' }).click()
    await dialog().getByText('Choose a day that is not before the first one.').waitFor()
    await dialog().getByLabel('Last day').fill('2083-03-06')
    await dialog().getByRole('button', { name: 'Create pause' }).click()
    await dialog().waitFor({ state: 'detached' })
    const remove = page.getByRole('button', { name: 'Remove the pause from Mar 5, 2083 to Mar 6, 2083' })
    await remove.click()
    await remove.waitFor({ state: 'detached' })
    expect((await ask('GET', '/v1/users/streaker/streak')).body).toMatchObject({ freezes: 2, pauses: [] })
    await choose('Restore the streak')
    await question().getByRole('button', { name: 'Confirm: restore' }).click()
    await question().getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await choose('Reset the streak')
    await question().getByRole('button', { name: 'Confirm: reset' }).click()
    await page.getByText('0 days', { exact: true }).waitFor()
    expect((await ask('GET', '/v1/users/streaker/streak')).body).toMatchObject({ length: 0, freezes: 2 })
  })

  it('saves preferences', async () => {
    await ask('POST', '/v1/users', { id: 'choosy' })
    await open('/users/choosy/preferences')
    await page.getByLabel('Recap by push').uncheck()
    await page.getByLabel('The user has a streak').uncheck()
    // A read that fails meanwhile takes no entries away.
    const isRead = (url: URL) => url.pathname.endsWith('/preferences')
    await page.route(isRead, (route) => route.fulfill(REFUSED), { times: 1 })
    const read = page.waitForResponse((response) => isRead(new URL(response.url())))
    await choose('Grant a freeze')
    await question().getByRole('button', { name: 'Confirm: grant a freeze' }).click()
    await (await read).finished()
    await settled(page)
    expect(await page.getByLabel('Recap by push').isChecked()).toBe(false)
    await page.getByRole('button', { name: 'Save preferences' }).click()
    await page
      .getByText(/^The preferences of .* were saved$/)
      .first()
      .waitFor()
    expect((await ask('GET', '/v1/users/choosy/preferences')).body).toMatchObject({
      notifications: { recap: ['email'] },
      streak: { enabled: false },
    })
  })

  it('[S12, U7] saves days off of a user alone, none too, and those of all users, and shows what is refused', async () => {
    const settings = (change: object) => ask('PATCH', '/admin/v1/streaks/settings', change)
    await settings({ daysOff: [0] })
    await ask('POST', '/v1/users', { id: 'rested' })
    await open('/users/rested/preferences')
    const days = page.getByRole('group', { name: 'Days off' })
    const ofAll = days.getByLabel('Use the days of all users')
    const save = () => page.getByRole('button', { name: 'Save preferences' }).click()
    const saved = async (streak: object | undefined) => {
      await save()
      await expect
        .poll(async () => (await ask('GET', '/v1/users/rested/preferences')).body.streak)
        .toEqual(streak)
      await settled(page)
    }
    await days.getByText('Their days: Sunday.').waitFor()
    expect(await days.getByRole('switch').count()).toBe(1)
    await ofAll.uncheck()
    await days.getByLabel('Sunday').uncheck()
    await saved({ daysOff: [] })
    await days.getByLabel('Saturday').check()
    await days.getByLabel('Friday').check()
    await saved({ daysOff: [5, 6] })

    for (const day of await days.getByRole('switch', { name: /day$/ }).all()) await day.check()
    await save()
    await days.getByRole('alert').waitFor()
    expect(await days.getByRole('alert').textContent()).toBe('Must have at most 6 items.')
    await ofAll.check()
    expect(await days.getByRole('alert').count()).toBe(0)
    await saved(undefined)

    await settings({ customizationEnabled: false, daysOff: [] })
    await ofAll.uncheck()
    await save()
    await page.getByText("Streaks can't be customised:").waitFor()
    await ofAll.check()
    await open('/users/rested/preferences')
    expect(await days.count()).toBe(0)
    await settings({ customizationEnabled: true })
  })

  it('[U8] exports all data, and erases a user only after the id was typed', async () => {
    // A page shows two blanks as one, so people type one.
    await sendLessons('gone  now', 1)
    await open('/users/gone%20%20now')
    const downloaded = page.waitForEvent('download')
    await choose('Export all data')
    const file = await downloaded
    expect(file.suggestedFilename()).toMatch(/^user-gone_now-\w+\.json$/)
    await choose('Erase this user')
    const confirm = question().getByRole('button', { name: 'Confirm: erase' })
    expect(await confirm.isDisabled()).toBe(true)
    await question().getByLabel('Type gone now to confirm').fill('gone now')
    await confirm.click()
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
    expect((await ask('GET', '/v1/users/gone%20%20now')).status).toBe(404)
  })
})

describe.skipIf(!hasBrowser)('the overview', () => {
  it('[I1] shows the figures of the chosen period, as charts and as tables', async () => {
    await sendLessons('newcomer', 4)
    await ask('PUT', '/admin/v1/test-clock', { advance: 'P1D' })
    await open('/')
    const { body } = await ask('GET', '/admin/v1/analytics/overview')
    const figure = (name: string) =>
      page.locator('dl > div').filter({ hasText: name }).getByRole('definition').textContent()
    expect(await figure('Monthly active users')).toBe(String(body.active.month))
    const events = body.series.map((row: { events: number }) => row.events)
    expect(await figure('Events')).toBe(String(events.reduce((sum: number, one: number) => sum + one, 0)))
    await page.getByText('Newest activity: Mar 1, 2083').waitFor()

    const card = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Events', exact: true }) })
    await card.getByRole('img', { name: /^Events by day, from / }).waitFor()
    await card.getByText('Show as a table').click()
    const cells = await card.getByRole('cell').allTextContents()
    expect(cells.map(Number)).toEqual(events)

    const streaks = await page
      .getByRole('table', { name: 'Users by the length of their streak' })
      .getByRole('cell')
      .allTextContents()
    expect(streaks.map(Number)).toEqual(body.streaks.map((row: { users: number }) => row.users))
    const { users } = body.retention.others
    await page
      .getByRole('table', { name: /^Retention/ })
      .getByText(`${users} users`, { exact: true })
      .waitFor()

    const asked = page.waitForRequest(/figures\/overview\?/)
    await page.getByRole('button', { name: '7 days' }).click()
    expect(new URL((await asked).url()).search).toBe('?from=2083-02-24&to=2083-03-02')
    await settled(page)
    expect(page.url()).toContain('days=7')
    expect(await card.getByRole('row').count()).toBe(8)
    // Key by key: a year of one digit is a date already.
    await page.getByLabel('To', { exact: true }).pressSequentially('02252083')
    await page.waitForURL(/to=2083-02-25/)
    // An address with dates that do not exist shows the last 30 days.
    const usual = page.waitForRequest(/overview\?from=2083-02-01&to=2083-03-02$/)
    await open('/?from=2083-02-30&to=0000-01-01')
    await usual
  })

  it('[I1] lines of a series with negative values are filled to zero', async () => {
    await page.route(/figures\/overview/, async (route) => {
      const response = await route.fetch()
      const json = await response.json()
      const series = json.series.map((row: object, day: number) => ({
        ...row,
        points: { 'demo-xp': day % 2 ? -5 : -9 },
      }))
      await route.fulfill({ response, json: { ...json, series } })
    })
    await open('/')
    const chart = page.getByRole('img', { name: /^Points by day/ })
    const top = async (path: string) => (await chart.locator(path).boundingBox())?.y ?? 0
    expect(await top('path[opacity="0.08"]')).toBeCloseTo(await top('path.stroke-line-button'), 0)
  })

  it('[I1] figures that are counted while the page is open appear by themselves', async () => {
    await page.clock.install()
    await open('/?from=2083-03-20&to=2083-04-30')
    await page.getByText('No activity in this period.').waitFor()
    await ask('PUT', '/admin/v1/test-clock', { now: '2083-03-20T12:00:00Z' })
    await sendLessons('newcomer', 2)
    await ask('PUT', '/admin/v1/test-clock', { now: '2083-03-20T14:00:00Z' })
    await page.clock.fastForward(60_000)
    await page.getByText('Newest activity: Mar 20, 2083').waitFor()
    await sendLessons('another-newcomer', 2)
    await ask('PUT', '/admin/v1/test-clock', { now: '2083-03-20T16:00:00Z' })
    await page.clock.fastForward(60_000)
    await page.getByText('by 2 users.').waitFor()
    await page.clock.resume()
  })

  it('says what is missing, with a link to the page that fixes it', async () => {
    const { body: webhooks } = await ask('GET', '/admin/v1/webhooks')
    const ids = Object.values<{ id: string }>(webhooks).map(({ id }) => id)
    await ask('DELETE', `/admin/v1/webhooks?ids=${ids.join(',')}`)
    await open('/')
    await page.getByText('8 of 9 steps are done.').waitFor()
    await page.getByRole('link', { name: 'Connect a webhook (missing)' }).click()
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
  })
})
