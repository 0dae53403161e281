/** Back after a form was closed, and the press of the mouse that leaves a field. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, settled } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()

/** How a form is opened on a page, and how it is closed: by Cancel, Escape or Save. */
const FORMS = [
  { path: '/metrics', opens: 'New metric', closes: 'Cancel' },
  { path: '/metrics', opens: 'New metric', closes: 'Escape' },
  { path: '/metrics/demo-lessons', opens: 'Edit', closes: 'Cancel' },
  { path: '/metrics/demo-lessons', opens: 'Edit', closes: 'Save changes' },
  { path: '/points/demo-xp', opens: 'New trigger', closes: 'Cancel' },
  { path: '/users', opens: 'New user', closes: 'Cancel' },
  { path: '/users/demo-ada', opens: 'Edit', closes: 'Cancel' },
  { path: '/users/demo-ada', opens: 'Adjust points', closes: 'Escape' },
  { path: '/api-keys', opens: 'New admin key', closes: 'Cancel' },
]

describe.skipIf(!hasBrowser)('the steps of the browser', () => {
  let page: Page
  beforeAll(async () => {
    ;({ page } = await world.signedIn())
  })

  it.each(FORMS)(
    'Back leads from $path to the page before, after $opens and $closes',
    async ({ path, opens, closes }) => {
      const address = `${world.server.url}/console${path}`
      await world.open(page, '/status')
      // A link of the console, so that the form is no page of its own in the history of the tab.
      await page.evaluate(
        `history.pushState({ __TSR_index: history.state.__TSR_index + 1 }, '', '${address}')`,
      )
      await page.reload()
      await settled(page)
      await page.getByRole(opens === 'Edit' ? 'link' : 'button', { name: opens, exact: true }).click()
      await page.getByRole('dialog').waitFor()
      if (closes === 'Escape') await page.keyboard.press('Escape')
      else await page.getByRole('button', { name: closes, exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.waitForURL(address)
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'Status' }).waitFor()
    },
  )

  it('a form that was opened by its address is replaced by the page below it', async () => {
    await world.open(page, '/status')
    await world.open(page, '/metrics/new')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Status' }).waitFor()
  })

  it('the first press on the button counts, also if the field that it leaves gets a message', async () => {
    await world.open(page, '/settings')
    await page.evaluate("submits = 0; addEventListener('submit', () => { submits += 1 }, true)")
    const submit = page.getByRole('button', { name: 'Save changes' })
    // All fields are in the window, so that a message below one of them moves the button.
    await page.setViewportSize({ width: 1280, height: 2400 })
    await page.getByLabel('Name of the app').fill('')
    const button = await submit.boundingBox()
    await page.mouse.move((button?.x ?? 0) + 20, (button?.y ?? 0) + 10)
    await page.mouse.down()
    // As long as a person holds the button down, the page is painted.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    await page.mouse.up()
    expect(await page.evaluate('submits')).toBe(1)
    await page.getByText('Fill this in.').waitFor()
  })

  it('no button of a question moves when the list of what is affected arrives', async () => {
    const asked = /\/admin\/v1\/(?:points|achievements|leaderboards|figures|notifications)/
    const question = page.getByRole('alertdialog')
    for (const [path, told] of [
      ['/metrics/demo-lessons', 'This is affected:'],
      ['/metrics/demo-quizzes', 'Nothing else is affected.'],
    ] as const) {
      await world.open(page, path)
      const { promise, resolve } = Promise.withResolvers<void>()
      await page.route(asked, (route) => promise.then(() => route.continue()))
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      const confirm = question.getByRole('button', { name: 'Confirm: delete' })
      const before = await confirm.boundingBox()
      resolve()
      await question.getByText(told).waitFor()
      expect([path, await confirm.boundingBox()]).toEqual([path, before])
      await question.getByRole('button', { name: 'Cancel' }).click()
      await page.unroute(asked)
    }
  })
})
