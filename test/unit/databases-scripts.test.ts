/** How scripts name, count and bind several databases, and what they refuse. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { demandServed } from '../../scripts/lib/databases.mjs'
import { demandDeployable } from '../../scripts/lib/deployment.mjs'
import { databasesInUse } from '../../scripts/lib/directory.mjs'
import { differingMoments } from '../../scripts/lib/moments.mjs'
import { nextEpoch } from '../../scripts/lib/restored.mjs'
import { boundDatabases, withDatabase } from '../../scripts/lib/wrangler-toml.mjs'

const toml = readFileSync(join(import.meta.dirname, '..', '..', 'wrangler.toml'), 'utf8')

describe('[B3] a database that is in use is not left out', () => {
  const places = (...lists: string[]) => lists.map((one) => ({ places: one, progress: null }))
  const progress = (...list: object[]) => list.map((one) => ({ places: null, progress: JSON.stringify(one) }))

  it('names the databases with at least one bucket, of all tenants', () => {
    const spread = '[[0,"DB"],[1365,"DB_2"],[2730,"DB_3"]]'
    const used = (...lists: string[]) => databasesInUse(places(...lists)).used
    expect(used(spread, '[[0,"DB_4"]]')).toEqual(['DB', 'DB_2', 'DB_3', 'DB_4'])
    expect(used('[[0,"DB_3"],[0,"DB"],[4096,"DB_2"]]')).toEqual(['DB'])
    expect(used()).toEqual([])
  })

  it('names the databases to which users move, and those with rows of users who have left', () => {
    const rows = progress(
      { no: 1, move: { source: 'DB', target: 'DB_4' }, left: [{ name: 'DB_3', at: 5 }] },
      {
        no: 2,
        move: null,
        left: [
          { name: 'DB_2', at: 5 },
          { name: 'DB_3', at: 6 },
        ],
      },
      { no: 3 },
    )
    expect(databasesInUse(rows)).toEqual({ used: ['DB_4'], left: ['DB_2', 'DB_3'] })
  })

  const inUse = (used: string[], left: string[] = []) => ({ used, left })

  it('a start refuses, and says how to start again and how to empty it', () => {
    expect(() => demandServed(inUse(['DB', 'DB_2'], ['DB_2']), 2)).not.toThrow()
    expect(() => demandServed(inUse(['DB', 'DB_3']), 2)).toThrow(
      /DB_3 holds users.*DATABASES=3.*\{"DB_3":0\}.*0 buckets in DB_3/s,
    )
    expect(() => demandServed(inUse(['DB_10', 'DB', 'DB_2']), 1)).toThrow(
      /DB_2 and DB_10 hold users.*DATABASES=10.*\{"DB_2":0,"DB_10":0\}/s,
    )
    expect(() => demandServed(inUse(['DB'], ['DB_3']), 2)).toThrow(
      /Rows of users who have left DB_3 are still being deleted there.*DATABASES=3 again. Wait some minutes/s,
    )
  })

  it('a deployment refuses, and says what to do', () => {
    expect(() => demandDeployable(inUse(['DB', 'DB_2'], ['DB_2']), 2)).not.toThrow()
    expect(() => demandDeployable(inUse(['DB_2', 'DB_3'], ['DB_2']), 1)).toThrow(
      /DB_2 and DB_3 hold users, but wrangler.toml does not bind them.*Put their blocks back.*\{"DB_2":0,"DB_3":0\}/s,
    )
    expect(() => demandDeployable(inUse(['DB'], ['DB_2']), 1)).toThrow(
      'Rows of users who have left DB_2 are still being deleted there. Nothing was changed. Wait some minutes',
    )
  })
})

describe('[B3] wrangler.toml', () => {
  it('gets a block after the last database, and keeps all else', () => {
    const two = withDatabase(toml, 2)
    const added = `\n[[d1_databases]]\nbinding = "DB_2"\ndatabase_name = "laurel-2"\nmigrations_dir = "migrations"\n`
    expect(two).toContain(`migrations_dir = "migrations"\n${added}\n# The data to check a key`)
    expect(two.replace(added, '')).toBe(toml)
    const three = withDatabase(two, 3)
    expect(three.indexOf('"DB_3"')).toBeGreaterThan(three.indexOf('"DB_2"'))
    expect([toml, two, three].map(boundDatabases)).toEqual([1, 2, 3])
  })

  it('names a further database after the first one', () => {
    const named = toml.replace('database_name = "laurel"', "database_name = 'acme-laurel'")
    const two = withDatabase(named, 2)
    expect(two).toContain('binding = "DB_2"\ndatabase_name = "acme-laurel-2"\n')
    expect(withDatabase(two, 3)).toContain('"DB_3"\ndatabase_name = "acme-laurel-3"\n')
  })

  it('keeps its line breaks, and may end with a database', () => {
    const text = '# Mine\r\n[[d1_databases]]\r\nbinding = "DB"\r\n# The end'
    const two = withDatabase(text, 2)
    expect(two).toMatch(/^# Mine\r\n\[\[d1_databases\]\]\r\nbinding = "DB"\r\n\r\n\[\[d1_databases\]\]\r\n/)
    expect(two).toMatch(/migrations_dir = "migrations"\r\n# The end$/)
    expect(two.replaceAll('\r\n', '')).not.toContain('\n')
    expect(boundDatabases(two)).toBe(2)
  })

  it('is refused with a gap, and databases of others do not count', () => {
    const other = '[[d1_databases]]\nbinding = "OTHER"\n'
    expect(boundDatabases(`${toml}\n${other}`)).toBe(1)
    expect(() => boundDatabases(`${toml}\n[[d1_databases]]\nbinding = "DB_3"\n`)).toThrow(
      /binding DB_2\..*Put its block back. Never rename another one/,
    )
  })
})

describe('[M1] a restore of several databases', () => {
  const at = (binding: string, moment: number | null, hasUsers = 1) => ({
    ...{ binding, name: binding.toLowerCase(), moment, hasUsers },
  })

  it('is at one moment if all have the same noted time, or none has one', () => {
    expect(differingMoments([at('DB', 5), at('DB_2', 5)], ['DB', 'DB_2'])).toBeUndefined()
    expect(differingMoments([at('DB', null), at('DB_2', null)], ['DB', 'DB_2'])).toBeUndefined()
  })

  it('says which database is at which moment if they differ', () => {
    const found = differingMoments([at('DB', 5000), at('DB_2', 5000), at('DB_10', 65_000)], ['DB'])
    expect(found).toBe(
      '  DB (db)        1970-01-01T00:00:05.000Z\n  DB_2 (db_2)    1970-01-01T00:00:05.000Z\n  DB_10 (db_10)  1970-01-01T00:01:05.000Z',
    )
    expect(differingMoments([at('DB', 5000), at('DB_2', null)], ['DB'])).toContain(
      'DB_2 (db_2)  before any noted',
    )
  })

  it('does not ask for the moment of an empty database, unless the directory names it', () => {
    const databases = [at('DB', 5000), at('DB_2', null, 0)]
    expect(differingMoments(databases, ['DB'])).toBeUndefined()
    expect(differingMoments(databases, ['DB', 'DB_2'])).toContain('DB_2')
    expect(differingMoments([at('DB', 5000), at('DB_2', 6000, 0)], ['DB'])).toContain('DB_2')
  })

  it('has one epoch that no database and no configuration has used', () => {
    const state = { moment: null, hasUsers: 0 }
    const states = [
      { ...state, epoch: 7, version: 3 },
      { ...state, epoch: 5, version: 20 },
    ]
    expect([nextEpoch(states, 1), nextEpoch(states, 100)]).toEqual([21, 100])
  })
})
