/** The pages of webhooks, notifications, keys, settings, the audit log and the status, in a real browser. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectAccessible, hasBrowser, REFUSED, signIn, type Watched } from '../../../helpers/console/browser'
import { ATTACK, sharedWorld } from '../../../helpers/console/world'
import { Receiver } from '../../../helpers/receiver'

const world = sharedWorld()
const { ask } = world
let watched: Watched
let page: Page
const receiver = new Receiver()
let address: string
/** The status that the receiver answers. */
let answer = 204

beforeAll(async () => {
  receiver.decide('laurel', () => ({ status: answer, body: answer === 204 ? '' : 'Out of order' }))
  address = `${new URL(await receiver.start()).host}/hooks/laurel`
  if (!hasBrowser) return
  watched = await world.signedIn()
  page = watched.page
})
afterAll(() => receiver.stop())
beforeEach(() => watched?.complaints.splice(0))

const open = (path: string) => world.open(page, path)
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const confirm = (name: string) => page.getByRole('alertdialog').getByRole('button', { name }).click()

/** The secret that a dialog shows. It is closed afterwards. */
async function shownSecret(title: string, label: string): Promise<string> {
  const shown = dialog(title)
  await shown.waitFor()
  await expectAccessible(page, title)
  const secret = await shown.getByLabel(label).inputValue()
  await shown.getByRole('button', { name: 'Done' }).click()
  await shown.waitFor({ state: 'detached' })
  return secret
}

const sectionOf = (section: string) =>
  page.locator('section').filter({ has: page.getByRole('heading', { name: section }) })

describe.skipIf(!hasBrowser)('the pages of operations', () => {
  it('[W1, W4] a webhook is created with its secret shown once, tested, and its deliveries are sent again', async () => {
    await open('/webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    const form = dialog('New webhook')
    await form.getByLabel('Address').fill('nowhere')
    await form.getByRole('button', { name: 'Create webhook' }).click()
    await form.getByText('Use a whole address').waitFor()
    await form.getByLabel('Address').fill(`Http://${address}`)
    await form.getByRole('button', { name: 'Create webhook' }).click()
    const secret = await shownSecret('The webhook was created', 'Signing secret')
    expect(secret).toMatch(/^whsec_/)
    await page.getByRole('heading', { level: 1, name: address }).waitFor()
    expect(await page.content()).not.toContain(secret)

    await page.getByText('Nothing was sent yet').waitFor()
    await page.getByLabel('Type').selectOption('streak.lost')
    answer = 503
    await page.getByRole('button', { name: 'Send sample' }).click()
    const row = sectionOf('Deliveries').getByRole('row').filter({ hasText: 'streak.lost' })
    await row.getByText('answered 503').waitFor()
    await row.getByRole('link').click()
    const delivery = dialog('streak.lost')
    await delivery.getByText('sample-user').first().waitFor()
    await delivery.getByText('answered 503').waitFor()
    await expectAccessible(page, 'a delivery')
    answer = 204
    await delivery.getByRole('button', { name: 'Send again' }).click()
    await delivery.getByText('delivered', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await delivery.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await confirm('Confirm: rotate secret')
    expect(await shownSecret('The secret was replaced', 'Signing secret')).not.toBe(secret)

    await page.getByRole('button', { name: 'Deactivate' }).click()
    await page.getByText('Activate it to send a sample.').waitFor()
    const { body } = await ask('GET', '/admin/v1/webhooks')
    const stored = Object.values(body).find((one) => Object(one).url === `http://${address}`)
    expect(stored).toMatchObject({ status: 'inactive', events: ['*'] })
    expect(watched.complaints).toEqual([])
  })

  it('[W1, W4, G12] a failing endpoint shows it, is tried at once, and gets everything again after a repair', async () => {
    answer = 500
    const url = `http://${address}/failing`
    await ask('POST', '/admin/v1/webhooks', [{ url, key: 'failing', events: ['streak.lost'] }])
    const test = () => ask('POST', '/admin/v1/webhooks/failing/test', { type: 'streak.lost' })
    for (let n = 0; n < 20; n += 1) await test()
    await open('/webhooks')
    const listed = page.getByRole('row').filter({ hasText: 'laurel/failing' })
    await listed.getByText('100% failed').waitFor()
    await listed.getByText('Rests until').waitFor()
    await open('/')
    const told = page.getByRole('alert').filter({ hasText: 'laurel/failing fails' })
    await told.getByText('100% failed').waitFor()
    await expectAccessible(page, 'the overview with a failing webhook')
    await open('/status')
    await page.getByText('20 of 20 failed, rests until').waitFor()
    await page.getByRole('link', { name: 'failing', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'laurel/failing' }).waitFor()

    const deliveries = sectionOf('Deliveries')
    await deliveries.getByLabel('Status').selectOption('dead')
    await deliveries.getByText('There are none').waitFor()
    await deliveries.getByLabel('Status').selectOption('pending')
    await deliveries.getByText('retrying').first().waitFor()
    // The address has the filter, also beside a delivery.
    await deliveries.getByRole('link').first().click()
    await page.reload()
    await dialog('streak.lost').getByRole('button', { name: 'Close' }).first().click()
    await dialog('streak.lost').waitFor({ state: 'detached' })
    expect(await deliveries.getByLabel('Status').inputValue()).toBe('pending')
    await deliveries.getByLabel('Event').selectOption('points.changed')
    await deliveries.getByText('There are none').waitFor()
    await deliveries.getByLabel('Status').selectOption('')
    await deliveries.getByLabel('Event').selectOption('')

    // It goes out at once, although the endpoint rests and the test clock stands still.
    await page.getByRole('button', { name: 'Send sample' }).click()
    const sample = sectionOf('Test').getByRole('status')
    await sample.getByText(/^500 after \d+ ms$/).waitFor()
    await sample.getByText('Out of order').waitFor()
    await expectAccessible(page, 'a webhook that fails')
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('is tried again now').waitFor()
    const tries = async () => {
      const { body } = await ask('GET', '/admin/v1/webhooks/failing/deliveries?limit=100')
      return Object.values(body).map((one) => Object(one).attempts)
    }
    await expect.poll(tries).toContain(2)

    answer = 204
    await page.getByRole('button', { name: 'Send all again' }).click()
    await page.getByText('21 deliveries sent again').waitFor()
    await deliveries.getByText('retrying').first().waitFor({ state: 'detached' })
    await open('/webhooks')
    await listed.getByText('all arrived').waitFor()
    await open('/')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    expect(await page.getByRole('alert').filter({ hasText: 'laurel/failing' }).count()).toBe(0)
    expect(watched.complaints).toEqual([])
  })

  it('[N3, N4] a template is written with a preview for a real user, and says that no channel is configured', async () => {
    await ask('PUT', '/v1/users/zoe', { name: ATTACK })
    await open('/notifications')
    expect(await page.getByText('not configured', { exact: true }).count()).toBe(2)
    await expectAccessible(page, 'the notifications')
    await open('/notifications?message=018f0000-0000-7000-8000-000000000000')
    await page.getByText('The message of this link is not among these.').waitFor()
    await page.getByRole('button', { name: 'New template' }).click()
    const form = dialog('New template')
    await form.getByLabel('Type').selectOption('recap')
    await form.getByLabel('Title').fill('Hello {{ user.name }}')
    await form.getByLabel('Body').fill('{% if %}')
    await form.getByLabel('Preview for the user').fill('zoe')
    await form.getByText(/mistake|illegal|tag/i).waitFor()
    await form.getByLabel('Body').fill('You are {{ user.id }}.')
    await form.getByText(`Hello ${ATTACK}`).waitFor()
    await form.getByText('You are zoe.').waitFor()
    await expectAccessible(page, 'the form of a template')
    await form.getByRole('button', { name: 'Create template' }).click()
    await page.getByRole('heading', { level: 1, name: 'Recap by push message' }).waitFor()
    await page.getByRole('button', { name: 'Activate', exact: true }).click()
    await page.getByRole('button', { name: 'Deactivate' }).waitFor()
    // The page shows the change before the server has answered.
    await expect
      .poll(async () => (await ask('GET', '/admin/v1/notifications/templates/recap-push')).body)
      .toMatchObject({ title: 'Hello {{ user.name }}', status: 'active' })

    await open('/notifications/streak_reminder-email')
    await page.getByLabel('User').fill('demo-ada')
    await page.frameLocator('iframe').getByText('A lesson today makes it').waitFor()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await confirm('Confirm: send the test')
    await page.getByText('The message was not sent. No provider of emails is configured.').waitFor()
    await expectAccessible(page, 'a template after a test')
    // The preview of bad Liquid is a 422.
    const expected = /status of 422/
    expect(watched.complaints.filter((text) => !expected.test(text))).toEqual([])
  })

  it('[K4, K5] admin keys and application keys are created, shown once, rotated and deleted', async () => {
    await open('/api-keys')
    await page.getByRole('button', { name: 'New admin key' }).click()
    await dialog('New admin key').getByRole('button', { name: 'Create key' }).click()
    await dialog('New admin key').getByText('Fill this in.').waitFor()
    await dialog('New admin key').getByLabel('Name').fill('Of a person')
    await dialog('New admin key').getByRole('button', { name: 'Create key' }).click()
    await dialog('The key was created').waitFor()
    await page.keyboard.press('Escape')
    const question = page.getByRole('alertdialog', { name: 'Close without a copy?' })
    await question.getByRole('button', { name: 'Cancel' }).click()
    const first = await shownSecret('The key was created', 'Admin key')
    const works = async (key: string) => (await ask('GET', '/admin/v1/session', undefined, key)).status
    expect(await works(first)).toBe(200)
    await page.getByRole('button', { name: 'Rotate Of a person' }).click()
    await confirm('Confirm: rotate key')
    const second = await shownSecret('The key was replaced', 'Admin key')
    expect([await works(first), await works(second)]).toEqual([401, 200])
    await page.getByRole('button', { name: 'Delete Of a person' }).click()
    await confirm('Confirm: delete key')
    await page.getByText('The key “Of a person” was deleted').first().waitFor()
    await page.getByRole('button', { name: 'Delete Of a person' }).waitFor({ state: 'detached' })
    expect(await works(second)).toBe(401)

    await page.getByRole('button', { name: 'New application key' }).click()
    const form = dialog('New application key')
    // A phone would write `Demo-ada`.
    expect(await form.getByLabel('User id').getAttribute('autocapitalize')).toBe('none')
    await form.getByLabel('User id').fill('demo-ada')
    await form.getByLabel('Last day').fill('2099-12-31')
    await form.getByRole('button', { name: 'Create key' }).click()
    const key = await shownSecret('The key was created', 'Application key')
    expect((await ask('GET', '/v1/users/demo-ada', undefined, key)).status).toBe(200)
    expect((await ask('PATCH', '/v1/users/demo-ada', { name: 'A' }, key)).status).toBe(403)
    const row = sectionOf('Application keys').getByRole('row').filter({ hasText: '2100' })
    await row.getByText('only read').waitFor()
    await page.getByLabel('Keys of the user with the id').fill('nobody-has-this-id')
    await page.getByText('No keys of this user').waitFor()
    await page.getByLabel('Keys of the user with the id').fill('demo-ada')
    await page.waitForURL(/user=demo-ada/)
    await page.reload()
    await row.getByRole('button', { name: /^Delete/ }).click()
    await confirm('Confirm: delete key')
    await page.getByText('The key of demo-ada was deleted').first().waitFor()
    await row.waitFor({ state: 'detached' })
    expect((await ask('GET', '/v1/users/demo-ada', undefined, key)).status).toBe(401)
    expect(watched.complaints).toEqual([])

    // Nobody can replace the key of the session, also before the page knows which one it is.
    const { body } = await ask('POST', '/admin/v1/admin-api-keys', [{ name: 'Of a session' }])
    const { page: own } = await world.page()
    await own.goto(`${world.server.url}/console/settings`)
    await signIn(own, body.created[0].key)
    const { promise, resolve } = Promise.withResolvers<void>()
    await own.route('**/admin/v1/session', (route) => promise.then(() => route.fulfill(REFUSED)))
    const listed = own.waitForResponse('**/admin/v1/admin-api-keys*')
    await own.getByRole('link', { name: 'API keys' }).click()
    await (await listed).finished()
    await own.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect(await own.getByRole('button', { name: 'Rotate Of a session' }).count()).toBe(0)
    resolve()
    await own.getByText('Not now.').waitFor()
    expect(await own.getByRole('button', { name: 'Rotate Of a session' }).count()).toBe(0)
    await own.unroute('**/admin/v1/session')
    await own.getByRole('button', { name: 'Try again' }).click()
    await own
      .getByRole('row', { name: /Of a session/ })
      .getByText('You are signed in with it')
      .waitFor()
    await own.context().close()
  })

  it('[Z1, T4] settings are saved, and the audit log shows the change, filtered by kind, key and actor', async () => {
    await open('/settings')
    await page.getByLabel('Control group').fill('101')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Use a number from 0 to 100.').waitFor()
    await page.getByLabel('Control group').fill('25')
    await page.getByLabel('Recap').selectOption('monthly')
    await page.getByText('25 of 100 new users get no messages.').waitFor()
    // The preview shows the brand as it is typed, also one that looks like HTML.
    const preview = page.getByRole('region', { name: 'Preview' })
    const email = preview.frameLocator('iframe')
    await page.getByLabel('Name of the app').fill('<b onclick="x">Ada & Co')
    await page.getByLabel('Address of the app').fill('javascript:alert(1)')
    await email.getByText('<b onclick="x">Ada & Co').waitFor()
    await preview.getByText('<b onclick="x">Ada & Co').waitFor()
    await expect.poll(() => email.getByText('Keep it').count()).toBe(0)
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('Use an address with https://').waitFor()
    await page.getByLabel('Address of the app').fill('https://a.example')
    await page.getByLabel('Colour').fill('rgb(300, 0, 0)')
    await page.getByLabel('Font').selectOption('MONOSPACE')
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText(/^Must be a colour: #RGB/).waitFor()
    await page.locator('input:focus[name="branding.brandColor"]').waitFor()
    watched.complaints.splice(0)
    await page.getByLabel('Colour').fill('rgb(1, 2, 3)')
    const icon = await page.locator('link[rel="icon"]').getAttribute('href')
    await page.getByLabel('Address of the icon').fill(`${world.server.url}${icon}`)
    await email.getByText('Keep it').waitFor()
    const look = (style: string) =>
      email
        .getByText('Keep it')
        .evaluate((link, name) => String(Reflect.get(globalThis, 'getComputedStyle')(link)[name]), style)
    await expect.poll(() => look('backgroundColor')).toBe('rgb(1, 2, 3)')
    expect(await look('fontFamily')).toMatch(/^ui-monospace/)
    await preview.locator('img').waitFor()
    await page.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('The settings were saved').waitFor()
    expect((await ask('GET', '/admin/v1/settings')).body).toMatchObject({
      branding: { appName: '<b onclick="x">Ada & Co', brandColor: 'rgb(1, 2, 3)', font: 'MONOSPACE' },
      experimentation: { controlRatio: 25 },
      aggregationPeriod: 'monthly',
    })

    await open('/audit-log')
    await page.getByLabel('Kind').selectOption('settings')
    await page.getByRole('link', { name: 'Changed settings' }).first().click()
    const entry = dialog('Changed settings')
    await entry
      .getByRole('row', { name: /experimentation/ })
      .getByRole('cell', { name: /25/ })
      .waitFor()
    await entry
      .getByRole('row', { name: /aggregation period/ })
      .getByRole('cell', { name: 'monthly' })
      .waitFor()
    await expectAccessible(page, 'an entry of the audit log')
    // The address leads to the same place.
    await page.reload()
    await entry.waitFor()
    await page.keyboard.press('Escape')
    await entry.waitFor({ state: 'detached' })
    await page.getByLabel('Kind').selectOption('metric')
    await page.getByLabel('Key').fill('demo-lessons')
    await page.getByRole('link', { name: 'Created metric demo-lessons' }).waitFor()
    await page.getByRole('link', { name: 'Created metric demo-minutes' }).waitFor({ state: 'detached' })
    await page.getByLabel('Changed by').fill('no such key')
    await page.getByText('No such changes').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('button', { name: 'Show more' }).click()
    // The first 25 entries, and the row of names before them.
    await page.getByRole('row').nth(26).waitFor()
    // A link leads to an entry that is not on the first page, and from there to the page of the metric.
    const { body: entries } = await ask('GET', '/admin/v1/audit-log?kind=metric&key=demo-lessons&limit=100')
    const [oldest] = Object.values(entries).toReversed()
    await open(`/audit-log?entry=${Object(oldest).id}`)
    await dialog('Created metric demo-lessons').getByRole('link', { name: 'metric demo-lessons' }).click()
    await page.getByRole('heading', { level: 1, name: 'Lessons completed' }).waitFor()
    await open('/audit-log?entry=018f0000-0000-7000-8000-000000000000')
    await page.getByText('There is no such entry.').waitFor()
    expect(watched.complaints).toEqual([])
  })

  it('[G12] the status shows the databases, the due work and the queues', async () => {
    await open('/status')
    await page.getByText('healthy', { exact: true }).waitFor()
    const { body } = await ask('GET', '/admin/v1/status')
    for (const { name } of body.databases)
      await page.getByRole('meter', { name: `Size of ${name}`, exact: true }).waitFor()
    await page.getByRole('row', { name: /^Due work/ }).waitFor()
    await page.getByRole('row', { name: /^Messages given up/ }).waitFor()
    expect(watched.complaints).toEqual([])
  })
})
