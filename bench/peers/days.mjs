/**
 * Streaks of users who do something every day by their own clock, over the weeks in which that clock changes.
 */

/** Days before the change and from the change on. */
const BEFORE = 3
const AFTER = 4

const MINUTE = 60_000
const DAY = 86_400_000

/** @typedef {import('./side.mjs').Side} Side */

/** The users: a description, the zone, and the minute of the local day by the number of the day. */
const PEOPLE = /** @type {const} */ ([
  { who: 'New York, every evening at 19:30', tz: 'America/New_York', minute: () => 19 * 60 + 30 },
  {
    who: 'New York, every evening between 18:00 and 22:00',
    tz: 'America/New_York',
    minute: (/** @type {number} */ day) => 18 * 60 + ((day * 97) % 241),
  },
  { who: 'Berlin, every night at 01:30', tz: 'Europe/Berlin', minute: () => 90 },
  { who: 'London, every day at noon', tz: 'Europe/London', minute: () => 12 * 60 },
])

/**
 * One user over one change: the number of days in a row, the length of the streak in the last response, and
 * how many responses had the right length.
 *
 * @typedef {{ who: string; change: string; right: number; answered: number; days: number; rightAnswers:
 *   number }} Streak
 */

/** The local date and the minutes since local midnight, by Intl alone. */
function local(/** @type {string} */ tz, /** @type {number} */ instant) {
  const options = /** @type {const} */ ({ year: 'numeric', month: '2-digit', day: '2-digit' })
  const format = new Intl.DateTimeFormat('en-US', {
    ...options,
    timeZone: tz,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, value]))
  return {
    date: `${parts.year}-${parts.month}-${parts.day}`,
    minute: Number(parts.hour) * 60 + Number(parts.minute),
  }
}

/** The zone's offset from UTC in minutes, at a whole minute. */
function offset(/** @type {string} */ tz, /** @type {number} */ instant) {
  const { date, minute } = local(tz, instant)
  return (Date.parse(`${date}T00:00:00Z`) + minute * MINUTE - instant) / MINUTE
}

/** The moments of the next two changes of the zone's clock after `from`, to the hour. */
function changes(/** @type {string} */ tz, /** @type {number} */ from) {
  const found = []
  let at = Math.ceil(from / (60 * MINUTE)) * 60 * MINUTE
  for (; found.length < 2; at += 60 * MINUTE) {
    if (offset(tz, at) !== offset(tz, at - 60 * MINUTE)) found.push(at)
  }
  return found
}

/**
 * The moment that is `minute` minutes after midnight on a local date. That minute must exist exactly once.
 */
function instantOf(/** @type {string} */ tz, /** @type {number} */ day, /** @type {number} */ minute) {
  const civil = day + minute * MINUTE
  for (const guess of [civil - DAY / 2, civil + DAY / 2]) {
    const at = civil - offset(tz, guess) * MINUTE
    const found = local(tz, at)
    if (found.minute === minute && found.date === new Date(day).toISOString().slice(0, 10)) return at
  }
  throw new Error(`${tz} has no minute ${minute} on ${new Date(day).toISOString()}`)
}

/** The number of local dates in a row that end with the last of these moments. */
function daysInARow(/** @type {string} */ tz, /** @type {number[]} */ instants) {
  const days = new Set(instants.map((at) => Date.parse(`${local(tz, at).date}T00:00:00Z`)))
  let day = Math.max(...days)
  let length = 0
  for (; days.has(day); day -= DAY) length += 1
  return length
}

/** All events of all users over their next two changes, in order of time. */
function plan() {
  const from = Math.ceil(Date.now() / DAY) * DAY + (BEFORE + 1) * DAY
  const events = PEOPLE.flatMap(({ who, tz, minute }, person) =>
    changes(tz, from).flatMap((change, index) => {
      const first = Date.parse(`${local(tz, change).date}T00:00:00Z`) - BEFORE * DAY
      return Array.from({ length: BEFORE + AFTER }, (_, day) => ({
        who,
        tz,
        user: `days-${person}-${index}`,
        change: local(tz, change).date,
        at: instantOf(tz, first + day * DAY, minute(day)),
      }))
    }),
  )
  return events.toSorted((a, b) => a.at - b.at)
}

/**
 * Sends all events at their time on the side's clock. The clock does not return to the present. @returns
 * {Promise<Streak[]>}
 */
export async function checkDays(/** @type {Side} */ side) {
  const found = new Map(/** @type {[string, Streak][]} */ ([]))
  const sent = new Map(/** @type {[string, number[]][]} */ ([]))
  let now = 0
  for (const { who, tz, user, change, at } of plan()) {
    if (at > now) await side.at(at)
    now = at
    const { status, body } = await side.event(user, 1, { tz })
    if (status !== 201)
      throw new Error(`${side.name}: an event was answered ${status}: ${JSON.stringify(body)}`)
    const instants = [...(sent.get(user) ?? []), at]
    sent.set(user, instants)
    const right = daysInARow(tz, instants)
    const answered = Number(body.currentStreak.length)
    const before = found.get(user)?.rightAnswers ?? 0
    const rightAnswers = before + (answered === right ? 1 : 0)
    found.set(user, { who, change, right, answered, days: instants.length, rightAnswers })
  }
  return [...found.values()].toSorted((a, b) => a.change.localeCompare(b.change))
}
