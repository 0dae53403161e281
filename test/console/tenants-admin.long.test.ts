/** The management of tenants in a real browser, from none to one that is erased. */
import { describe, expect, it } from 'vitest'
import { expectAccessible, hasBrowser, settled } from './browser'
import { sharedWorld } from './world'

const world = sharedWorld({ env: { MULTI_TENANCY: 'on' } })

describe.skipIf(!hasBrowser)('tenants', () => {
  it('[T2, T3, Z1] are created, archived and erased; the log of the account has it', async () => {
    const { page, complaints } = await world.page()
    const confirm = (name: string) => page.getByRole('alertdialog').getByRole('button', { name }).click()
    const stored = async () => Object.values((await world.ask('GET', '/admin/v1/tenants')).body)
    await page.goto(`${world.server.url}/console/settings`)
    await page.getByLabel('Admin API key').fill(world.server.adminKey)
    await page.getByRole('button', { name: 'Sign in' }).click()

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
    await page.getByText('The tenant is being erased').waitFor()
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
    // The page may still read a tenant that is gone.
    expect(complaints.filter((text) => !/status of 404/.test(text))).toEqual([])
  })
})
