import { dateIn, plusMonths } from '../oracle/calendar.oracle'
import type { Stored, UserRow } from './log'
import type { World } from './world'

/** Invariants of counters, and of one points system that only its triggers change. */

/**
 * A5, E9, U8, W2: counters are equal to a count of the rows. Nothing waits any more, and no data of erased
 * users is left.
 */
export function countsAre({ ids }: World, { users, counts, tenantCounters }: Stored): string[] {
  const broken = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]))
  const compare = (name: string, tallied: number | undefined, counted: number) => {
    if ((tallied ?? 0) !== counted)
      broken.push(`the counter of ${name} is ${tallied}, but there are ${counted}`)
  }
  compare('users', tenantCounters.get('users'), users.length)
  for (const key of ['far', 'hello', 'loyal', 'both', 'kinds', 'later', 'year']) {
    const having = users.filter((user) => completed(user, ids[key]))
    compare(key, tenantCounters.get(ids[key] ?? ''), having.length)
  }
  return broken
}

const completed = ({ achievements }: UserRow, id: string | undefined) =>
  achievements.some(([achievement]) => achievement === id)

/** The interval of the ticks, in milliseconds. */
const TICK = 6 * 3_600_000

/** P1, P2, P4, U6: each user has exactly the awards of the system that follow from the log. */
export function awardsAre({ ids, began }: World, now: number, { users, awards, events }: Stored): string[] {
  return users.flatMap((user) => {
    const own = (awards.get(user.iid) ?? []).filter(({ system_id }) => system_id === ids.xp)
    const by = (name: string) => own.filter(({ trigger_id }) => trigger_id === ids[name])
    const sum = (name: string) => by(name).reduce((total, { awarded }) => total + awarded, 0)
    const highest = (metric: string) => user.metrics.find(([id]) => id === ids[metric])?.[2] ?? 0
    const expected = {
      'xp welcome': 50,
      'xp steps': 5 * Math.floor(highest('steps') / 10e6),
      'xp words': 2 * Math.floor(highest('words') / 3e6),
      'xp hello': completed(user, ids.hello) ? 30 : 0,
    }
    const broken = Object.entries(expected).flatMap(([name, points]) =>
      sum(name) === points ? [] : [`${user.id}: ${sum(name)} points by ${name}, not ${points}`],
    )
    const due = new Set<number>()
    for (let at = began + TICK; at <= now; at += TICK) if (at >= user.created) due.add(at)
    const ticks = by('xp hours').map(({ at }) => at)
    for (const at of new Set(ticks)) {
      if (!due.delete(at))
        broken.push(`${user.id}: an award for a tick at ${new Date(at).toISOString()} that is not due`)
    }
    due.delete(user.created)
    if (due.size > 0) broken.push(`${user.id}: ${due.size} ticks are missing`)
    if (ticks.length !== new Set(ticks).size) broken.push(`${user.id}: a tick was granted twice`)
    const done = new Set(user.achievements.map(([id]) => id))
    let words = 0
    let mostOfKind = 0
    for (const event of events.get(user.iid) ?? []) {
      if (event.metric_id !== ids.words || event.attributes?.[ids.kind ?? ''] !== 'a') continue
      words += event.value
      mostOfKind = Math.max(mostOfKind, words)
    }
    const should = {
      far: highest('steps') >= 20e6,
      kinds: mostOfKind >= 10e6,
      both: done.has(ids.far ?? '') && done.has(ids.hello ?? ''),
    }
    for (const [key, must] of Object.entries(should)) {
      if (done.has(ids[key] ?? '') !== must)
        broken.push(`${user.id}: ${key} is ${must ? 'missing' : 'too much'}`)
    }
    // A later date takes nothing back (A7).
    const { sign_up_date: date, tz } = user
    if (date !== null && plusMonths(date, 12) <= dateIn(tz ?? 'UTC', now) && !done.has(ids.year ?? ''))
      broken.push(`${user.id}: year is missing`)
    return broken
  })
}
