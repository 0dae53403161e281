/** The databases of `npm start` and `npm run serve` in a folder, while no server runs. */
import { createHash, createHmac } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { nameOf } from '../../../scripts/lib/databases.mjs'

type Row = Record<string, unknown>

/** The folder with the data of `npm start`. */
export const STATE = join('.laurel', 'data')

/** The file of a database, by its number from 1. workerd makes the name of it: the id of the object. */
export function databaseFile(data: string, number: number): string {
  const hashOf = (by: Buffer, what: Buffer | string) =>
    createHmac('sha256', by).update(what).digest().subarray(0, 16)
  const ofClass = createHash('sha256').update('laurel-Database').digest()
  const named = hashOf(ofClass, nameOf(number))
  const id = Buffer.concat([named, hashOf(ofClass, named)]).toString('hex')
  return join(data, 'objects', 'laurel-Database', `${id}.sqlite`)
}

/** Does work in the database of a file. */
export function inFile<Result>(file: string, work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(file)
  try {
    return work(database)
  } finally {
    database.close()
  }
}

/** Runs a text of statements in a database, or answers the rows of a SELECT. */
export const inDatabase = (data: string, number: number, sql: string): Row[] =>
  inFile(databaseFile(data, number), (database) => {
    if (sql.startsWith('SELECT')) return database.prepare(sql).all()
    database.exec(sql)
    return []
  })

/**
 * Lets the test clock show a moment from the first start on (C1): a last migration of this build alone sets it, before
 * anything else is in the databases. A request moves it by a year at most. Changes nothing after the first start.
 */
export function beginClock(folder: string, moment: number): void {
  const file = join(folder, 'dist', 'serve', 'migrations.json')
  const name = '9999_test_clock.sql'
  const sql = `INSERT INTO test_clock (id, now) VALUES (1, ${moment})`
  const migrations: { name: string }[] = JSON.parse(readFileSync(file, 'utf8'))
  // Another start in the folder may have added it.
  const others = migrations.filter((one) => one.name !== name)
  writeFileSync(file, JSON.stringify([...others, { name, sql }]))
}

/** The statements that write a directory of one tenant. */
export const directoryOf = (places: readonly [firstBucket: number, database: string][]): string =>
  `DELETE FROM directory;
INSERT INTO directory (tenant_id, version, places, placements)
VALUES ('t', 1, '${JSON.stringify(places)}', '{}')`

/** The statements of a tenant whose users are in the first database only, and have left others. */
export const leftOf = (...names: string[]): string =>
  `${directoryOf([[0, 'DB']])};
INSERT INTO due_work (tenant_id, kind, subject, due_at, progress)
VALUES ('t', 'moves', '', 0, '${progressOf(names)}')`

const progressOf = (names: readonly string[]) =>
  JSON.stringify({ no: 1, move: null, left: names.map((name) => ({ name, at: 0 })) })

/** Users in each of three databases. */
export const THREE: readonly [number, string][] = [
  [0, 'DB'],
  [1365, 'DB_2'],
  [2730, 'DB_3'],
]
