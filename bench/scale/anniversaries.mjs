/**
 * Measures a day without anniversaries, and a day on which one user in 358 has one. All users are copies of a
 * user that the interface has made. So a million are there in seconds.
 */
import { join } from 'node:path'
import { fixed, save, sumOf } from '../lib/bench.mjs'
import { copyUser } from '../lib/copies.mjs'
import { DATABASES } from '../lib/laurel.mjs'
import { create, moveClock, stepsUntil, userId } from '../lib/scene.mjs'
import { begin, DAY, HOUR } from './scene.mjs'

/** The days of the year on which users have signed up. The other seven days have no anniversaries. */
const DAYS = 358
/** From east to west. Their midnights of a date are within the day that begins at 14:00 UTC the day before. */
const ZONES = ['Asia/Tokyo', 'UTC', 'America/Los_Angeles']
const YEARS = 2

export async function measureAnniversaries(/** @type {number} */ users) {
  const { server } = await begin('anniversaries')
  const day = Math.floor(Date.now() / DAY) + 3
  await moveClock(server, (day - 2) * DAY)
  const trigger = { trigger: 'anniversary', anniversaryYears: YEARS, status: 'active' }
  await create(server, '/achievements', { name: 'Two years', ...trigger })
  const first = `${new Date(day * DAY).getUTCFullYear() - YEARS}${new Date(day * DAY).toISOString().slice(4, 10)}`
  await server.ask('PUT', `/v1/users/${userId(0)}`, { body: { signUpDate: first, tz: ZONES[0] } })
  await server.stop()
  const signed = `date('${first}', (n % ${DAYS}) || ' days')`
  const zone = `('${JSON.stringify(ZONES)}' ->> (n % ${ZONES.length}))`
  await copyUser(join(server.folder, DATABASES), users, {
    ...{ tz: zone, sign_up_date: signed, anniversary: `substr(${signed}, 6) || ' ' || ${zone}` },
  })
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

/** Moves the clock by a day. Returns what the anniversaries of that day took. */
async function measureDay(/** @type {import('./scene.mjs').Server} */ server, /** @type {number} */ to) {
  const { looked: before = 0 } = server.noted
  const { seconds, steps } = await stepsUntil(server, to, 'anniversaries')
  const [read, written] = [sumOf(steps, ({ d1 }) => d1.rowsRead), sumOf(steps, ({ d1 }) => d1.rowsWritten)]
  const due = sumOf(steps, (step) => step.users)
  return { due, looked: (server.noted.looked ?? 0) - before, read, written, seconds }
}
