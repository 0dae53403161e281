/** Lets alarms of objects, and the time that databases read, follow the time of the tests (test/helpers/time.ts). */
import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { fromReal, toReal } from '../time'

/** Statements with the present moment, also those of migrations with their triggers. */
const moved = (sql: string) =>
  sql
    .replaceAll("unixepoch('subsec')", `(unixepoch('subsec') - ${toReal(0) / 1000})`)
    .replaceAll('unixepoch()', `CAST(unixepoch('subsec') - ${toReal(0) / 1000} AS INTEGER)`)

const databases: D1Database = Object.getPrototypeOf(env.DB)
const { prepare } = databases
databases.prepare = function (sql) {
  return prepare.call(this, moved(sql))
}

const storages = await runInDurableObject(
  env.DELETIONS.getByName('any'),
  (_, { storage }): DurableObjectStorage => Object.getPrototypeOf(storage),
)
const { getAlarm, setAlarm } = storages
storages.getAlarm = async function (options) {
  const at = await getAlarm.call(this, options)
  return at === null ? null : fromReal(at)
}
storages.setAlarm = function (at, options) {
  return setAlarm.call(this, toReal(Number(at)), options)
}
