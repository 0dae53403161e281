/** Streaks of users who do something every day by their own clock, over weeks in which it changes. */
import { Temporal } from 'temporal-polyfill'
import { numbersTo } from '../lib/bench.mjs'
import { moveClock, sendEvent } from '../lib/scene.mjs'

/** Days before the change, and from the change on. */
const BEFORE = 3
const AFTER = 4
export const DAYS = BEFORE + AFTER

/** The users: a description, the zone, and the minute of the local day by the number of the day. */
const PEOPLE = /** @type {[string, string, (day: number) => number][]} */ ([
  ['New York, every evening at 19:30', 'America/New_York', () => 19 * 60 + 30],
  [
    'New York, every evening between 18:00 and 22:00',
    'America/New_York',
    (day) => 18 * 60 + ((day * 97) % 241),
  ],
  ['Berlin, every night at 01:30', 'Europe/Berlin', () => 90],
  ['London, every day at noon', 'Europe/London', () => 12 * 60],
])

/** All events of all users over their next two changes of clocks, in order of time. */
function plan() {
  const from = Temporal.Now.zonedDateTimeISO('UTC')
    .startOfDay()
    .add({ days: BEFORE + 2 })
  return PEOPLE.flatMap(([who, tz, minuteOf]) => {
    const first = from.withTimeZone(tz).getTimeZoneTransition('next')
    return [first, first?.getTimeZoneTransition('next')].flatMap((change) =>
      numbersTo(DAYS).map((day) => {
        const date = change?.toPlainDate().add({ days: day - BEFORE })
        const plainTime = Temporal.PlainTime.from('00:00').add({ minutes: minuteOf(day) })
        // None of these minutes is near the hour that is skipped or repeated.
        const at = date?.toZonedDateTime({ timeZone: tz, plainTime }).epochMilliseconds ?? 0
        return { what: `${who}, over ${change?.toPlainDate()}: a streak of ${DAYS} days`, tz, day, at }
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
