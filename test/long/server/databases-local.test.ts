/**
 * `npm run restored` with several databases, and `npm start` with more or fewer of them than before. The usual
 * ways of the scripts are in test/server/databases.test.ts.
 */
import { readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownProject, restoredDatabases } from '../../helpers/server/deployments'
import { EXISTS, migrateCalls } from '../../helpers/server/fake-wrangler'
import { launch, newProject } from '../../helpers/server/harness'
import { directoryOf, inState, leftOf, THREE } from '../../helpers/server/local-state'

const root = join(import.meta.dirname, '..', '..', '..')

describe('of a deployment', () => {
  const project = ownProject()

  describe('npm run restored', () => {
    const { NOON, state, answer, tells } = restoredDatabases(project)

    it('[M1] says which database to restore or to replace if one has no state', async () => {
      answer([])
      const { code, output } = await project.run('restored')
      expect([code, tells()], output).toEqual([1, []])
      expect(output).toContain('DB_2 (laurel-2) has no row in the table restores')
      expect(output).toMatch(/Restore DB_2 \(laurel-2\) to the moment of the others.*put a new, empty one/)
    })

    it('[M1] takes a new, empty database for one that was added after that moment', async () => {
      answer(state(null, 0), '[[0,"DB"]]')
      const { code, output } = await project.run('restored')
      expect([code, tells().length], output).toEqual([0, 2])
    })

    it('[M1] refuses if a database is missing that held users at that moment', async () => {
      answer(state(NOON), '[[0,"DB_3"]]')
      const { code, output } = await project.run('restored')
      expect([code, tells()], output).toEqual([1, []])
      expect(output).toContain('At the restored moment, DB_3 held users')
    })

    it('[M1] refuses the same of a single database', async () => {
      project.configure((text) => text)
      answer(state(NOON))
      const { code, output } = await project.run('restored')
      expect([code, tells()], output).toEqual([1, []])
      expect(output).toContain('At the restored moment, DB_2 held users')
    })

    it('[M1] asks for no moment of a single database', async () => {
      project.configure((text) => text)
      expect(await project.run('restored')).toMatchObject({ code: 0 })
      expect(project.calls()).toEqual([
        ...migrateCalls('laurel'),
        EXISTS,
        expect.stringMatching(
          /^d1 execute laurel --remote --yes --command UPDATE restores SET epoch = max\(/,
        ),
      ])
    })
  })
})

describe('of npm start', () => {
  let folder: string
  beforeAll(async () => {
    folder = await newProject()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** A start that ends by itself. */
  const start = async (databases: string) => {
    const starting = await launch({ folder, env: { DATABASES: databases } })
    const { code, leftovers } = await starting.ended()
    return { code, leftovers, output: starting.output() }
  }

  it('[B3] all databases get all migrations, and a start without one that holds users says what to do', async () => {
    const count = 'SELECT count(*) AS count FROM d1_migrations'
    const applied = readdirSync(join(root, 'migrations')).filter((name) => name.endsWith('.sql')).length
    expect(
      await inState(folder, 3, [
        [1, count],
        [2, count],
        [3, count],
        [1, directoryOf(THREE)],
      ]),
    ).toEqual([...Array(3).fill([{ count: applied }]), []])
    for (const [databases, name] of [
      ['1', 'DB_2 and DB_3 hold users'],
      ['2', 'DB_3 holds users'],
    ] as const)
      expect(await start(databases)).toEqual({
        code: 1,
        leftovers: [],
        output: expect.stringMatching(new RegExp(`${name}.*DATABASES=3 again.*"DB_3":0`, 's')),
      })
    await inState(folder, 3, [[1, leftOf('DB_3')]])
    expect(await start('2')).toEqual({
      code: 1,
      leftovers: [],
      output: expect.stringMatching(
        /Rows of users who have left DB_3 are still being deleted there\.\nStart with DATABASES=3 again/,
      ),
    })
  })

  it('[B3] an error names a wrong number of databases', async () => {
    expect(await start('three')).toMatchObject({
      code: 1,
      output: expect.stringContaining('DATABASES must be a whole number from 1 to 100.\n'),
    })
  })
})
