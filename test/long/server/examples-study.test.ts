/** examples/study in a browser: the app for learners, as its README starts it. */
import type { Browser, Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { LESSONS, type Lesson } from '../../../examples/study/src/lessons.ts'
import { hasBrowser, launchBrowser, NO_BROWSER } from '../../helpers/server/browser'
import {
  type Example,
  expectGood,
  expectSameAgain,
  installedExample,
  openedApp,
} from '../../helpers/server/example'
import { freePort, type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'

let example: Example
beforeAll(async () => {
  example = await installedExample('study')
})

it('has no errors of types', () => example.run('npm', 'run', 'types'))

describe.skipIf(!hasBrowser)(`the app${hasBrowser ? '' : ` (skipped: ${NO_BROWSER})`}`, () => {
  let server: Server
  let url: string
  let env: Record<string, string>
  let browser: Browser

  beforeAll(async () => {
    server = await startServer({ clock: SERVER_START })
    const port = String(await freePort())
    url = `http://localhost:${port}`
    env = { PORT: port, LAUREL_URL: server.url, LAUREL_ADMIN_KEY: server.adminKey }
    await example.start(['npm', 'start'], env, /The app is at http/)
    browser = await launchBrowser()
  })

  const opened = (options: Parameters<typeof openedApp>[2] = {}) =>
    openedApp(browser, url, { timezoneId: 'Europe/Paris', ...options })

  async function signIn(page: Page, name: string) {
    await page.getByLabel('Your name').fill(name)
    await page.getByRole('button', { name: 'Start learning' }).click()
    await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor()
  }

  const lessonOf = (id: string): Lesson => {
    const lesson = LESSONS.find((one) => one.id === id)
    if (lesson === undefined) throw new Error(`There is no lesson ${id}.`)
    return lesson
  }

  const linkTo = (page: Page, id: string) => page.locator(`a[href="#/lessons/${id}"]`)

  /** Answers all questions of a lesson, and goes on to its end. */
  async function answerAll(page: Page, id: string) {
    await linkTo(page, id).click()
    for (const { text, choices, right } of lessonOf(id).questions) {
      await page.getByRole('heading', { name: text }).waitFor()
      await page.getByLabel(choices[right] ?? '', { exact: true }).check()
      await page.getByRole('button', { name: 'Check' }).click()
      await page.getByRole('button', { name: 'Continue' }).click()
    }
  }

  const backHome = (page: Page) => page.getByRole('link', { name: 'Back to the lessons' }).click()

  it('teaches with the keyboard alone: sign-in, two lessons, a new level', async () => {
    const { context, page, complaints } = await opened()
    const { keyboard } = page
    /** Goes on with Tab until an element has the focus. */
    const tabTo = async (wanted: Locator) => {
      await wanted.waitFor()
      for (let steps = 0; steps < 30; steps += 1) {
        if ((await wanted.and(page.locator(':focus')).count()) > 0) return
        await keyboard.press('Tab')
      }
      throw new Error(`Tab does not reach ${wanted}.`)
    }
    const learn = async (id: string) => {
      await tabTo(linkTo(page, id))
      await keyboard.press('Enter')
      for (const { text, right } of lessonOf(id).questions) {
        await page.getByRole('heading', { name: text }).waitFor()
        await tabTo(page.getByRole('radio').first())
        await keyboard.press('Space')
        for (let steps = 0; steps < right; steps += 1) await keyboard.press('ArrowDown')
        await keyboard.press('Enter')
        await page.getByText('Right!').waitFor()
        await keyboard.press('Enter')
      }
    }
    await tabTo(page.getByLabel('Your name'))
    await keyboard.type('Ada')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Hello, Ada' }).waitFor()
    await page.getByText('your streak begins').waitFor()

    await learn('moon')
    await page.getByText('+15 XP').waitFor()
    await page.getByText('Your streak has begun').waitFor()
    await page.getByText('First light').waitFor()
    await tabTo(page.getByRole('link', { name: 'Back to the lessons' }))
    await keyboard.press('Enter')
    await linkTo(page, 'moon').getByText('Done today').waitFor()

    await learn('sun')
    await page.getByRole('dialog', { name: 'You are an Observer now' }).waitFor()
    await keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('New level: Observer').waitFor()
    await tabTo(page.getByRole('link', { name: 'Back to the lessons' }))
    await keyboard.press('Enter')
    const ring = page.getByRole('progressbar', { name: 'Level: Observer' })
    expect(await ring.getAttribute('aria-valuetext')).toBe('70 XP to Navigator')
    await page.getByText('2 of 6 completed').waitFor()

    // A lesson counts once a day.
    await answerAll(page, 'moon')
    await page.getByText('This lesson counts once a day.').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  it('moves the board of one learner while another one learns, and shows the own rank', async () => {
    const emmy = await opened()
    await signIn(emmy.page, 'Emmy')
    await answerAll(emmy.page, 'stars')
    await backHome(emmy.page)
    await emmy.page.getByText('Live').waitFor()
    const own = emmy.page.locator('tr[data-own]')
    await own.waitFor()
    const rank = Number(await own.getAttribute('data-rank'))

    const grace = await opened()
    await signIn(grace.page, 'Grace')
    for (const id of ['stars', 'comets']) {
      await answerAll(grace.page, id)
      if (id === 'comets') await grace.page.getByRole('button', { name: 'Continue' }).click()
      await backHome(grace.page)
    }
    // Emmy has done nothing.
    await emmy.page.getByRole('row', { name: /Grace.*30/ }).waitFor()
    await emmy.page.locator(`tr[data-own][data-rank="${rank + 1}"]`).waitFor()
    expect([...emmy.complaints, ...grace.complaints]).toEqual([])
    await emmy.context.close()
    await grace.context.close()
  })

  it('offers to try again if a lesson cannot be saved, and counts it once', async () => {
    const { context, page } = await opened()
    await signIn(page, 'Alan')
    let requests = 0
    await page.route('**/api/lessons/*/finish', async (route) => {
      requests += 1
      // The first request arrives, and its answer is lost.
      if (requests === 1) await route.fetch()
      if (requests === 1) await route.abort()
      else await route.continue()
    })
    await answerAll(page, 'planets')
    await page.getByRole('alert').getByText('You seem to be offline.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Clear sky!' }).waitFor()
    await backHome(page)
    await page.getByRole('progressbar', { name: 'Level: Cadet' }).waitFor()
    await page.getByText('15 XP to Observer').waitFor()

    // The session is over. After the sign-in, the user is in the same lesson.
    await context.clearCookies()
    await answerAll(page, 'comets')
    await page.getByLabel('Your name').fill('Alan')
    await page.getByRole('button', { name: 'Start learning' }).click()
    await page.getByText('Question 1 of 4').waitFor()
    await page.getByRole('link', { name: 'Leave' }).click()
    await page.getByText('15 XP to Observer').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Your name').waitFor()
    await context.close()
  })

  it.each([
    ['desktop, light', { width: 1280, height: 860 }, 'light'],
    ['desktop, dark', { width: 1280, height: 860 }, 'dark'],
    ['phone, light', { width: 390, height: 844 }, 'light'],
    ['phone, dark', { width: 390, height: 844 }, 'dark'],
  ] as const)('axe finds nothing, and nothing is too wide: %s', async (look, viewport, colorScheme) => {
    const { context, page, complaints } = await opened({ viewport, colorScheme })
    const check = (name: string) => expectGood(page, `${name}, ${look}`)
    await check('sign-in')
    await signIn(page, `Mary of ${look}`)
    await page.getByText('Live').waitFor()
    await check('first page')
    await answerAll(page, 'galaxies')
    await page.getByText('+15 XP').waitFor()
    await check('end of a lesson')
    await backHome(page)
    await linkTo(page, 'moon').click()
    await page.getByRole('radio').first().check()
    await check('question')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('Not quite.').waitFor()
    await check('wrong answer')
    await page.getByRole('link', { name: 'Leave' }).click()
    await answerAll(page, 'sun')
    await page.getByRole('dialog').waitFor()
    await check('new level')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('[S4] shows a day that a freeze has saved, and lets lessons count again', async () => {
    const { context, page } = await opened()
    await signIn(page, 'Lise')
    await answerAll(page, 'moon')
    await page.getByText('+15 XP').waitFor()
    const { status } = await server.ask('PUT', '/admin/v1/test-clock', { advance: 'P2D' })
    expect(status).toBe(200)
    await page.goto(url)
    await page.getByText('Finish a lesson today, and your streak is 2 days.').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'saved by a freeze' }).waitFor()
    await linkTo(page, 'moon').getByText('Up to 15 XP').waitFor()
    await answerAll(page, 'moon')
    await page.getByText('2 days in a row').waitFor()
    await context.close()
  })

  it('sets up again without a change', async () => {
    const paths = ['metrics', 'attributes', 'points', 'achievements', 'leaderboards', 'streaks/settings']
    await expectSameAgain(example, server, { env, paths, key: 'study-first-light' })
  })
})
