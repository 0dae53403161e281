import { describe, expect, test } from 'vitest'
import { Connection, DatabaseError, noCost, type Outcome } from '../../src/platform/database'
import {
  isConflict,
  isDatabaseAway,
  isRefusedByDatabase,
  isTooBig,
  mayBeStored,
} from '../../src/platform/guard'

/** The error that a connection throws if D1 fails with this text. */
async function thrown(text: string): Promise<unknown> {
  const statement = { bind: () => statement }
  const d1 = { prepare: () => statement, batch: () => Promise.reject(new Error(text)) }
  const connection = new Connection('DB', Object.create(d1), noCost())
  return connection.send([{ sql: 'SELECT 1', params: [] }]).catch((error: unknown) => error)
}

/** The texts of D1, as its documents and its sources have them. */
const TEXTS: Record<Outcome, string[]> = {
  conflict: ["bad JSON path: 'laurel-conflict': SQLITE_ERROR", "JSON path error near 'laurel-conflict'"],
  misplaced: ["bad JSON path: 'laurel-misplaced': SQLITE_ERROR", 'no path laurel-misplaced'],
  refused: [
    'no such table: users: SQLITE_ERROR',
    'UNIQUE constraint failed: users.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)',
    'string or blob too big: SQLITE_TOOBIG',
    'Wrong number of parameter bindings for SQL query.',
    "D1_TYPE_ERROR: Type 'undefined' not supported for value 'undefined'",
  ],
  'not stored': [
    'Cannot resolve D1 DB due to transient issue on remote node.',
    'D1 DB is overloaded. Requests queued for too long.',
    'D1 DB is overloaded. Too many requests queued.',
    'Exceeded maximum DB size.',
    'database is locked: SQLITE_BUSY',
    'database or disk is full: SQLITE_FULL',
    'attempt to write a readonly database: SQLITE_READONLY',
    'attempt to write a readonly database: SQLITE_READONLY (extended: SQLITE_READONLY_DBMOVED)',
    'unable to open database file: SQLITE_CANTOPEN',
    'out of memory: SQLITE_NOMEM',
  ],
  unknown: [
    'Network connection lost.',
    'D1 DB reset because its code was updated.',
    'Internal error while starting up D1 DB storage caused object to be reset.',
    'Internal error in D1 DB storage caused object to be reset.',
    'D1 DB storage operation exceeded timeout which caused object to be reset.',
    "D1 DB's isolate exceeded its memory limit and was reset.",
    'D1 DB exceeded its CPU time limit and was reset.',
    "Can't read from request stream because client disconnected.",
    'Failed to parse body as JSON, got: error code: 1031, the statement was overloaded',
    'internal error; reference = 0a1b2c',
    'disk I/O error: SQLITE_IOERR (extended: SQLITE_IOERR_WRITE)',
    'database disk image is malformed: SQLITE_CORRUPT (extended: SQLITE_CORRUPT_INDEX)',
    'file is not a database: SQLITE_NOTADB',
    'a text that D1 did not have before',
  ],
}

const all = Object.entries(TEXTS).flatMap(([outcome, texts]) => texts.map((text) => ({ outcome, text })))

describe('[G2] an error of D1', () => {
  test.each(all)('has one form, with and without the prefix: $outcome, $text', async ({ outcome, text }) => {
    for (const form of [text, `D1_ERROR: ${text}`]) {
      const error = await thrown(form)
      expect(error).toBeInstanceOf(DatabaseError)
      expect(error).toMatchObject({ outcome, message: `D1_ERROR (${outcome}): ${text}` })
      expect(isDatabaseAway(error)).toBe(outcome === 'unknown' || outcome === 'not stored')
      expect(mayBeStored(error)).toBe(outcome === 'unknown')
      expect(isConflict(error)).toBe(outcome === 'conflict')
    }
  })

  test('is known as one if an object passes only its text on', async () => {
    const error = await thrown('Network connection lost.')
    expect(isDatabaseAway(new Error(String(error)))).toBe(true)
    expect(isDatabaseAway(new Error(String(await thrown('no such table: x: SQLITE_ERROR'))))).toBe(false)
  })

  test('of another origin is none, whatever its text says', () => {
    for (const texts of Object.values(TEXTS))
      for (const text of texts) {
        const error = new Error(`D1_ERROR: ${text}`)
        for (const isSo of [isDatabaseAway, mayBeStored, isConflict, isRefusedByDatabase, isTooBig])
          expect(isSo(error)).toBe(false)
      }
  })
})
