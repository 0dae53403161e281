/*
 * Counts the figures of the analytics again (I1, I2), from everything that each user has, without sums,
 * ranges or changes. Imports nothing of the service. Days are local days since 1970-01-01.
 */

export type OracleUser = {
  /** The local day of the creation. */
  created: number
  isControl: boolean
  /** The present length of the streak. */
  length: number
  completions: readonly { achievement: string; day: number }[]
  /** The events of the log. `value` is in millionths. */
  events: readonly { metric: string; day: number; value: number }[]
  /** The entries of the ledger; those without a trigger are adjustments. */
  entries: readonly { system: string; day: number; points: number; trigger: string | null }[]
  /** The UTC day on which the user was erased. The other fields are those of the last pass before that. */
  erased: number | null
}

export type OracleLevel = { key: string; points: number }
type Range = { from: number; to: number }

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const daysOf = ({ from, to }: Range) => Array.from({ length: to - from + 1 }, (_, nth) => from + nth)

/** The users with an event on one of the last `count` days up to `day`. */
const activeUsers = (users: readonly OracleUser[], day: number, count = 1) =>
  users.filter(({ events }) => events.some((event) => event.day <= day && event.day > day - count)).length

function cohort(users: readonly OracleUser[], { from, to }: Range, window: number) {
  const all = users.filter(({ created }) => created >= from && created <= to)
  const after = (n: number) => {
    const old = all.filter(({ created }) => created + n <= to)
    const kept = old.filter(({ created, events }) => events.some(({ day }) => day === created + n))
    return { users: old.length, kept: kept.length }
  }
  return {
    ...{ users: all.length, d1: after(1), d7: after(7), d30: after(30) },
    window: { days: window, ...after(window) },
  }
}

/** The first lengths of the classes of streaks. */
const CLASSES = [0, 1, 2, 7, 30, 100]

/** The overview without `updated`; `date` is a day, and `window` the setting. An erased user has a streak until the day is over. */
export function overviewOf(
  users: readonly OracleUser[],
  systems: readonly string[],
  { window, ...range }: Range & { window: number },
  today: number,
) {
  const on = (day: number) => ({
    events: users.flatMap(({ events }) => events.filter((event) => event.day === day)),
    completions: users.flatMap(({ completions }) => completions.filter((one) => one.day === day)),
    entries: users.flatMap(({ entries }) => entries.filter((entry) => entry.day === day)),
  })
  const present = users.filter(({ erased }) => erased === null || erased >= today)
  const cohortOf = (control: boolean) =>
    cohort(
      users.filter(({ isControl }) => isControl === control),
      range,
      window,
    )
  return {
    series: daysOf(range).map((day) => {
      const { events, completions, entries } = on(day)
      const points = systems.map((system) => {
        const own = entries.filter((entry) => entry.system === system)
        return [system, sum(own.map((entry) => entry.points))] as const
      })
      return {
        ...{ date: day, events: events.length, achievements: completions.length },
        ...{ activeUsers: activeUsers(users, day), points: Object.fromEntries(points) },
        newUsers: users.filter(({ created }) => created === day).length,
      }
    }),
    active: {
      day: activeUsers(users, range.to),
      week: activeUsers(users, range.to, 7),
      month: activeUsers(users, range.to, 30),
    },
    retention: { control: cohortOf(true), others: cohortOf(false) },
    streaks: CLASSES.map((from, index) => {
      const next = CLASSES[index + 1] ?? Number.POSITIVE_INFINITY
      const held = present.filter(({ length }) => length >= from && length < next)
      return { from, to: next === Number.POSITIVE_INFINITY ? null : next - 1, users: held.length }
    }),
  }
}

/** The figures of a metric; `total` is in millionths. */
export const metricOf = (users: readonly OracleUser[], metric: string, range: Range) =>
  daysOf(range).map((day) => {
    const own = users.map(({ events }) => events.filter((one) => one.metric === metric && one.day === day))
    return {
      date: day,
      events: own.flat().length,
      total: sum(own.flat().map(({ value }) => value)),
      activeUsers: own.filter((events) => events.length > 0).length,
    }
  })

/** The figures of a points system. Maps have no entries of 0. */
export const pointsOf = (
  users: readonly OracleUser[],
  system: string,
  levels: readonly OracleLevel[],
  range: Range,
) =>
  daysOf(range).map((day) => {
    const ofSystem = ({ entries }: OracleUser) => entries.filter((one) => one.system === system)
    const today = users.flatMap(ofSystem).filter((one) => one.day === day)
    const byTrigger = new Map<string, number>()
    for (const { trigger, points } of today)
      if (trigger !== null) byTrigger.set(trigger, (byTrigger.get(trigger) ?? 0) + points)
    const byLevel = new Map<string, number>()
    let holders = 0
    for (const user of users) {
      const { created, erased } = user
      if (created > day || (erased !== null && day > erased)) continue
      const total = sum(ofSystem(user).flatMap((one) => (one.day <= day ? one.points : [])))
      if (total > 0) holders += 1
      const level = levels.filter(({ points }) => points <= total).sort((a, b) => b.points - a.points)[0]
      if (level !== undefined) byLevel.set(level.key, (byLevel.get(level.key) ?? 0) + 1)
    }
    const added = sum(today.map(({ points }) => points))
    const maps = { byTrigger: withoutZeros(byTrigger), byLevel: withoutZeros(byLevel) }
    return { date: day, added, ...maps, users: holders }
  })

/** A map as an object, without numbers that are 0. */
export const withoutZeros = (numbers: ReadonlyMap<string, number>) =>
  Object.fromEntries([...numbers].filter(([, number]) => number !== 0))

export const completionsOf = (users: readonly OracleUser[], achievement: string, range: Range) => {
  const days = users
    .flatMap(({ completions }) => completions.filter((one) => one.achievement === achievement))
    .map(({ day }) => day)
  return daysOf(range).map((date) => ({ date, completions: days.filter((day) => day === date).length }))
}
