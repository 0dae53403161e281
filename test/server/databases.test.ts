/**
 * Scripts of a deployment with several databases: `npm run databases` and `npm run restored`.
 * test/long/server/databases-deployed.test.ts has the other ways.
 */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { cloudflare, databaseBlock } from '../helpers/server/cloudflare'

const scene = cloudflare()
const toml = () => readFileSync(scene.file('wrangler.toml'), 'utf8')

it('[B3] npm run databases creates a D1, binds it, applies the migrations, and says what comes next', async () => {
  await scene.deployed(['laurel'])
  const before = toml()
  const { code, output } = await scene.run('databases', ['add', '--jurisdiction', 'eu'])
  expect(code, output).toBe(0)
  const [first, second] = (await scene.control()).databases
  expect(second).toMatchObject({ name: 'laurel-2', place: 'eu', tables: first?.tables })
  const block = `${databaseBlock(2)}migrations_dir = "migrations"\n`
  expect(toml().replace(block, '')).toBe(before)
  expect(toml()).toContain(block)
  expect(output).toMatch(/npm run deploy.*GET \/admin\/v1\/databases/s)
  expect(output).not.toContain('Without --location')
  expect(output).toContain('Commit wrangler.toml before you deploy: every later deployment needs this block.')
  expect(output).toMatch(/With MULTI_TENANCY=on.*new tenants.*POST \/admin\/v1\/databases\/rebalance/)
})

it('[M1] npm run restored migrates each database and tells each, the first one last, with one epoch', async () => {
  await scene.deployed(['laurel', 'laurel-2'], { isMigrated: false })
  scene.configure((text) => text + databaseBlock(2))
  const { code, output } = await scene.run('restored', [])
  expect(code, output).toBe(0)
  expect(output).toContain('Laurel knows of the restore.')
  const { databases, queries } = await scene.control()
  const [epoch = 0, ...others] = databases.map((database) => database.epoch)
  expect([epoch > 0, others]).toEqual([true, [epoch]])
  expect(queries.filter((sql) => sql.includes('UPDATE restores'))).toEqual([
    expect.stringMatching(/^laurel-2: UPDATE restores SET epoch = \d+, redone/),
    expect.stringMatching(/^laurel: UPDATE restores SET epoch = \d+, progress/),
  ])
})
