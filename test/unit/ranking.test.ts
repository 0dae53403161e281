import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/leaderboards/board'
import { Ranking } from '../../src/leaderboards/object/ranking'
import { amountOf, scoreOf } from '../../src/leaderboards/score.rules'
import { compareText } from '../../src/lib/ids'

/** L4's order, from the rule alone. Texts are compared by their UTF-8 bytes. */
function inOrder(entries: Iterable<Entry>): Entry[] {
  return [...entries]
    .filter(({ score }) => amountOf(score) > 0)
    .sort((a, b) => {
      if (a.score !== b.score) return amountOf(b.score) - amountOf(a.score)
      if (a.reached !== b.reached) return a.reached - b.reached
      return Buffer.compare(Buffer.from(a.userId), Buffer.from(b.userId))
    })
}

const change = fc.record({
  user: fc.nat(11),
  score: fc.integer({ min: -2, max: 5 }).map(scoreOf),
  reached: fc.nat(3),
  leaves: fc.boolean(),
})

describe('a ranking in memory', () => {
  test('[L4, L5] has the best of all entries after every change, and says when it cannot know', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(change, { maxLength: 60 }), (max, changes) => {
        const all = new Map<string, Entry>()
        let ranking = new Ranking([], max)
        for (const { user, score, reached, leaves } of changes) {
          const iid = `i${user}`
          const before = all.get(iid) ?? null
          const after = leaves && before !== null ? null : { userId: `u${user}`, iid, score, reached }
          if (after === null) all.delete(iid)
          else all.set(iid, after)
          ranking.replace(before, after)
          const truth = inOrder(all.values())
          if (ranking.isStale) {
            expect(truth.length).toBeGreaterThanOrEqual(max - 1)
            ranking = new Ranking(truth.slice(0, max), max)
          }
          expect(ranking.entries).toEqual(truth.slice(0, max))
          expect(ranking.threshold).toBe(truth.length >= max ? truth[max - 1]?.score : null)
          for (const entry of all.values()) {
            const index = truth.slice(0, max).findIndex((one) => one.iid === entry.iid)
            expect(ranking.rankOf(entry)).toBe(index < 0 ? null : index + 1)
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  test('[L4] texts are in the order of their UTF-8 bytes, as in the store', () => {
    const text = fc.string({ unit: 'binary', maxLength: 4 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        const expected = Buffer.compare(Buffer.from(a), Buffer.from(b))
        expect(Math.sign(compareText(a, b))).toBe(expected)
      }),
      { numRuns: 5_000 },
    )
    expect(compareText('\uffff', '\u{10000}')).toBeLessThan(0)
  })
})
