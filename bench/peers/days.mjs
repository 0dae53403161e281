/** Streaks of users who do something every day by their own clock, over weeks in which it changes. */
import { numbersTo } from '../lib/bench.mjs'
import { moveClock, sendEvent } from '../lib/scene.mjs'

/** Days before the change, and from the change on. */
const BEFORE = 3
const AFTER = 4
export const DAYS = BEFORE + AFTER

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const atAnyTime = (/** @type {number} */ day) => 18 * 60 + ((day * 97) % 241)

/** The users: a description, the zone, and the minute of the local day by the number of the day. */
const PEOPLE = /** @type {const} */ ([
  ['New York, every evening at 19:30', 'America/New_York', () => 19 * 60 + 30],
  ['New York, every evening between 18:00 and 22:00', 'America/New_York', atAnyTime],
  ['Berlin, every night at 01:30', 'Europe/Berlin', () => 90],
  ['London, every day at noon', 'Europe/London', () => 12 * 60],
])

/** The zone's offset from UTC in milliseconds, by Intl alone. */
function offsetAt(/** @type {string} */ timeZone, /** @type {number} */ instant) {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
  const name = format.formatToParts(instant).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [0, '+', 0, 0]
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR + Number(minutes) * MINUTE)
}

/** The midnight, as if in UTC, of the local date on which the zone's clock changes next. */
function nextChange(/** @type {string} */ tz, /** @type {number} */ from) {
  for (let at = Math.ceil(from / HOUR) * HOUR; ; at += HOUR)
    if (offsetAt(tz, at) !== offsetAt(tz, at - HOUR)) return Math.floor((at + offsetAt(tz, at)) / DAY) * DAY
}

/** All events of all users over their next two changes, in order of time. */
function plan() {
  const from = Math.ceil(Date.now() / DAY) * DAY + (BEFORE + 1) * DAY
  return PEOPLE.flatMap(([who, tz, minuteOf]) => {
    const first = nextChange(tz, from)
    return [first, nextChange(tz, first + 2 * DAY)].flatMap((change) =>
      numbersTo(DAYS).map((day) => {
        const local = change + (day - BEFORE) * DAY + minuteOf(day) * MINUTE
        // None of these minutes is near the hour that is skipped or repeated.
        const at = local - offsetAt(tz, local - offsetAt(tz, local))
        const date = new Date(change).toISOString().slice(0, 10)
        return { what: `${who}, over ${date}: a streak of ${DAYS} days`, tz, day, at }
      }),
    )
  }).toSorted((a, b) => a.at - b.at)
}

/**
 * Sends all events at their time on the side's clock, which does not return to the present. A header of each
 * request sets the time of the peer.
 *
 * @param {import('../lib/server.mjs').Server} side
 * @param {boolean} isPeer
 * @returns {Promise<Map<string, { length: number; right: number }>>} for each streak, its last length, and
 *   how many responses had the right length
 */
export async function checkDays(side, isPeer) {
  const found = new Map()
  for (const { what, tz, day, at } of plan()) {
    if (isPeer) side.headers = { 'x-test-now': new Date(at).toISOString() }
    else await moveClock(side, at)
    const { body } = await sendEvent(side, what.replace(/\W/g, '-'), { tz })
    const { length } = body.currentStreak
    const right = (found.get(what)?.right ?? 0) + (length === day + 1 ? 1 : 0)
    found.set(what, { length, right })
  }
  return found
}
