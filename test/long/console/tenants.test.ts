/** Several tenants in a real browser: nothing of one is seen in another. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { loseDeletion } from '../../helpers/console/adversary'
import { expectAccessible, hasBrowser, REFUSED, settled } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'
import { words } from '../../helpers/words'

const world = sharedWorld({ env: { MULTI_TENANCY: 'on', ENVIRONMENT: 'staging' } })
const tenants: Record<'apple' | 'berry', string> = { apple: '', berry: '' }

async function ask(tenant: string, method: string, path: string, body: unknown) {
  const answer = await world.server.ask(method, path, body, { 'tenant-id': tenant })
  expect([path, answer.status < 300]).toEqual([path, true])
  return answer.body
}

/** Opens a page of the console, and gives a key. */
async function enter(page: Page, path: string, key = world.server.adminKey): Promise<void> {
  await page.goto(`${world.server.url}/console${path}`)
  await page.getByLabel('Admin API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
const choose = (page: Page, name: string) =>
  page.getByRole('button', { name: new RegExp(`^The ${name}`) }).click()
const change = (page: Page) => page.getByRole('button', { name: /change the tenant/ }).click()

describe.skipIf(!hasBrowser)('the management of tenants, from none to one that is erased', () => {
  it('[T2, T3, Z1] creates, archives and erases them; the log of the account has it', async () => {
    const { page, complaints } = await world.page()
    const confirm = (name: string) => page.getByRole('alertdialog').getByRole('button', { name }).click()
    const stored = async () => Object.values((await world.ask('GET', '/admin/v1/tenants')).body)
    await enter(page, '/settings')

    // There is none yet. The first one is chosen at once.
    await page.getByText('No tenants yet').waitFor()
    await expectAccessible(page, 'the choice without tenants')
    await page.getByRole('button', { name: 'New tenant' }).click()
    await page.getByRole('button', { name: 'Create tenant' }).click()
    await page.getByText('Fill this in.').first().waitFor()
    await page.getByLabel('Name').fill('Acme')
    await page.getByLabel('Customer id').fill('acme')
    await page.getByRole('button', { name: 'Create tenant' }).click()
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    expect(await stored()).toMatchObject([{ name: 'Acme', customerId: 'acme', status: 'active' }])
    // The name of the environment stands beside the logo, since it is not production (T6).
    await page.locator('header').getByText('Staging', { exact: true }).first().waitFor()

    await page.getByRole('button', { name: 'New tenant' }).click()
    const form = page.getByRole('dialog', { name: 'New tenant' })
    await form.getByLabel('Name').fill('Beta')
    await form.getByLabel('Customer id').fill('acme')
    await form.getByRole('button', { name: 'Create tenant' }).click()
    await form
      .getByText(/customerId|acme/)
      .first()
      .waitFor()
    await form.getByLabel('Customer id').fill('beta')
    await form.getByRole('button', { name: 'Create tenant' }).click()
    await page.getByRole('link', { name: 'Beta' }).click()
    const shown = page.getByRole('dialog', { name: 'Beta' })
    await shown.getByRole('button', { name: 'Archive' }).click()
    await confirm('Confirm: archive')
    await shown.getByText('It is archived').waitFor()
    await settled(page)
    await expectAccessible(page, 'an archived tenant')
    expect(await stored()).toMatchObject([{ customerId: 'acme' }, { customerId: 'beta', status: 'archived' }])
    await shown.getByRole('button', { name: 'Erase' }).click()
    const question = page.getByRole('alertdialog')
    expect(await question.getByRole('button', { name: 'Confirm: erase' }).isDisabled()).toBe(true)
    await question.getByLabel('Type the customer id beta to confirm').fill('beta')
    await confirm('Confirm: erase')
    await page.getByText(/^The tenant “.*” is being erased$/).waitFor()
    await expect.poll(stored, { timeout: 60_000 }).toMatchObject([{ customerId: 'acme' }])

    await world.open(page, '/audit-log')
    await page.getByText('No changes yet').waitFor()
    await page.getByLabel('Log', { exact: true }).selectOption('account')
    await page.getByRole('link', { name: 'Created tenant acme' }).click()
    await page.getByRole('dialog').getByRole('link', { name: 'tenant acme' }).click()
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()

    // Without its tenant, the console asks for another one.
    await page.getByRole('link', { name: 'Acme' }).click()
    await page.getByRole('dialog', { name: 'Acme' }).getByRole('button', { name: 'Archive' }).click()
    await confirm('Confirm: archive')
    await page.getByRole('heading', { level: 1, name: 'Choose a tenant' }).waitFor()
    await page.getByText('No tenants yet').waitFor()
    expect(complaints).toEqual([])
    await page.context().close()
  })
})

describe.skipIf(!hasBrowser)('the end of a tenant', () => {
  const begin = async (name: string) => {
    const { body } = await world.ask('POST', '/admin/v1/tenants', [{ name, customerId: name }])
    return body.created[0].id
  }

  it.each([
    ['archived', 'Archive', 'was archived'],
    ['erased', 'Erase', 'is being erased'],
  ])('is told as done if only the first answer is lost: it is %s', async (name, label, did) => {
    const [id] = await Promise.all([begin(name), begin(`beside-${name}`)])
    if (label === 'Erase') await world.ask('DELETE', `/admin/v1/tenants?ids=${id}`)
    const { page } = await world.page()
    await enter(page, '/settings')
    await page.getByRole('button', { name: `beside-${name}` }).click()
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByRole('dialog', { name }).getByRole('button', { name: label }).click()
    const question = page.getByRole('alertdialog')
    if (label === 'Erase') await question.getByLabel(`Type the customer id ${name} to confirm`).fill(name)
    const sent = await loseDeletion(page, world.server.url)
    await question.getByRole('button', { name: `Confirm: ${label.toLowerCase()}` }).click()
    await page.getByText(`The tenant “${name}” ${did}`, { exact: true }).waitFor()
    expect(sent).toEqual([sent[0], sent[0]])
    await page.context().close()
  })
})

describe.skipIf(!hasBrowser)('the console with several tenants', () => {
  beforeAll(async () => {
    for (const name of ['apple', 'berry'] as const) {
      const { body } = await world.ask('POST', '/admin/v1/tenants', [
        { name: `The ${name}`, customerId: name },
      ])
      tenants[name] = body.created[0].id
      await ask(name, 'POST', '/admin/v1/metrics', [
        { key: 'shared', name: `Metric of ${name}`, units: name },
      ])
      await ask(name, 'POST', '/admin/v1/points', [{ key: 'shared', name: `Points of ${name}` }])
      await ask(name, 'POST', '/v1/users', { id: 'shared', name: `User of ${name}` })
      await ask(name, 'POST', '/v1/users', { id: `only-${name}` })
    }
  })

  it('[T2] asks which tenant, names it in each request, and remembers it in the tab', async () => {
    const { page, complaints } = await world.page()
    const named: (string | undefined)[] = []
    page.on('request', (request) => {
      if (!/\/(?:v1|api)\//.test(request.url())) return
      const isOfAccount = /\/admin\/v1\/(?:session|tenants|admin-api-keys|test-clock|status)\b/.test(
        request.url(),
      )
      if (!isOfAccount) named.push(request.headers()['tenant-id'])
    })
    await enter(page, '/metrics')
    await page.getByRole('heading', { level: 1, name: 'Choose a tenant' }).waitFor()
    await settled(page)
    await expectAccessible(page, 'the tenants')
    expect(named).toEqual([])
    await page.getByLabel('Find a tenant').fill('berr')
    await page.getByRole('button', { name: /^The apple/ }).waitFor({ state: 'detached' })
    await choose(page, 'berry')
    // The page that was opened.
    await page.getByRole('heading', { level: 1, name: 'Metrics' }).waitFor()
    await page.getByRole('link', { name: 'Metric of berry' }).waitFor()
    expect(await page.getByText('Metric of apple').count()).toBe(0)
    expect(new Set(named)).toEqual(new Set([tenants.berry]))
    expect(page.url()).not.toContain(tenants.berry)
    await page.reload()
    await page.getByRole('link', { name: 'Metric of berry' }).waitFor()
    expect(complaints).toEqual([])
    await page.context().close()
  })

  it('[T3] shows nothing of another tenant after a change, also while its answers are on their way', async () => {
    const { page } = await world.page()
    await enter(page, '/users/shared')
    await choose(page, 'apple')
    await page.getByRole('heading', { level: 1, name: 'User of apple' }).waitFor()
    await settled(page)

    // All answers wait: whatever is seen now comes from the browser's own memory.
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    await page.route(/\/(?:v1|api)\/(?!tenants)/, async (route) => {
      await held
      await route.continue().catch(() => undefined)
    })
    // An answer for the first tenant comes after the change.
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await change(page)
    await page.getByRole('heading', { level: 1, name: 'Choose a tenant' }).waitFor()
    await choose(page, 'berry')
    await page.getByRole('main').locator('[aria-busy="true"]').first().waitFor()
    expect(await page.getByText(/apple/).count()).toBe(0)
    release()
    await page.getByRole('heading', { level: 1, name: 'User of berry' }).waitFor()
    await settled(page)
    expect(await page.getByText(/apple/).count()).toBe(0)
    await page.unroute(/\/(?:v1|api)\/(?!tenants)/)

    for (const path of words`/users /metrics /points /metrics/shared /points/shared /audit-log /`) {
      await world.open(page, path)
      expect([path, await page.getByText(/apple/).count()]).toEqual([path, 0])
    }
    // A link that someone with another tenant has sent.
    await world.open(page, '/users/only-apple')
    await page.getByText('There is no user with this id').waitFor()
    await page.context().close()
  })

  it('keeps each tab at its own tenant, and says that a tenant is gone', async () => {
    const first = await world.page()
    const second = await first.page.context().newPage()
    for (const [page, name] of [
      [first.page, 'apple'],
      [second, 'berry'],
    ] as const) {
      await enter(page, '/metrics')
      await choose(page, name)
      await page.getByRole('link', { name: `Metric of ${name}` }).waitFor()
    }
    await first.page.reload()
    await first.page.getByRole('link', { name: 'Metric of apple' }).waitFor()

    const { body } = await world.ask('POST', '/admin/v1/tenants', [
      { name: 'The cherry', customerId: 'cherry' },
    ])
    await change(second)
    await choose(second, 'cherry')
    await second.getByText('Begin with a metric').waitFor()
    await world.ask('DELETE', `/admin/v1/tenants?ids=${body.created[0].id}`)
    await second.getByRole('link', { name: 'Points', exact: true }).click()
    await second.getByText('There is no active tenant of this name.').first().waitFor()
    await change(second)
    await second.getByRole('heading', { level: 1, name: 'Choose a tenant' }).waitFor()
    await settled(second)
    expect(await second.getByText('The cherry').count()).toBe(0)
    await first.page.context().close()
  })

  it('finds a tenant beyond the first ones, and asks for no more than it shows', async () => {
    for (let from = 0; from < 120; from += 60)
      await world.ask(
        'POST',
        '/admin/v1/tenants',
        Array.from({ length: 60 }, (_, nth) => ({
          name: `Shop ${from + nth}`,
          customerId: `shop-${from + nth}`,
        })),
      )
    const { page } = await world.page()
    await enter(page, '')
    await page.getByRole('heading', { level: 1, name: 'Choose a tenant' }).waitFor()
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByRole('button', { name: /^Shop 119/ }).waitFor()
    // A search goes on by itself, and ends if a page of them can't be read.
    const isNext = /tenants\?.*skip=[1-9]/
    const asked: string[] = []
    await page.route(isNext, (route) => {
      asked.push(route.request().url())
      return route.fulfill(REFUSED)
    })
    await page.reload()
    await page.getByLabel('Find a tenant').fill('shop-119')
    await page.getByText('Not now.').waitFor()
    await settled(page)
    expect(asked).toHaveLength(1)
    await page.unroute(isNext)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('button', { name: /^Shop 119/ }).click()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    await page.context().close()
  })
})
