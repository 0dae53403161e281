/**
 * Scripts of a deployment with several databases: `npm run databases` and `npm run restored`, with a wrangler
 * that only notes its calls. test/long/server/databases-local.test.ts has the other ways.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ownProject, restoredDatabases } from '../helpers/server/deployments'
import { CREATED, databaseBlock, migrateCalls } from '../helpers/server/fake-wrangler'

const root = join(import.meta.dirname, '..', '..')

describe('of a deployment', () => {
  const project = ownProject()

  const toml = () => readFileSync(project.file('wrangler.toml'), 'utf8')

  describe('npm run databases', () => {
    const CREATE = 'd1 create laurel-2'
    const MIGRATE = migrateCalls('laurel-2')
    const add = (...args: string[]) => project.run('databases', 'add', ...args)

    it('[B3] creates a D1, binds it, applies the migrations, and says what comes next', async () => {
      const before = toml()
      const { code, output } = await add()
      expect([code, project.calls()], output).toEqual([0, [CREATE, ...MIGRATE]])
      const block = `\n[[d1_databases]]\nbinding = "DB_2"\ndatabase_name = "laurel-2"\ndatabase_id = "${CREATED}"\nmigrations_dir = "migrations"\n`
      expect(toml().replace(block, '')).toBe(before)
      expect(toml()).toContain(block)
      expect(output).toMatch(/npm run deploy.*GET \/admin\/v1\/databases/s)
      const place = 'Without --location, Cloudflare makes the D1 near this computer.'
      expect(output).toContain(place)
      expect(output).toContain(
        'Commit wrangler.toml before you deploy: every later deployment needs this block.',
      )
      expect(output).toMatch(/With MULTI_TENANCY=on.*new tenants.*POST \/admin\/v1\/databases\/rebalance/)
      const inEurope = await add('--jurisdiction', 'eu')
      expect(inEurope).toMatchObject({ code: 0, output: expect.not.stringContaining(place) })
      expect(project.calls().slice(3)).toEqual([
        'd1 create laurel-3 --jurisdiction eu',
        ...migrateCalls('laurel-3'),
      ])
    })

    it('[B3] a dry run changes nothing, and prints all of it', async () => {
      project.configure((text) => `${text}\n${databaseBlock(2, 'laurel-2')}`)
      const before = toml()
      const { code, output } = await add('--dry-run')
      expect([code, project.calls(), toml()], output).toEqual([0, [], before])
      expect(output).toMatch(/^Nothing was changed/m)
      expect(output).toMatch(/wrangler d1 create laurel-3\n.*after DB_2:\n.*binding = "DB_3"/s)
      expect(output).toContain('apply the migrations to laurel-3\n')
      expect(output).toContain('npm run deploy')
    })

    it('[B3] names the D1 after the first one, which may not be called laurel', async () => {
      project.configure((text) => text.replace('database_name = "laurel"', 'database_name = "acme-laurel"'))
      const { code, output } = await add()
      expect([code, project.calls()], output).toEqual([
        0,
        ['d1 create acme-laurel-2', ...migrateCalls('acme-laurel-2')],
      ])
      expect(toml()).toContain('binding = "DB_2"\ndatabase_name = "acme-laurel-2"\n')
      expect((await add('--dry-run')).output).toMatch(
        /d1 create acme-laurel-3.*database_name = "acme-laurel-3".*migrations to acme-laurel-3\n/s,
      )
    })

    it('[B3] changes nothing if the D1 cannot be created', async () => {
      const before = toml()
      writeFileSync(project.file('fail'), CREATE)
      const { code, output } = await add()
      expect([code, project.calls(), toml()], output).toEqual([1, [CREATE], before])
      expect(output).toContain('wrangler.toml was not changed')
      expect(output).toContain('only if this deployment made it and no other deployment uses it')
    })

    it('[B3] says that the database stays bound if its migrations fail', async () => {
      writeFileSync(project.file('fail'), MIGRATE[1] ?? '')
      const { code, output } = await add()
      expect([code, project.calls()], output).toEqual([1, [CREATE, ...MIGRATE]])
      expect(toml()).toContain('"DB_2"')
      expect(output).toMatch(/stays bound as DB_2.*npm run deploy/)
    })

    it('[B3] calls nothing while the first database does not exist', async () => {
      writeFileSync(project.file('wrangler.toml'), readFileSync(join(root, 'wrangler.toml')))
      expect(await add()).toMatchObject({ code: 1, output: expect.stringContaining('database_id of DB') })
      expect(project.calls()).toEqual([])
    })

    it('prints its usage, with the code 2 for other words', async () => {
      const usage = expect.stringContaining('npm run databases -- add --dry-run')
      expect(await project.run('databases')).toEqual({ code: 0, output: usage })
      for (const words of [['remove'], ['add', '2'], ['add', '--force']])
        expect(await project.run('databases', ...words)).toEqual({ code: 2, output: usage })
      expect(project.calls()).toEqual([])
    })
  })

  describe('npm run restored', () => {
    const { NOON, state, answer, tells } = restoredDatabases(project)

    it('[M1] refuses if the databases are not at one moment, and says at which each is', async () => {
      answer(state(NOON + 3_600_000))
      const { code, output } = await project.run('restored')
      expect([code, tells()], output).toEqual([1, []])
      expect(output).toMatch(
        /DB \(laurel\) {6}2026-11-22T12:00:00.000Z\n {2}DB_2 \(laurel-2\) {2}2026-11-22T13:00:00.000Z/,
      )
      expect(output).toContain('npx wrangler d1 time-travel restore laurel-2 --timestamp=TIME')
      expect(output).toContain('TIME is in UTC, such as 2026-11-22T10:00:00Z.')
      expect(output).toContain('docs/operations.md#restore-several-databases')
    })

    it('[M1] migrates each and tells each, the first one last, with one epoch', async () => {
      answer(state(NOON))
      const { code, output } = await project.run('restored')
      expect(code, output).toBe(0)
      expect(project.calls().slice(0, 4)).toEqual([...migrateCalls('laurel'), ...migrateCalls('laurel-2')])
      const [second = '', first = '', ...more] = tells()
      expect(more).toEqual([])
      const [, epoch] = /^d1 execute laurel-2 .*SET epoch = (\d+), redone = \1/.exec(second) ?? []
      expect(Number(epoch)).toBeGreaterThan(NOON)
      expect(first).toMatch(new RegExp(`^d1 execute laurel --remote .*SET epoch = ${epoch}, progress = NULL`))
      expect(output).toContain('Laurel knows of the restore.')
    })
  })
})
