/** All components in a browser, in their looks: themes, directions, sizes of windows. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectAccessible } from '../../../../test/helpers/console/browser'
import { hasBrowser, NOW, serveGallery } from '../../scripts/serve.mjs'

let gallery: Awaited<ReturnType<typeof serveGallery>>
let page: Page

describe.skipIf(!hasBrowser)('the gallery in a browser', () => {
  beforeAll(async () => {
    gallery = await serveGallery()
    page = await gallery.browser.newPage()
    await page.clock.setFixedTime(NOW)
  }, 60_000)
  afterAll(() => gallery.close())

  interface Wishes {
    viewport?: { width: number; height: number }
    reducedMotion?: 'reduce'
    colorScheme?: 'dark'
  }

  async function open(query: string, wishes: Wishes = {}): Promise<void> {
    const { viewport = { width: 1280, height: 900 }, reducedMotion = null, colorScheme = null } = wishes
    await page.setViewportSize(viewport)
    await page.emulateMedia({ reducedMotion, colorScheme })
    await page.goto(`${gallery.url}?${query}`)
    await section('Award toast').waitFor()
  }

  const section = (name: string) => page.locator(`[data-section="${name}"]`)
  /** The item of a section with this state as its caption. */
  const item = (name: string, state: string) =>
    section(name)
      .locator('.gallery-item')
      .filter({ has: page.locator(`> p:text-is("${state}")`) })

  describe('axe finds nothing', () => {
    test.each(['theme=light', 'theme=dark', 'theme=light&dir=rtl&locale=ar'])('with %s', async (query) => {
      await open(query, { reducedMotion: 'reduce' })
      await expectAccessible(page, query)
    })
  })

  test('no component is wider than a phone', async () => {
    await open('theme=light', { viewport: { width: 320, height: 700 } })
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBe(320)
  })

  test.each([320, 390, 1280])(
    'the name of a user who is not ranked is not cut, %d pixels wide',
    async (width) => {
      await open('theme=light', { viewport: { width, height: 700 } })
      const row = item('Leaderboard', 'Not ranked, with a name').locator('[data-own]')
      const name = row.locator('.laurel-truncate')
      expect(await name.textContent()).toBe('Mary Jackson')
      expect(await name.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
      await row.getByText('Not ranked yet').waitFor()
    },
  )

  test('a loading component has the size of a loaded one', async () => {
    await open('theme=light', { reducedMotion: 'reduce' })
    const heightOf = async (name: string, state: string) =>
      (await item(name, state).locator('.laurel-card').boundingBox())?.height
    const pairs = [
      ['Streak counter', 'Done for today'],
      ['Streak calendar', 'Daily, done for today'],
      ['Points counter', 'With a picture'],
      ['Level progress', 'Between two levels'],
      ['Energy', 'Growing'],
      ['Leaderboard', 'Own row on the page'],
    ] as const
    for (const [name, state] of pairs) {
      expect([name, await heightOf(name, 'Loading')]).toEqual([name, await heightOf(name, state)])
      expect([name, await heightOf(name, 'Failed')]).toEqual([name, await heightOf(name, 'Loading')])
    }
  })

  test('arrow keys choose a group, among buttons and in a list', async () => {
    await open('theme=light')
    const groups = item('Leaderboard', 'Groups')
    const chosen = () => groups.locator('input:checked').evaluate((input) => input.parentElement?.title)
    await groups.getByRole('radio', { name: 'Owls' }).focus()
    await page.keyboard.press('ArrowRight')
    expect(await chosen()).toBe('Foxes')
    const outline = await groups
      .locator('input:checked + span')
      .evaluate((span) => getComputedStyle(span).outlineStyle)
    expect(outline).toBe('solid')
    await page.keyboard.press('ArrowLeft')
    expect(await chosen()).toBe('Owls')
    const many = item('Leaderboard', 'Many groups, not ranked').getByRole('combobox', { name: 'Group' })
    await many.focus()
    await page.keyboard.press('ArrowDown')
    expect(await many.evaluate((select: HTMLSelectElement) => select.selectedOptions[0]?.text)).toMatch(
      /^Foxes/,
    )
  })

  test('buttons of the calendar go to other months by keyboard, and the name of the month is announced', async () => {
    await open('theme=light')
    const calendar = item('Streak calendar', 'Daily, done for today')
    const table = calendar.getByRole('table', { name: 'November 2026' })
    await table.waitFor()
    await calendar.getByRole('button', { name: 'Previous month' }).focus()
    await page.keyboard.press('Enter')
    await calendar.getByRole('table', { name: 'October 2026' }).waitFor()
    expect(await calendar.locator('[aria-live="polite"]').textContent()).toBe('October 2026')
    expect(await calendar.getByRole('cell', { name: 'Oct 31: active' }).count()).toBe(1)
  })

  test('rows glide to their places, but not with reduced motion', async () => {
    const movedRows = async (query: string, options = {}) => {
      await open(query, options)
      await page.evaluate(() => {
        const { animate } = Element.prototype
        Element.prototype.animate = function (...args) {
          document.body.dataset.moved = `${document.body.dataset.moved ?? ''} ${this.getAttribute('data-user')}`
          return animate.apply(this, args)
        }
      })
      const board = item('Leaderboard', 'Live, own row pinned')
      await board.getByRole('button').click()
      await board.locator('[data-user="emmy"][data-rank="3"]').waitFor()
      const moved = await page.evaluate(() => document.body.dataset.moved)
      return moved
    }
    expect(await movedRows('theme=light')).toBe(' emmy ada')
    expect(await movedRows('theme=light', { reducedMotion: 'reduce' })).toBeUndefined()
    expect(await movedRows('theme=light&motion=reduced')).toBeUndefined()
  })

  test('with reduced motion nothing moves', async () => {
    const running = () => page.evaluate(() => document.getAnimations().length)
    await open('theme=light')
    expect(await running()).toBeGreaterThan(0)
    await open('theme=light', { reducedMotion: 'reduce' })
    expect(await running()).toBe(0)
    await open('theme=light&motion=reduced')
    expect(await running()).toBe(0)
  })

  test('a picture that cannot be loaded is replaced by a symbol', async () => {
    await open('theme=light')
    const emblem = (state: string) => item('Points counter', state).locator('.laurel-emblem')
    await emblem('With a picture').locator('img').waitFor()
    await emblem('Large numbers, long name, broken picture').locator('svg').waitFor()
    expect(await emblem('Large numbers, long name, broken picture').locator('img').count()).toBe(0)
  })

  test('the own row of a scrolling ranking stays in view', async () => {
    await open('theme=light')
    const list = item('Leaderboard', 'Scrolling, own row stays in view').getByRole('region')
    const inView = () =>
      list.evaluate((box) => {
        const row = box.querySelector('[data-own] td')?.getBoundingClientRect()
        const { top, bottom } = box.getBoundingClientRect()
        return row !== undefined && row.top >= top - 1 && row.bottom <= bottom + 1
      })
    expect(await inView()).toBe(true)
    await list.evaluate((box) => box.scrollTo(0, box.scrollHeight))
    expect(await inView()).toBe(true)
  })

  test('the theme is that of the system, unless the page names one', async () => {
    const background = () =>
      item('Points counter', 'With a picture')
        .locator('.laurel-card')
        .evaluate((card) => getComputedStyle(card).backgroundColor)
    await open('theme=system', { colorScheme: 'dark' })
    expect(await background()).toBe('rgb(21, 24, 28)')
    await open('theme=light', { colorScheme: 'dark' })
    expect(await background()).toBe('rgb(255, 255, 255)')
    await open('theme=dark')
    expect(await background()).toBe('rgb(21, 24, 28)')
  })

  test('a toast is announced, takes no focus, and Escape closes it', async () => {
    await open('theme=light')
    const show = section('Award toast').getByRole('button', { name: 'Show the toast' })
    await show.click()
    const toast = item('Award toast', 'In its place on the page').locator('.laurel-toast')
    await toast.getByText('New level: Gold').waitFor()
    expect(await toast.getByRole('status').getAttribute('aria-label')).toBe('Awards')
    expect(await show.evaluate((button) => button === document.activeElement)).toBe(true)
    await toast.getByRole('button', { name: 'Dismiss' }).focus()
    await page.keyboard.press('Escape')
    await toast.getByText('New level: Gold').waitFor({ state: 'detached' })
  })
})
