import { at } from '../helpers/worker/harness'
import type { Stored, UserRow } from './log'
import type { Story, Told } from './play'
import type { World } from './world'

/** Invariants of the log and of the users' data, after all faults. Each function returns the violations. */

/** A mark identifies an event. User, metric and key identify an idempotency key. */
const keyOf = (user: string, metric: string, key: string) => JSON.stringify([user, metric, key])

/**
 * E2–E4, E9: an event with a response is in the log once, and the response has the total of that moment. An
 * event without a response is there at most once. There is nothing else, and each key is there once.
 */
export function eventsOnce({ ids }: World, { told, done }: Story, stored: Stored): string[] {
  const broken: string[] = []
  const marks = new Map<string, number>()
  const places = new Map<string, { user: string; id: string; total: number }>()
  for (const user of stored.users) {
    const totals = new Map<string, number>()
    for (const event of stored.events.get(user.iid) ?? []) {
      const total = (totals.get(event.metric_id) ?? 0) + event.value
      totals.set(event.metric_id, total)
      const mark = event.attributes?.[ids.mark ?? ''] ?? 'none'
      marks.set(mark, (marks.get(mark) ?? 0) + 1)
      places.set(mark, { user: user.id, id: event.id, total: total / 1e6 })
    }
  }
  const erased = new Map<string, number>()
  for (const one of done) if (one.do === 'erase') erased.set(one.user, one.step)
  const isVoid = ({ sent }: Told) => sent.step <= (erased.get(sent.user) ?? -1)

  const byKey = new Map<string, Told[]>()
  for (const one of told) {
    const { sent, fate, replies } = one
    for (const { status, body } of replies) {
      const place = places.get(sent.mark)
      // A response is that of the event's own moment.
      const isOwn = status === 201 && place?.id === at(body, 'eventId')
      if (isOwn && place?.total !== at(body, 'total'))
        broken.push(`${sent.mark}: the total was ${place?.total}, but a response said ${at(body, 'total')}`)
      if (status === 202 && JSON.stringify(at(body, 'points')) !== '{}')
        broken.push(`${sent.mark}: a repeated key got points`)
    }
    const times = marks.get(sent.mark) ?? 0
    const what = `${sent.mark} (${fate}, ${sent.phase}, ${sent.user}, ${sent.metric}, key ${sent.key})`
    if (isVoid(one)) {
      if (times > 0) broken.push(`${what}: is there, although its user was erased`)
      continue
    }
    if (times > 1) broken.push(`${what}: is in the log ${times} times`)
    if (sent.key !== null) {
      const key = keyOf(sent.user, sent.metric, sent.key)
      byKey.set(key, [...(byKey.get(key) ?? []), one])
      continue
    }
    if (fate === 'recorded' && times !== 1) broken.push(`${what}: is in the log ${times} times`)
    if (fate === 'accepted' && times !== 1 && sent.metric !== 'spend') broken.push(`${what}: is missing`)
    if (fate === 'refused' && times !== 0) broken.push(`${what}: was refused, but is in the log`)
    const own = replies.find(({ status }) => status === 201)
    if (own !== undefined && at(own.body, 'eventId') !== places.get(sent.mark)?.id)
      broken.push(`${what}: is in the log with another id`)
  }
  const known = new Set(told.map(({ sent }) => sent.mark))
  for (const mark of marks.keys()) if (!known.has(mark)) broken.push(`${mark}: nobody sent it`)

  const rows = new Map<string, string[]>()
  const userOf = new Map(stored.users.map(({ id, iid }) => [iid, id]))
  const metricOf = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  for (const { user_iid, metric_id, key, event_id } of stored.keys) {
    const name = keyOf(userOf.get(user_iid) ?? '', metricOf.get(metric_id) ?? '', key)
    rows.set(name, [...(rows.get(name) ?? []), event_id])
  }
  for (const [key, same] of byKey) {
    const found = same.reduce((sum, { sent }) => sum + (marks.get(sent.mark) ?? 0), 0)
    const must = same.some(
      ({ fate, sent }) => fate === 'recorded' || (fate === 'accepted' && sent.metric !== 'spend'),
    )
    const kept = rows.get(key) ?? []
    if (found > 1 || (must && found !== 1)) broken.push(`key ${key}: ${found} events`)
    if (kept.length !== found) broken.push(`key ${key}: ${found} events, but ${kept.length} rows of the key`)
    const eventIds = same.flatMap(({ replies }) =>
      replies.flatMap(({ status, body }) => (status === 201 || status === 202 ? [at(body, 'eventId')] : [])),
    )
    for (const id of eventIds)
      if (id !== kept[0]) broken.push(`key ${key}: a response had the id ${String(id)}`)
    const firsts = same.flatMap(({ replies }) => replies.filter(({ status }) => status === 201))
    if (firsts.length > 1) broken.push(`key ${key}: ${firsts.length} responses were 201`)
  }
  return broken
}

/**
 * P8, P9, E1: totals are the sums of the log. Running totals increase by the awarded points. `seq` counts
 * without gaps.
 */
export function totalsAdd({ ids }: World, stored: Stored): string[] {
  return stored.users.flatMap((user) => [
    ...metricTotals(user, stored),
    ...pointsTotals(user, stored, [ids.xp ?? '', ids.gems ?? '']),
  ])
}

function metricTotals(user: UserRow, { events }: Stored): string[] {
  const sums = new Map<string, { total: number; highest: number }>()
  for (const { metric_id, value } of events.get(user.iid) ?? []) {
    const { total, highest } = sums.get(metric_id) ?? { total: 0, highest: 0 }
    sums.set(metric_id, { total: total + value, highest: Math.max(highest, total + value) })
  }
  const kept = new Map(user.metrics.map(([id, total, highest]) => [id, { total, highest }]))
  const broken: string[] = []
  for (const id of new Set([...sums.keys(), ...kept.keys()])) {
    const [sum, has] = [JSON.stringify(sums.get(id)), JSON.stringify(kept.get(id))]
    if (sum !== has) broken.push(`${user.id}: total of metric ${id} is ${has}, but the log says ${sum}`)
  }
  return broken
}

function pointsTotals(user: UserRow, { awards }: Stored, systems: readonly string[]): string[] {
  const broken: string[] = []
  const own = awards.get(user.iid) ?? []
  for (const system of systems) {
    let total = 0
    for (const award of own) {
      if (award.system_id !== system) continue
      total += award.awarded
      if (award.total !== total)
        broken.push(`${user.id}: award ${award.id} says ${award.total}, but the sum is ${total}`)
      total = award.total
      if (award.awarded === 0) broken.push(`${user.id}: award ${award.id} is 0`)
    }
    const kept = user.points[system] ?? 0
    if (kept !== total) broken.push(`${user.id}: points ${kept}, but the awards add up to ${total}`)
  }
  return broken
}
