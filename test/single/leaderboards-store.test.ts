import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { BoardStore } from '../../src/leaderboards/object/board.sql'
import { amountOf } from '../../src/leaderboards/score.rules'
import { Sql } from '../../src/platform/objects'

/** The platform's limit for one text, in bytes. The runtime of the tests has no limit. */
const LONGEST = 2_000_000

/** An object's SQLite that refuses the same statements as the platform. */
class Strict extends Sql {
  override rows<T extends Record<string, string | number | null>>(
    statement: string,
    ...values: (string | number | null)[]
  ): T[] {
    const isTooLong = (value: unknown) =>
      typeof value === 'string' && new TextEncoder().encode(value).length > LONGEST
    if (values.some(isTooLong)) throw new Error('string or blob too big: SQLITE_TOOBIG')
    return super.rows<T>(statement, ...values)
  }
}

const GROUPS = 40
const FILL = `
  WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
  INSERT INTO scores (user_id, iid, run, grp, score, reached, cursor, grouped)
  SELECT 'user ' || ?1 || ' ' || i, '018f0000-0000-7000-8000-' || printf('%012d', ?1 * 1000 + i), 0,
    json_array('g' || ?1),
    1000000 + i, i, 1, 1 FROM n`

describe('the day’s end of a leaderboard with many groups', () => {
  it('[L10] is recorded once, for any number of changed ranks', async () => {
    const id = env.LEADERBOARD.newUniqueId()
    await runInDurableObject(env.LEADERBOARD.get(id), (_, { storage }) => {
      const store = new BoardStore(new Strict(storage))
      const count = (table: string) => Number(storage.sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n)
      const end = (day: number) => store.snapshot(0, day, 1_000, amountOf)
      for (let group = 0; group < GROUPS; group += 1) storage.sql.exec(FILL, group)
      end(1)
      expect([count('history'), count('standings')]).toEqual([GROUPS * 1_000, GROUPS * 1_000])
      end(2)
      expect(count('history')).toBe(GROUPS * 1_000)
      storage.sql.exec('UPDATE scores SET score = -score')
      end(3)
      expect([count('history'), count('standings')]).toEqual([2 * GROUPS * 1_000, 0])
    })
  })
})
