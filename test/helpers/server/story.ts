/**
 * Compares the webhook events that an endpoint received with the public interface's data of the same users.
 * No code of the service decides here which value is right.
 */
import { expect } from 'vitest'

/**
 * JSON without a schema, because this test reads only a few fields. The tests of the Worker check it against
 * the contract.
 */
export const json = (text: string) => Object(JSON.parse(text))
type Json = ReturnType<typeof json>

/** A request with the admin key, which works for both interfaces. */
export type Send = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Json }>

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** The pauses after failed attempts, in milliseconds (W4). */
const PAUSES = [1, 5, 30, 120, 360, 720].map((minutes) => minutes * MINUTE)

/** A request to the webhook. */
export type Sent = { id: string; body: string; ok: boolean }

/** One message. It may have been sent several times. */
export type Told = { id: string; type: string; body: Json; user: string | null; at: number; failures: number }

/** The time in an id, in milliseconds. Ids are UUIDs of version 7 (G4). */
export const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

/**
 * The messages in the order in which they arrived. Each must have arrived, with the same body on every
 * attempt.
 */
export function arrived(requests: readonly Sent[]): Told[] {
  const bodies = new Map<string, string>()
  const failures = new Map<string, number>()
  const first = new Map<string, Told>()
  for (const { id, body: text, ok } of requests) {
    expect(bodies.get(id) ?? text).toBe(text)
    bodies.set(id, text)
    if (!ok && !first.has(id)) failures.set(id, (failures.get(id) ?? 0) + 1)
    if (!ok || first.has(id)) continue
    const body = json(text)
    first.set(id, {
      id,
      type: body.type,
      body,
      user: body.user?.id ?? null,
      at: timeOf(id),
      failures: failures.get(id) ?? 0,
    })
  }
  expect([...bodies.keys()].filter((id) => !first.has(id))).toEqual([])
  return [...first.values()]
}

const byTime = (told: readonly Told[]) => told.toSorted((a, b) => a.at - b.at)

/** The identity of the change that a message reports. No two messages have the same. */
function occasionOf({ id, type, user, body }: Told): string {
  const rest = () => {
    if (type === 'achievement.completed' || type === 'emails.achievement_due') return body.achievement.id
    if (type === 'streak.started' || type === 'streak.extended') return body.streak.periodStart
    if (type === 'points.changed') return `${body.points.key} ${body.points.total}`
    if (type === 'points.level_changed') return body.newLevel?.key
    if (type.startsWith('points.boost')) return body.boost.id
    if (type.startsWith('emails.')) return body.timestamp
    return id
  }
  return `${type} ${user} ${rest()}`
}

/** The order that bodies alone show for messages about a user: strands, and the message's place in each. */
function placesOf({ type, body }: Told): [string, number | string][] {
  const step: [string, number] = ['step', Number(body.user?.attributes?.step ?? 0)]
  switch (type) {
    case 'streak.started':
    case 'streak.extended':
      return [step, ['streak', body.streak.periodStart]]
    case 'achievement.completed':
      return [step, ['achievement', body.achievement.achievedAt]]
    case 'points.changed':
      return [[body.points.key, body.points.total]]
    case 'points.level_changed':
      return [step, ['level', body.newLevel.points]]
    case 'streak.lost':
    case 'streak.freeze_consumed':
      return [step]
    default:
      return type.startsWith('emails.') ? [['due', body.timestamp]] : []
  }
}

/**
 * Pairs of messages about one user that arrived in the wrong order. A message that has not arrived blocks the
 * later ones for an hour (W4). If the pauses of failed attempts at that time add up to an hour, later
 * messages may pass it.
 */
export function disorder(told: readonly Told[]): string[] {
  const found: string[] = []
  for (const theirs of Map.groupBy(told, ({ user }) => user).values()) {
    theirs.forEach((early, index) => {
      if (early.user === null) return
      for (const late of theirs.slice(index + 1)) {
        const strands = new Map(placesOf(early))
        const passed = placesOf(late).filter(([strand, place]) => {
          const before = strands.get(strand)
          return before !== undefined && place < before
        })
        if (passed.length === 0) continue
        const near = theirs.filter(({ at }) => Math.abs(at - late.at) <= HOUR)
        const paused = near.flatMap(({ failures }) => PAUSES.slice(0, failures)).reduce((a, b) => a + b, 0)
        if (paused < HOUR) found.push(`${label(late)} after ${label(early)} (${passed.join()})`)
      }
    })
  }
  return found
}

const label = ({ type, user, id, at, failures }: Told) =>
  `${type} of ${user} ${id} ${new Date(at).toISOString()} failed ${failures}`

/** The webhook events that a response to an event implies, as texts. */
export function promised(user: string, answer: Json): string[] {
  const { achievements, currentStreak, points } = answer
  const streak = currentStreak.length === 1 ? 'streak.started' : 'streak.extended'
  return [
    ...achievements.map(({ key, achievedAt }: Json) => `achievement.completed ${user} ${key} ${achievedAt}`),
    ...(currentStreak.extended
      ? [`${streak} ${user} ${currentStreak.length} ${currentStreak.periodStart}`]
      : []),
    ...Object.entries<Json>(points).flatMap(([key, { level, awards }]) => [
      ...(level ? [`points.level_changed ${user} ${key} ${level.key}`] : []),
      ...awards.map(({ id, awarded, total }: Json) => `award ${user} ${key} ${id} ${awarded} ${total}`),
    ]),
  ]
}

/** The same texts, from a received message. */
export function kept({ type, user, body }: Told): string[] {
  switch (type) {
    case 'achievement.completed':
      return [`${type} ${user} ${body.achievement.key} ${body.achievement.achievedAt}`]
    case 'streak.started':
    case 'streak.extended':
      return [`${type} ${user} ${body.streak.length} ${body.streak.periodStart}`]
    case 'points.level_changed':
      return [`${type} ${user} ${body.points.key} ${body.newLevel?.key}`]
    case 'points.changed':
      return body.points.awards.map(
        ({ id, awarded, total }: Json) => `award ${user} ${body.points.key} ${id} ${awarded} ${total}`,
      )
    default:
      return []
  }
}

/** Compares all received messages about a user with the user's current data, from nothing on. */
export async function compareUser(send: Send, told: readonly Told[], id: string): Promise<void> {
  const ask = async (path: string) => (await send('GET', `/v1/users/${id}${path}`)).body
  const mine = byTime(told.filter(({ user }) => user === id))
  const of = (...types: string[]) => mine.filter(({ type }) => types.includes(type))

  const achievements = (await ask('/achievements')).map(({ id: one, achievedAt }: Json) => [one, achievedAt])
  const completed = of('achievement.completed').map(({ body }) => [
    body.achievement.id,
    body.achievement.achievedAt,
  ])
  expect([id, completed.toSorted()]).toEqual([id, achievements.toSorted()])

  const streak = await ask('/streak?historyPeriods=20')
  const expected: [string, number][] = []
  let length = 0
  let consumed = 0
  for (const period of streak.streakHistory) {
    if (period.length > length)
      expected.push([length === 0 ? 'streak.started' : 'streak.extended', period.length])
    if (period.length === 0 && length > 0) expected.push(['streak.lost', length])
    if (period.usedFreeze) {
      expected.push(['streak.freeze_consumed', 1])
      consumed += 1
    }
    length = period.length
  }
  const streaks = of('streak.started', 'streak.extended', 'streak.lost', 'streak.freeze_consumed').map(
    ({ type, body }) => [type, body.streak?.length ?? body.length ?? body.consumed],
  )
  expect([id, streaks]).toEqual([id, expected])
  const earned = of('streak.freeze_earned').reduce((sum, { body }) => sum + body.earned, 0)
  // Each user begins with one freeze.
  expect([id, earned]).toEqual([id, streak.freezes - 1 + consumed])

  for (const key of ['xp', 'coins']) {
    const points = await ask(`/points/${key}?awards=100`)
    const changes = of('points.changed')
      .filter(({ body }) => body.points.key === key)
      .toSorted((a, b) => a.body.points.total - b.body.points.total)
    const sum = changes.reduce((all, { body }) => all + body.points.added, 0)
    const awards = changes.flatMap(({ body }) => body.points.awards.map((award: Json) => award.id))
    expect([id, key, sum, changes.at(-1)?.body.points.total ?? 0]).toEqual([
      id,
      key,
      points.total,
      points.total,
    ])
    const listed = points.awards.map((award: Json) => award.id)
    expect(listed.length).toBeLessThan(100)
    expect([id, key, awards.toSorted()]).toEqual([id, key, listed.toSorted()])
    // Points only grow here. Messages of the same moment are ordered by their bodies alone.
    const levels = of('points.level_changed')
      .filter(({ body }) => body.points.key === key)
      .toSorted((a, b) => a.body.newLevel.points - b.body.newLevel.points)
    const path = levels.map(({ body }) => body.newLevel?.key)
    expect([id, key, levels.map(({ body }) => body.previousLevel?.key)]).toEqual([
      id,
      key,
      levels.length === 0 ? [] : [undefined, ...path.slice(0, -1)],
    ])
    expect(path.at(-1)).toBe(points.level?.key)
  }

  const place = await ask('/leaderboards/board')
  const moves = of('leaderboard.rank_changed').map(({ body }) => body.leaderboard)
  const ranks = moves.map(({ rank }) => rank)
  // A change of only the value sends no message.
  expect([id, ranks.at(-1)]).toEqual([id, place.rank])
  expect([id, moves.map(({ previousRank }) => previousRank)]).toEqual([id, [null, ...ranks.slice(0, -1)]])
}

/** Checks the messages that are about no user, and that a user gets each one-time message once. */
export async function compareRest(send: Send, told: readonly Told[]): Promise<void> {
  const occasions = told.map(occasionOf)
  expect(occasions.filter((reason, index) => occasions.indexOf(reason) !== index)).toEqual([])
  const count = (type: string) => told.filter((one) => one.type === type).length
  expect([count('points.boost_started'), count('points.boost_finished')]).toEqual([1, 1])
  expect(count('leaderboard.started')).toBe(1)
  const { body } = await send('GET', '/v1/leaderboards/board')
  const last = byTime(told.filter(({ type }) => type === 'leaderboard.changed')).at(-1)
  const placesIn = (rankings: Json[]) => rankings.map(({ userId, rank, value }) => [userId, rank, value])
  expect(placesIn(last?.body.leaderboard.rankings ?? [])).toEqual(placesIn(body.rankings))
}
