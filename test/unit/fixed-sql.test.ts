import { expect, test } from 'vitest'
import type { FixedSql } from '../../src/platform/database'

/* `npm run types` checks this. */

const taken = <const T extends string>(sql: T & FixedSql<T>): string => sql

test('SQL that goes into a query of another file is a constant: a text that is built at run time does not have the type', () => {
  const most = 5
  const input = String(Math.random())
  expect(taken('(SELECT 1)')).toBe('(SELECT 1)')
  expect(taken(`(SELECT ${most})` as const)).toBe('(SELECT 5)')
  expect(taken(most > 4 ? '(SELECT 1)' : '(SELECT 2)')).toBe('(SELECT 1)')
  // @ts-expect-error: a text
  taken(input)
  // @ts-expect-error: a text in a constant
  taken(`(SELECT '${input}')` as const)
  // @ts-expect-error: either
  taken(most > 4 ? '(SELECT 1)' : input)
})
