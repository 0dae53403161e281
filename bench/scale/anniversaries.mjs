/**
 * Measures a day without anniversaries, and a day on which one user in 358 has one. All users are copies of a
 * user that the interface has made. So a million are there in seconds.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fixed, save, sumOf } from '../lib/bench.mjs'
import { create, moveClock, stepsUntil, userId } from '../lib/scene.mjs'
import { begin, DATABASES, DAY, HOUR } from './scene.mjs'

/** The days of the year on which users have signed up. The other seven days have no anniversaries. */
const DAYS = 358
/** From east to west. Their midnights of a date are within the day that begins at 14:00 UTC the day before. */
const ZONES = ['Asia/Tokyo', 'UTC', 'America/Los_Angeles']
const YEARS = 2

/** Copies of the only user: each has a day of the year and a zone of its own. */
const FILL = `
  WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < :users - 1),
    copies AS (SELECT n, date(:first, (n % ${DAYS}) || ' days') AS signed, :zones ->> (n % ${ZONES.length}) AS zone
      FROM numbers)`
/** The columns in which they differ. */
const COPIED = {
  ...{ id: "'user-' || n", iid: "printf('%s%012x', substr(iid, 1, 24), n)", tz: 'zone' },
  ...{ sign_up_date: 'signed', anniversary: "substr(signed, 6) || ' ' || zone" },
}

export async function measureAnniversaries(/** @type {number} */ users) {
  const { server } = await begin('anniversaries')
  const day = Math.floor(Date.now() / DAY) + 3
  await moveClock(server, (day - 2) * DAY)
  const trigger = { trigger: 'anniversary', anniversaryYears: YEARS, status: 'active' }
  await create(server, '/achievements', { name: 'Two years', ...trigger })
  const first = `${new Date(day * DAY).getUTCFullYear() - YEARS}${new Date(day * DAY).toISOString().slice(4, 10)}`
  await server.ask('PUT', `/v1/users/${userId(0)}`, { body: { signUpDate: first, tz: ZONES[0] } })
  await server.stop()
  await fill(server, { users, first })
  await server.start()
  const begins = (day - 1) * DAY + 14 * HOUR
  await moveClock(server, begins - DAY)
  const days = [await measureDay(server, begins), await measureDay(server, begins + DAY)]
  const head = [`${fixed(users)} users`, 'due', 'looked ahead: rows read', 'rows read', 'rows written', 's']
  const lines = days.map(({ due, looked, read, written, seconds }, index) => [
    index === 0 ? 'a day on which nobody has one' : 'the next day',
    ...[due, looked, read, written].map((one) => fixed(one)),
    fixed(seconds, 1),
  ])
  save('anniversaries', [head, ...lines], { users, days })
}

/** Makes the copies in the file of the database. No Worker may run. */
async function fill(/** @type {import('./scene.mjs').Server} */ { folder }, { users, first }) {
  const { DatabaseSync } = await import('node:sqlite')
  const files = readdirSync(join(folder, DATABASES)).filter((name) => /^\w{64}\.sqlite$/.test(name))
  const database = new DatabaseSync(join(folder, DATABASES, String(files[0])))
  const columns = database.prepare("SELECT name FROM pragma_table_info('users')").all()
  const values = columns.map(({ name }) => Object(COPIED)[String(name)] ?? name)
  const copies = database.prepare(`${FILL} INSERT OR REPLACE INTO users SELECT ${values} FROM copies, users`)
  copies.run({ users, first, zones: JSON.stringify(ZONES) })
  database.close()
}

/** Moves the clock by a day. Returns what the anniversaries of that day took. */
async function measureDay(/** @type {import('./scene.mjs').Server} */ server, /** @type {number} */ to) {
  const lookedSoFar = async () => (await server.ask('GET', '/bench/longest')).body.looked
  const before = await lookedSoFar()
  const { seconds, steps } = await stepsUntil(server, to, 'anniversaries')
  const [read, written] = [sumOf(steps, ({ d1 }) => d1.rowsRead), sumOf(steps, ({ d1 }) => d1.rowsWritten)]
  const due = sumOf(steps, (step) => step.users)
  return { due, looked: (await lookedSoFar()) - before, read, written, seconds }
}
