/**
 * Kills all processes of a side at once during its work, starts it again on the same state, and checks the
 * outcome of each event.
 */
import { randomUUID } from 'node:crypto'
import { AWARD } from './side.mjs'

/** The number of kills, clients and users, and the responses before a kill. */
const KILLS = 3
const CLIENTS = 32
const USERS = 20
const ANSWERS = 500
/** The most milliseconds from then to the kill, so that it does not always follow a response directly. */
const DELAY = 30
/** Simultaneous requests when everything is sent again. */
const RETRIES = 16

/** @typedef {import('./side.mjs').Side} Side */

/**
 * An event that was sent, and whether it was answered 201 before the kill. @typedef {{ user: string; key:
 * string; isAnswered: boolean }} Sent
 */

/**
 * The sums of all kills. `lost`: answered events that are missing afterwards. `unanswered`: events without a
 * response; `unansweredThere`: the ones of these that count. `torn`: users with another total than the sum of
 * their events. `behind`: users with another score on the leaderboard than their total; `stillBehind`: also
 * after their next event. `wrong`: users whose totals or points were not exact after everything was sent
 * again.
 *
 * @typedef {{ kills: number; answered: number; lost: number; unanswered: number; unansweredThere: number;
 *   users: number; torn: number; behind: number; stillBehind: number; wrong: number }} Outcome
 */

/** @returns {Promise<Outcome>} */
export async function killAndCount(/** @type {Side} */ side, /** @type {(text: string) => void} */ tellMore) {
  const all = { kills: KILLS, answered: 0, lost: 0, unanswered: 0, unansweredThere: 0 }
  const outcome = { ...all, users: 0, torn: 0, behind: 0, stillBehind: 0, wrong: 0 }
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const sent = await loadUntilKilled(side, kill)
    await side.runs.start()
    const one = await takeStock(side, sent)
    for (const [name, count] of Object.entries(one)) outcome[/** @type {keyof typeof one} */ (name)] += count
    tellMore(
      `${side.name}, kill ${kill}: ${one.answered} answered, ${one.lost} lost; ${one.unanswered} unanswered, ${one.unansweredThere} of them there`,
    )
  }
  return outcome
}

/**
 * Sends events, each with a key of its own, and kills the side after `ANSWERS` responses.
 *
 * @returns {Promise<Sent[]>} all sent events
 */
async function loadUntilKilled(/** @type {Side} */ side, /** @type {number} */ time) {
  const sent = /** @type {Sent[]} */ ([])
  const kill = side.armed()
  let answers = 0
  let killed = /** @type {Promise<void> | undefined} */ (undefined)
  const drive = async () => {
    while (killed === undefined) {
      const user = `kill-${time}-${Math.floor(Math.random() * USERS)}`
      const event = { user, key: randomUUID(), isAnswered: false }
      sent.push(event)
      const answer = await side.event(user, 1, { key: event.key }).catch(() => null)
      event.isAnswered = answer?.status === 201
      if (answer !== null && !event.isAnswered && killed === undefined) {
        throw new Error(`${side.name}: an event was answered ${answer.status} before the kill`)
      }
      if (answer === null && killed === undefined) throw new Error(`${side.name}: no answer before the kill`)
      answers += 1
      if (answers === ANSWERS) setTimeout(() => (killed = kill()), Math.random() * DELAY)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, drive))
  await killed
  return sent
}

/** Reads the state, sends every event again with its key, and reads again. */
async function takeStock(/** @type {Side} */ side, /** @type {Sent[]} */ sent) {
  const byUser = Object.entries(Object.groupBy(sent, ({ user }) => user)).map(([user, events = []]) => ({
    user,
    events,
  }))
  // A user is unknown if all of the user's events were lost with the server.
  const standing = (/** @type {string} */ user) => side.standing(user).catch(() => null)
  const before = new Map()
  for (const { user } of byUser) before.set(user, await standing(user))

  const isThere = new Map()
  const queue = [...sent]
  const retry = async () => {
    for (let event = queue.pop(); event !== undefined; event = queue.pop()) {
      const { status } = await side.event(event.user, 1, { key: event.key })
      if (status !== 201 && status !== 202) throw new Error(`${side.name}: a retry was answered ${status}`)
      isThere.set(event.key, status === 202)
    }
  }
  await Promise.all(Array.from({ length: RETRIES }, retry))

  const found = { torn: 0, behind: 0, stillBehind: 0, wrong: 0 }
  for (const { user, events } of byUser) {
    const there = events.filter(({ key }) => isThere.get(key)).length
    const was = before.get(user) ?? { total: 0, points: 0, score: null }
    if (was.total !== there || was.points !== there * AWARD) found.torn += 1
    if ((was.score ?? 0) !== was.total) found.behind += 1
    const { total, points } = await side.standing(user)
    if (total !== events.length || points !== events.length * AWARD) found.wrong += 1
    await side.event(user, 1)
    if ((await side.standing(user)).score !== events.length + 1) found.stillBehind += 1
  }
  const answered = sent.filter(({ isAnswered }) => isAnswered)
  const unanswered = sent.filter(({ isAnswered }) => !isAnswered)
  return {
    answered: answered.length,
    lost: answered.filter(({ key }) => !isThere.get(key)).length,
    unanswered: unanswered.length,
    unansweredThere: unanswered.filter(({ key }) => isThere.get(key)).length,
    users: byUser.length,
    ...found,
  }
}
