/** The console by the keyboard alone: where the focus is, and where it returns to. */
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()
let page: Page
let complaints: string[]

beforeAll(async () => {
  if (!hasBrowser) return
  ;({ page, complaints } = await world.signedIn())
})

const open = (path: string) => world.open(page, path)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const dialog = () => page.locator('[role="dialog"], [role="alertdialog"]')
const press = (key: string) => page.keyboard.press(key)

/** Waits until an element has the focus. */
const hasFocus = (element: Locator) =>
  expect.poll(() => element.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true)
const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true })

/** Opens a dialog by its button, closes it with Escape, and expects the focus at the button again. */
async function opensAndReturns(opener: Locator): Promise<void> {
  await opener.focus()
  await press('Enter')
  await dialog().waitFor()
  await expect.poll(() => dialog().locator(':focus').count()).toBe(1)
  await press('Escape')
  await dialog().waitFor({ state: 'detached' })
  await hasFocus(opener)
}

describe.skipIf(!hasBrowser)('by the keyboard', () => {
  it('the first link skips the navigation', async () => {
    await open('/')
    await press('Tab')
    await hasFocus(page.getByRole('link', { name: 'Skip to the content' }))
    await press('Enter')
    await hasFocus(page.getByRole('main'))
  })

  it('a metric is created, edited and deleted', async () => {
    await open('/metrics')
    await opensAndReturns(button('New metric'))
    await press('Enter')
    await dialog().waitFor()
    await page.keyboard.type('Pages read')
    await press('Enter')
    await hasFocus(heading('Pages read'))
    const edit = page.getByRole('link', { name: 'Edit' })
    await opensAndReturns(edit)
    await press('Enter')
    await dialog().waitFor()
    await press('End')
    await page.keyboard.type(' aloud')
    await press('Enter')
    await dialog().waitFor({ state: 'detached' })
    await heading('Pages read aloud').waitFor()
    await hasFocus(edit)
    await opensAndReturns(button('Delete'))
    await press('Enter')
    await hasFocus(dialog().getByRole('button', { name: 'Cancel' }))
    await press('Tab')
    await press('Enter')
    await hasFocus(heading('Metrics'))
    expect(complaints).toEqual([])
  })

  it('points are adjusted, and the menu and its dialogs give the focus back', async () => {
    await open('/users/demo-ada')
    await opensAndReturns(button('Adjust points'))
    await press('Enter')
    await hasFocus(page.getByLabel('Points system'))
    await press('Tab')
    await page.keyboard.type('5')
    await press('Enter')
    await dialog().waitFor({ state: 'detached' })
    await hasFocus(button('Adjust points'))

    const actions = button('Actions')
    await actions.focus()
    await press('Enter')
    await hasFocus(page.getByRole('menuitem').first())
    await press('ArrowDown')
    await hasFocus(page.getByRole('menuitem').nth(1))
    await press('Escape')
    await hasFocus(actions)
    await press('Enter')
    await hasFocus(page.getByRole('menuitem').first())
    await press('Enter')
    await dialog().waitFor()
    await press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await hasFocus(actions)
    expect(complaints).toEqual([])
  })

  it('the command palette and the forms of parts give the focus back', async () => {
    await open('/points/demo-xp')
    for (const name of ['New trigger', 'New level', 'New boost']) await opensAndReturns(button(name))
    await press('Control+k')
    await dialog().waitFor()
    await press('Escape')
    await hasFocus(button('New boost'))
    await opensAndReturns(page.getByRole('link', { name: '10 XP for each lesson' }))
  })

  it('the heading has the focus if the button is gone', async () => {
    await open('/api-keys')
    await opensAndReturns(button('New admin key'))
    await press('Enter')
    await dialog().waitFor()
    await page.keyboard.type('Of a test')
    await press('Enter')
    await button('Done').press('Enter')
    await dialog().waitFor({ state: 'detached' })
    await hasFocus(button('New admin key'))
    await button('Delete Of a test').press('Enter')
    await hasFocus(dialog().getByRole('button', { name: 'Cancel' }))
    await press('Tab')
    await press('Enter')
    await button('Delete Of a test').waitFor({ state: 'detached' })
    await hasFocus(heading('API keys'))

    await open('/points/demo-xp?open=levels.new')
    await page.getByLabel('Name').fill('Platinum')
    await page.getByLabel('Points', { exact: true }).fill('987654')
    await press('Enter')
    await dialog().waitFor({ state: 'detached' })
    await hasFocus(heading('XP'))
    await page.getByRole('link', { name: 'Platinum' }).press('Enter')
    await dialog().getByRole('button', { name: 'Delete' }).press('Enter')
    await button('Confirm: delete').press('Enter')
    await dialog().first().waitFor({ state: 'detached' })
    await hasFocus(heading('XP'))
    expect(complaints).toEqual([])
  })

  it('the heading takes the focus only if its element is removed and nothing else takes it', async () => {
    await open('/metrics')
    const frames = () =>
      page.evaluate(
        'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))',
      )
    const withButton = (script: string) =>
      page.evaluate(`{
        const button = document.querySelector('#content').appendChild(document.createElement('button'))
        button.focus()
        ${script}
      }`)
    await withButton('button.remove()')
    await hasFocus(heading('Metrics'))

    // Something else takes the focus.
    const other = button('New metric')
    await withButton("button.remove(); document.querySelector('main header button').focus()")
    await frames()
    await hasFocus(other)

    // The focus was taken away before, as by a press beside the page's buttons.
    await withButton('button.blur(); setTimeout(() => button.remove())')
    await frames()
    await frames()
    await hasFocus(page.locator('body'))
    // A removed element without the focus changes nothing.
    await withButton("document.querySelector('main header button').focus(); button.remove()")
    await frames()
    await hasFocus(other)
    expect(complaints).toEqual([])
  })
})
