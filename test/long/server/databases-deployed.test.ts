/** `npm run databases` and `npm run restored` of a deployment. The usual ways are in test/server/databases.test.ts. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { cloudflare, databaseBlock } from '../../helpers/server/cloudflare'
import { directoryOf } from '../../helpers/server/local-state'

const scene = cloudflare()
const databases = (...args: string[]) => scene.run('databases', args)
const restored = () => scene.run('restored', [])
const toml = () => readFileSync(scene.file('wrangler.toml'), 'utf8')

describe('npm run databases', () => {
  it('[B3] a dry run changes nothing, and prints all of it, with names after the first one', async () => {
    scene.configure((text) => text.replace('"laurel"\nmig', '"acme-laurel"\nmig') + databaseBlock(2))
    const before = toml()
    const { code, output } = await databases('add', '--dry-run')
    expect([code, toml()], output).toEqual([0, before])
    expect(output).toMatch(
      /^Without --location.*Nothing was changed.*create the D1 acme-laurel-3\n.*after DB_2:\n.*binding = "DB_3"\n *database_name = "acme-laurel-3".*apply the migrations to acme-laurel-3\n.*npm run deploy/s,
    )
  })

  it('[B3] changes nothing before the first deployment, and if the D1 cannot be created', async () => {
    const before = toml()
    expect(await databases('add')).toMatchObject({
      code: 1,
      output: expect.stringContaining('Run `npm run deploy` first. Nothing was changed.'),
    })
    await scene.deployed(['laurel'])
    await scene.control({ faults: [{ call: 'POST /d1/database', how: 500 }] })
    expect(await databases('add')).toMatchObject({
      code: 1,
      output: expect.stringContaining('answered 500'),
    })
    expect(toml()).toBe(before)
  })

  it('[B3] goes on with a D1 that an earlier run has created', async () => {
    await scene.deployed(['laurel'])
    await scene.control({ faults: [{ call: 'POST /d1/database', how: 'lost' }] })
    expect(await databases('add')).toMatchObject({ code: 1 })
    await scene.control({ faults: [{ call: 'POST /d1/database/[^/]+/import init', how: 500 }] })
    const { output } = await databases('add')
    expect(output).toMatch(/stays bound as DB_2.*npm run deploy/)
    expect(toml()).toContain('"DB_2"')
    expect((await scene.control()).databases.map(({ name }) => name)).toEqual(['laurel', 'laurel-2'])
  })

  it('[B3] takes no D1 of another deployment', async () => {
    const other = ['--built', '--url', scene.origin, '--location', 'weur', '--name', 'laurel-2']
    expect(await scene.run('deploy', other)).toMatchObject({ code: 0 })
    expect(await scene.run('deploy', other.slice(0, -2))).toMatchObject({ code: 0 })
    const before = toml()
    expect(await databases('add')).toMatchObject({
      code: 1,
      output: expect.stringContaining('The D1 database laurel-2 belongs to the Worker laurel-2.'),
    })
    expect(toml()).toBe(before)
  })

  it('prints its usage, with the code 2 for other words', async () => {
    const usage = expect.stringContaining('npm run databases -- add --dry-run')
    expect(await databases()).toEqual({ code: 0, output: usage })
    for (const words of [['remove'], ['add', '2'], ['add', '--force']])
      expect(await databases(...words)).toEqual({ code: 2, output: usage })
    expect((await scene.control()).calls).toEqual([])
  })
})

describe('npm run restored', () => {
  const NOON = Date.UTC(2026, 10, 22, 12)
  const at = (moment: number) => `UPDATE restores SET moment = ${moment}`
  /** Two databases: their moments, and which ones hold users. */
  const restore = async (second: string, places = '[[0,"DB"],[2048,"DB_2"]]') => {
    await scene.deployed(['laurel', 'laurel-2'])
    await scene.control({
      database: { name: 'laurel', sql: `${at(NOON)}; ${directoryOf(JSON.parse(places))}` },
    })
    await scene.control({ database: { name: 'laurel-2', sql: second } })
    scene.configure((text) => text + databaseBlock(2))
  }
  const tells = async () => (await scene.control()).queries.filter((sql) => sql.includes('UPDATE'))

  it('[M1] refuses if the databases are not at one moment, and says at which each is', async () => {
    await restore(at(NOON + 3_600_000))
    const { code, output } = await restored()
    expect([code, await tells()], output).toEqual([1, []])
    expect(output).toMatch(
      /DB \(laurel\) {6}2026-11-22T12:00:00.000Z\n {2}DB_2 \(laurel-2\) {2}2026-11-22T13:00:00.000Z/,
    )
    expect(output).toContain('npm run wrangler -- d1 time-travel restore laurel-2 --timestamp=TIME')
    expect(output).toContain('TIME is in UTC, such as 2026-11-22T10:00:00Z.')
    expect(output).toContain('docs/operations.md#restore-several-databases')
  })

  it('[M1] says which database to restore or to replace if one has no state', async () => {
    await restore('DELETE FROM restores')
    const { code, output } = await restored()
    expect([code, await tells()], output).toEqual([1, []])
    expect(output).toContain('DB_2 (laurel-2) has no row in the table restores')
    expect(output).toMatch(/Restore DB_2 \(laurel-2\) to the moment of the others.*put a new, empty one/)
  })

  it('[M1] takes a new, empty database for one that was added after that moment', async () => {
    await restore('', '[[0,"DB"]]')
    const { code, output } = await restored()
    expect([code, (await tells()).length], output).toEqual([0, 2])
  })

  it('[M1] refuses if a database is missing that held users at that moment', async () => {
    await restore(at(NOON), '[[0,"DB_3"]]')
    const { code, output } = await restored()
    expect([code, await tells()], output).toEqual([1, []])
    expect(output).toContain('At the restored moment, DB_3 held users')
  })

  it('[M1] refuses the same of a single database, and asks for no moment of it', async () => {
    await scene.deployed(['laurel'])
    const told = { database: { name: 'laurel', sql: directoryOf([[0, 'DB_2']]) } }
    await scene.control(told)
    const { code, output } = await restored()
    expect([code, await tells()], output).toEqual([1, []])
    expect(output).toContain('At the restored moment, DB_2 held users')
    await scene.control({ database: { name: 'laurel', sql: directoryOf([[0, 'DB']]) } })
    expect(await restored()).toMatchObject({ code: 0 })
    expect(await tells()).toEqual([expect.stringMatching(/^laurel: UPDATE restores SET epoch = max\(/)])
  })
})
