/**
 * Checks that filled users are as Laurel reports users: by the public API and the log, with the bench's own
 * sums.
 */
import { BOARD, METRIC, SYSTEM, userId } from '../scene.mjs'
import { AWARD, eventsOf, isLive } from './rows.mjs'

const CHECKED = 100
const PAGE = 100
/** The places of the leaderboard. */
export const PLACES = 1000
const DAY = 86_400_000

/** @typedef {import('../server.mjs').Server} Server */

/**
 * Throws unless 100 random users are consistent: the totals are the sums of their logs, the points are the
 * sums of their awards, each idempotency key belongs to one event, and the streak follows from the days of
 * the log.
 *
 * @param {Server} server
 * @param {string} key
 * @param {{ users: number; day: number }} scene
 */
export async function checkUsers(server, key, { users, day }) {
  const numbers = Array.from({ length: Math.min(users, CHECKED) }, () => Math.floor(Math.random() * users))
  for (const number of numbers) {
    const id = userId(number)
    const ask = async (/** @type {string} */ path) => (await server.ask('GET', path, { key })).body
    const held = await ask(`/admin/v1/users/${id}/export`)
    const metric = await ask(`/v1/users/${id}/metrics/${METRIC}`)
    const points = await ask(`/v1/users/${id}/points/${SYSTEM}`)
    const streak = await ask(`/v1/users/${id}/streak`)
    const place = await ask(`/v1/users/${id}/leaderboards/${BOARD}`)
    const sum = total(held.events, 'value')
    const expected = eventsOf(number, day)
    const days = new Set(held.events.map((/** @type {any} */ event) => event.localDate))
    const checks = {
      'the log has the filled events': same(
        held.events.map((/** @type {any} */ { date, value }) => `${Date.parse(date)} ${value}`),
        expected.map(({ at, value }) => `${at} ${value}`),
      ),
      'the metric is the sum of the log': metric.current === sum && held.metrics[0].total === sum,
      'the points are the sum of the awards': points.total === total(held.awards, 'awarded'),
      'the awards are those of the events': points.total === sum * AWARD,
      'each idempotency key belongs to one event, and each event has one': same(
        held.idempotencyKeys.map((/** @type {any} */ one) => one.eventId),
        held.events.map((/** @type {any} */ one) => one.id),
      ),
      'no idempotency key is there twice':
        new Set(held.idempotencyKeys.map((/** @type {any} */ one) => one.key)).size === held.events.length,
      'the streak follows from the days of the log': streak.length === lengthOf(days, day),
      'the streak is as it was filled': streak.length === (isLive(number) ? expected.length : 0),
      'the score is the sum of the log': held.leaderboards[0]?.value === sum,
      'the place is that of the leaderboard': (place.rank ?? null) === (held.leaderboards[0]?.rank ?? null),
    }
    const faults = Object.entries(checks).flatMap(([what, holds]) => (holds ? [] : [what]))
    if (faults.length > 0) throw new Error(`${id} fails these checks: ${faults.join('; ')}`)
  }
  return numbers.length
}

/**
 * Throws unless the places of the leaderboard follow from all users' events. `extra` are more users, who have
 * the events of a number.
 *
 * @param {Server} server
 * @param {string} key
 * @param {{ users: number; day: number; extra: { id: string; number: number }[] }} scene
 */
export async function checkBoard(server, key, { users, day, extra }) {
  const all = Array.from({ length: users }, (_, number) => ({ id: userId(number), number }))
  const best = [...all, ...extra]
    .map(({ id, number }) => {
      const events = eventsOf(number, day)
      return { id, score: total(events, 'value'), reached: events.at(-1)?.at ?? 0 }
    })
    .sort((a, b) => b.score - a.score || a.reached - b.reached || (a.id < b.id ? -1 : 1))
    .slice(0, PLACES)
  const found = []
  for (let offset = 0; offset < PLACES; offset += PAGE) {
    const path = `/v1/leaderboards/${BOARD}?limit=${PAGE}&offset=${offset}`
    found.push(...(await server.ask('GET', path, { key })).body.rankings)
  }
  const told = (/** @type {{ id: string; score: number }[]} */ list) =>
    list.map(({ id, score }) => `${id} ${score}`)
  const served = told(found.map(({ userId: id, value }) => ({ id, score: value })))
  const wanted = told(best)
  const wrong = wanted.findIndex((one, index) => one !== served[index])
  if (served.length !== wanted.length || wrong >= 0) {
    throw new Error(`the leaderboard has ${served[wrong]} at place ${wrong + 1}, not ${wanted[wrong]}`)
  }
  return found.length
}

/** The days in a row up to yesterday or today. */
function lengthOf(/** @type {Set<string>} */ days, /** @type {number} */ today) {
  const has = (/** @type {number} */ day) => days.has(new Date(day * DAY).toISOString().slice(0, 10))
  let day = has(today) ? today : today - 1
  let length = 0
  for (; has(day); day -= 1) length += 1
  return length
}

const total = (/** @type {any[]} */ list, /** @type {string} */ field) =>
  list.reduce((sum, one) => sum + one[field], 0)

/** True if both lists have the same texts, in any order. */
const same = (/** @type {string[]} */ a, /** @type {string[]} */ b) =>
  JSON.stringify(a.toSorted()) === JSON.stringify(b.toSorted())
