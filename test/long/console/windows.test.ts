/** The pages and dialogs of the console in windows of all sizes, also low ones, and on paper. */
import { describe, expect, it } from 'vitest'
import { hasBrowser, settled } from '../../helpers/console/browser'
import { FORMS, MAIN_PAGES, OTHER_PAGES } from '../../helpers/console/pages'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()
/** A folder for pictures of the dialogs, to look at them. */
const { PICTURES } = process.env

/** A phone on its side, a small phone on its side, and a window of 1280 × 1024 at 400 %. */
const LOW = [
  { width: 844, height: 390 },
  { width: 568, height: 320 },
  { width: 320, height: 256 },
]
const SIZES = [{ width: 1280, height: 800 }, { width: 390, height: 844 }, ...LOW]

/** The dialogs of the console: the address, and the button that opens one. */
const DIALOGS: readonly { path: string; opens?: string }[] = [
  ...FORMS.map(({ path, opens }) => ({ path, opens })),
  { path: '/points/demo-xp', opens: 'Delete' },
  { path: '/metrics/demo-lessons', opens: 'Delete' },
  { path: '/metrics/demo-lessons/edit' },
  { path: '/users/demo-ada?action=erase' },
  { path: '/users/demo-ada?action=freeze' },
  { path: '/users/demo-ada?action=pause' },
  { path: '/users/demo-ada?action=restore' },
]

/** A page may scroll inside. What scrolls by less than a line of text shows a scrollbar by mistake. */
const SCROLL_FAULTS = `
  (() => {
    const faults = []
    const { scrollHeight, scrollWidth } = document.documentElement
    if (scrollHeight > innerHeight) faults.push('the document is ' + (scrollHeight - innerHeight) + ' px too high')
    if (scrollWidth > innerWidth) faults.push('the document is ' + (scrollWidth - innerWidth) + ' px too wide')
    for (const element of document.querySelectorAll('body *')) {
      const { overflowX, overflowY } = getComputedStyle(element)
      const [x, y] = [element.scrollWidth - element.clientWidth, element.scrollHeight - element.clientHeight]
      if (element.id === 'content' && x > 0) faults.push('the content is ' + x + ' px too wide')
      const isFault = (overflow, by) => /auto|scroll/.test(overflow) && by > 0 && by < 12
      if (isFault(overflowX, x) || isFault(overflowY, y)) faults.push('scrolls by mistake: ' + element.className)
    }
    return faults
  })()`

/** The parts of the open dialog that can't be brought into view, or are covered there. */
const OUT_OF_REACH = `
  (() => {
    const dialog = document.querySelector('[role="dialog"], [role="alertdialog"]')
    const parts = [...dialog.querySelectorAll('h2, button:not(:disabled), input, select, textarea')]
    return parts.filter((part) => part.getClientRects().length > 0).flatMap((part) => {
      part.scrollIntoView({ block: 'nearest' })
      const { left, right, top, bottom } = part.getBoundingClientRect()
      const y = (Math.max(0, top) + Math.min(innerHeight, bottom)) / 2
      const there = document.elementFromPoint((left + right) / 2, y)
      const isFree = there !== null && (part.contains(there) || there.contains(part))
      const isInside = left >= 0 && right <= innerWidth && bottom > 0 && top < innerHeight
      return isInside && isFree ? [] : [part.tagName + ' ' + part.textContent + part.getAttribute('name')]
    })
  })()`

describe.skipIf(!hasBrowser)('the windows of the console', () => {
  it('never scroll as a whole, or sideways', async () => {
    const { page } = await world.signedIn()
    for (const { path } of [...MAIN_PAGES, ...OTHER_PAGES]) {
      await world.open(page, path)
      for (const size of SIZES) {
        await page.setViewportSize(size)
        // Charts follow the size of the window a moment later.
        await expect
          .poll(async () => [path, size, await page.evaluate(SCROLL_FAULTS)])
          .toEqual([path, size, []])
      }
    }
    await page.context().close()
  })

  it('have the title, fields and buttons of each dialog within reach, also if they are low', async () => {
    const { page } = await world.signedIn()
    for (const { path, opens } of DIALOGS) {
      await page.setViewportSize({ width: 1280, height: 800 })
      await world.open(page, path)
      if (opens !== undefined) await page.getByRole('button', { name: opens, exact: true }).first().click()
      await page.locator('[role="dialog"], [role="alertdialog"]').waitFor()
      for (const size of LOW) {
        await page.setViewportSize(size)
        await settled(page)
        const name = `${path} ${opens ?? ''} at ${size.width} × ${size.height}`
        for (const colorScheme of PICTURES === undefined ? [] : (['dark', 'light'] as const)) {
          await page.emulateMedia({ colorScheme })
          await page.screenshot({ path: `${PICTURES}/${colorScheme}${name.replaceAll(/\W+/g, '-')}.png` })
        }
        expect([name, await page.evaluate(OUT_OF_REACH)]).toEqual([name, []])
      }
    }
    await page.context().close()
  })

  it('open a question at its title, also if it is low', async () => {
    const { page } = await world.signedIn()
    await page.setViewportSize({ width: 568, height: 320 })
    await world.open(page, '/metrics/demo-lessons')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const question = page.getByRole('alertdialog')
    await question.getByText('This is affected').waitFor()
    expect(
      await question.getByRole('button', { name: 'Cancel' }).evaluate((one) => one.matches(':focus')),
    ).toBe(true)
    expect((await question.getByRole('heading').boundingBox())?.y).toBeGreaterThanOrEqual(0)
    await page.context().close()
  })

  it('go on paper with all that the page shows', async () => {
    const { page } = await world.signedIn()
    for (const path of ['/users/demo-ada', '/audit-log']) {
      await world.open(page, path)
      const pages = (await page.pdf()).toString('latin1').match(/\/Type\s*\/Page\b/g) ?? []
      expect([path, pages.length > 1]).toEqual([path, true])
    }
    await page.context().close()
  })
})
