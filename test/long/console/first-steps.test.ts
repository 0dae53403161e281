/** The first steps of a new deployment in the console: nothing is configured, and there are no users. */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible, hasBrowser } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const hasCurl = spawnSync('curl', ['--version']).status === 0

const world = sharedWorld({ env: { DEMO: 'off' }, clock: 'real' })
let page: Page
let complaints: string[]

const open = (path: string) => world.open(page, path)
const command = () => page.getByRole('region', { name: 'Command' })
const form = () => page.getByRole('dialog')

beforeAll(async () => {
  if (!hasBrowser) return
  ;({ page, complaints } = await world.signedIn())
})

describe.skipIf(!hasBrowser || !hasCurl)('first steps', () => {
  it('[E1] a metric is created, and the command of the overview sends the first event', async () => {
    await open('/')
    await page.getByText('1 of 9 steps are done.').waitFor()
    expect(await command().count()).toBe(0)

    await open('/metrics')
    await page.getByRole('button', { name: 'New metric' }).click()
    await form().getByLabel('Name').fill('Lessons completed')
    // A press beside the form asks before the entries are lost.
    await page.mouse.click(200, 700)
    const question = page.getByRole('alertdialog', { name: 'Discard your entries?' })
    await expectAccessible(page, 'the question')
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    expect(await form().getByLabel('Name').inputValue()).toBe('Lessons completed')
    await form().getByRole('button', { name: 'Create metric' }).click()
    await page.getByRole('heading', { level: 1, name: 'Lessons completed' }).waitFor()

    await open('/users')
    await command().waitFor()
    await expectAccessible(page, 'no users')
    await open('/')
    await page.getByText('2 of 9 steps are done.').waitFor()
    const text = await command().innerText()
    expect(text).not.toContain(world.server.adminKey)
    await expectAccessible(page, 'the first event')
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      `${text.replace('YOUR_API_KEY', world.server.adminKey)} -sS`,
    ])
    expect(JSON.parse(stdout)).toMatchObject({ total: 1 })
    // The page notices the first user by itself.
    await page.getByText('3 of 9 steps are done.').waitFor()
    await command().waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('[K4] an admin key is an API key for the product', async () => {
    await open('/api-keys/new-admin')
    await form().getByLabel('Name').fill('Production server')
    await form().getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await open('/')
    await page.getByText('4 of 9 steps are done.').waitFor()
  })

  it('[S1] a new metric of streaks has no error before it was left, so that a press elsewhere counts', async () => {
    await open('/streaks')
    await page.getByRole('button', { name: / a metric$/ }).click()
    await page.getByRole('combobox', { name: 'Metric' }).selectOption('Lessons completed')
    expect(await page.getByText('Choose one.').count()).toBe(0)
    const freezes = page.getByRole('switch', { name: 'Freezes' })
    await freezes.click()
    expect(await freezes.isChecked()).toBe(true)
    await page.getByLabel('Freezes of a new user').fill('1')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('The settings of streaks were saved').waitFor()
    expect(complaints).toEqual([])
  })

  it('[C1] the test clock moves forward and returns to real time', async () => {
    const bar = page.getByRole('region', { name: 'Test clock' })
    expect(await bar.getByRole('button', { name: 'real time' }).count()).toBe(0)
    const now = async () => Date.parse((await world.ask('GET', '/admin/v1/test-clock')).body.now)
    const before = await now()
    // The answers while the work of the move goes on. That may be over sooner than anybody can see it.
    let isMoving = true
    await page.route('**/admin/v1/test-clock', (route) => {
      const json = { now: new Date(before).toISOString(), moving: { tenants: 1, progress: 0.25 } }
      const headers = { 'x-request-id': 'a-test' }
      return isMoving && route.request().method() === 'GET'
        ? route.fulfill({ json, headers })
        : route.continue()
    })
    const answered = page.waitForResponse((response) => response.request().method() === 'PUT')
    await bar.getByRole('button', { name: '+1 day' }).click()
    expect((await answered).status()).toBe(202)
    const progress = bar.getByRole('progressbar')
    await progress.waitFor()
    expect(await progress.getAttribute('value')).toBe('0.25')
    isMoving = false
    await progress.waitFor({ state: 'detached' })
    await expect.poll(async () => (await now()) - before).toBeGreaterThanOrEqual(86_400_000 - 60_000)
    await bar.getByRole('button', { name: 'real time' }).click()
    await bar.getByRole('button', { name: 'real time' }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })
})
