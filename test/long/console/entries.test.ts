/** Entries that are not saved, the palette, and forms that help, in a real browser. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, openPalette } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()

describe.skipIf(!hasBrowser)('entries', () => {
  let page: Page
  let complaints: string[]
  beforeAll(async () => {
    const signedIn = await world.signedIn()
    page = signedIn.page
    complaints = signedIn.complaints
  })
  const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })

  it('that are not saved are kept, unless people say otherwise', async () => {
    await world.open(page, '/metrics')
    await page.getByRole('button', { name: 'New metric' }).click()
    await page.getByLabel('Name').fill('Pages')
    await page.goBack()
    const question = page.getByRole('alertdialog', { name: 'Discard your entries?' })
    await question.getByRole('button', { name: 'Keep editing' }).click()
    await question.waitFor({ state: 'detached' })
    expect(await page.getByLabel('Name').inputValue()).toBe('Pages')
    await page.goBack()
    await question.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    // An empty row is an entry too.
    await world.open(page, '/achievements/new')
    await page.getByRole('button', { name: 'Filter' }).first().click()
    await page.keyboard.press('Escape')
    await question.getByRole('button', { name: 'Keep editing' }).click()
    await page.getByRole('button', { name: 'Remove filter 1' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    await world.open(page, '/settings')
    const isAskedByBrowser = () =>
      page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    expect(await isAskedByBrowser()).toBe(false)
    await page.getByLabel('Control group').fill('7')
    expect(await isAskedByBrowser()).toBe(true)
    await page.getByRole('link', { name: 'Metrics' }).click()
    await question.getByRole('button', { name: 'Keep editing' }).click()
    expect(await page.getByLabel('Control group').inputValue()).toBe('7')
    await page.getByRole('link', { name: 'Metrics' }).click()
    await question.getByRole('button', { name: 'Discard' }).click()
    await heading('Metrics').waitFor()
    expect(complaints).toEqual([])
  })

  it('that people make after they stayed are kept, also if the page is then left without a question', async () => {
    const kept = () => page.evaluate<string>("sessionStorage.getItem('laurel.entries') ?? ''")
    await world.open(page, '/metrics/new')
    await page.getByLabel('Name').fill('Before')
    await expect.poll(kept).toContain('Before')
    await page.evaluate("dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    await page.getByLabel('Name').press('End')
    await page.keyboard.type(' and after')
    await expect.poll(kept).toContain('Before and after')
    await page.evaluate("dispatchEvent(new Event('pagehide'))")
    expect(await kept()).toContain('Before and after')
    await page.evaluate("dispatchEvent(new Event('pageshow'))")
    await page.getByRole('button', { name: 'Cancel' }).click()
  })

  it('of fields that are not shown refuse nothing, and a date that is not complete does', async () => {
    await world.open(page, '/points/demo-coins?open=boosts.new')
    await page.getByLabel('Name').fill('For one')
    await page.getByLabel('Start').fill('2083-01-01')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByLabel('User id').fill('demo-ada')
    await page.getByLabel('End').pressSequentially('12')
    await page.getByRole('button', { name: 'Create boost' }).click()
    await page.getByText('Complete this, or empty it.').waitFor()
    await page.getByLabel('End').fill('2083-01-02')
    await page.getByRole('button', { name: 'Create boost' }).click()
    await page.getByText('The boost “For one” was created').waitFor()

    await world.open(page, '/streaks')
    await page.getByRole('button', { name: 'Require a metric' }).click()
    await page.getByLabel('Streaks are on').click()
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('The settings of streaks were saved').waitFor()
    expect((await world.ask('GET', '/admin/v1/streaks/settings')).body).toMatchObject({ enabled: false })
    expect(complaints).toEqual([])
  })

  it('that nobody has made are none: a field ends lines with one sign', async () => {
    const crlf = { name: 'Lines', key: 'lines', trigger: 'api', description: 'one\r\ntwo' }
    await world.ask('POST', '/admin/v1/achievements', [crlf])
    await world.open(page, '/achievements/lines/edit')
    await page.getByLabel('Description').click()
    await page.getByLabel('Name').click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('of boxes that are refused are shown with the message, and have the focus', async () => {
    await page.setViewportSize({ width: 1280, height: 600 })
    await world.open(page, '/webhooks/new')
    await page.getByLabel('Address').fill('https://example.com/boxes')
    await page.getByLabel('All events').click()
    await page.getByLabel('Key').fill('boxes')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    const message = page.getByText('Choose at least one event.')
    await message.waitFor()
    await page.locator('[type=checkbox]:not([role]):focus').waitFor()
    const [{ y = 600 }, foot] = [
      Object(await message.boundingBox()),
      await page.locator('.sheet-foot').boundingBox(),
    ]
    expect(y).toBeLessThan(foot?.y ?? 0)
    await page.getByRole('button', { name: 'Cancel' }).click()
  })

  it('come back if files of the console are gone, and “Try again” loads the page', async () => {
    const questions: string[] = []
    page.on('dialog', (dialog) => questions.push(dialog.type()))
    await world.open(page, '/metrics/new')
    await page.getByLabel('Name').fill('Pages')
    const loaded = page.waitForEvent('load')
    await page.evaluate("dispatchEvent(new Event('vite:preloadError'))")
    await loaded
    expect(await page.getByLabel('Name').inputValue()).toBe('Pages')
    expect(questions).toEqual([])
    await page.getByRole('button', { name: 'Cancel' }).click()

    await page.route('**/*.js', (route) => route.abort())
    await page.getByRole('link', { name: 'Streaks' }).click()
    await page.getByText('This page could not be shown').waitFor()
    await page.unroute('**/*.js')
    await page.getByRole('button', { name: 'Try again' }).click()
    await heading('Streaks').waitFor()
    complaints.splice(0)
  })

  it('the palette finds users by the text that it has, and Ctrl+K closes it', async () => {
    const palette = await openPalette(page)
    await page.keyboard.type('demo-ada')
    await page.getByRole('option', { name: /Ada/ }).waitFor()
    // Enter does not open a user who was found by the text before.
    await palette.getByRole('combobox').fill('demo-grace')
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: /Grace/ }).waitFor()
    await page.keyboard.press('Enter')
    await heading('Grace').waitFor()
    await openPalette(page)
    await page.keyboard.press('Control+k')
    await palette.waitFor({ state: 'detached' })
    // A keyboard without Latin letters, and what a browser sends when it fills in a field.
    await page.evaluate(`document.body.dispatchEvent(new Event('keydown', { bubbles: true }))
      document.body.dispatchEvent(
        new KeyboardEvent('keydown', { key: 'л', code: 'KeyK', ctrlKey: true, bubbles: true }))`)
    await palette.waitFor()
    await page.keyboard.press('Escape')
    expect(complaints).toEqual([])
  })

  it('[P9] several levels are added in a row', async () => {
    await world.open(page, '/points/demo-coins?open=levels.new')
    for (const [name, points] of [
      ['Copper', '0'],
      ['Brass', '10'],
    ] as const) {
      await page.getByLabel('Name', { exact: true }).fill(name)
      await page.getByLabel('Points', { exact: true }).fill(points)
      await page.getByRole('button', { name: 'Save and add another' }).click()
      await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('')
    }
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { body } = await world.ask('GET', '/admin/v1/points/demo-coins/levels')
    expect(body.map(({ key }: { key: string }) => key)).toEqual(['copper', 'brass'])
    expect(complaints).toEqual([])
  })

  it('[N3] a template warns of variables that do not exist, and the preview of an email has no faults', async () => {
    await world.open(page, '/notifications/new')
    await page.getByLabel('Channel').selectOption('email')
    await page.getByText('All variables').click()
    await page.getByText('{{ points["demo-xp"] }}').waitFor()
    await page.getByLabel('Subject').fill('{{ user.name }} {{ user.foo }}')
    await page
      .getByLabel('Body')
      .fill(
        '<p style="color:red" onclick="alert(1)">Hello</p><img src="https://example.com/a.png" alt="A cat">',
      )
    await page.getByText('{{ user.foo }}: there is no such variable').waitFor()
    await page.getByText('Email is not configured').waitFor()
    await page.frameLocator('iframe').getByText('Hello').waitFor()
    await page.frameLocator('iframe').getByText('A cat').waitFor()
    expect(complaints).toEqual([])
    await page.getByRole('button', { name: 'Cancel' }).click()
  })

  it('[G9, I2] a points system and others say by names and numbers what their deletion affects', async () => {
    // It names a metric whose key begins with the one of another.
    const template = {
      type: 'recap',
      channel: 'push',
      title: 'More',
      body: '{{ metrics["demo-quizzes-more"] }}',
    }
    await world.ask('POST', '/admin/v1/notifications/templates', [template])
    // Figures are made when the clock moves.
    await world.ask('PUT', '/admin/v1/test-clock', { advance: 'PT1M' })
    const plan = (await world.ask('GET', '/admin/v1/attributes?key=demo-plan')).body[0].id
    const [xp] = (await world.ask('GET', '/admin/v1/points/demo-xp/analytics')).body.series.slice(-1)
    expect(xp.users).toBeGreaterThan(2)
    for (const [path, ...lines] of [
      [
        '/points/demo-xp',
        `Users with points of it: ${xp.users}`,
        'Deleted triggers: 4',
        /^Deleted levels: \d$/,
        'Deleted boosts: 2',
        'XP this week: is deleted',
      ],
      ['/points/demo-xp?open=levels.demo-novice', `Users who have it: ${xp.byLevel['demo-novice']}`],
      ['/achievements/demo-first-lesson', /^Users who have completed it: \d+$/],
      ['/achievements/demo-profile', 'Gems: names it in 1 trigger'],
      [`/attributes/${plan}`, 'XP: names it in 1 boost', 'Pro league: names it'],
      ['/leaderboards/demo-all-time', /^Ranked users: \d+$/],
      ['/metrics/demo-quizzes', 'Nothing else is affected.'],
      ['/metrics/demo-lessons', 'First lesson', 'Lessons of all time'],
    ] as const) {
      await world.open(page, path)
      await page.getByRole('button', { name: 'Delete' }).click()
      const question = page.getByRole('alertdialog')
      for (const line of lines) await question.locator('li, p').filter({ hasText: line }).first().waitFor()
      if (!path.endsWith('-lessons')) await question.getByRole('button', { name: 'Cancel' }).click()
    }
    // The question links to the things that the deletion would change.
    await page.getByRole('alertdialog').getByRole('link', { name: 'XP', exact: true }).click()
    await heading('XP').waitFor()
    expect(complaints).toEqual([])
  })
})
