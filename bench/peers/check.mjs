/** The check that both sides must pass before they are compared: one event with all its effects. */
import { randomUUID } from 'node:crypto'
import { Complaint } from '../../scripts/lib/project.mjs'
import { AWARD, BOARD, EVENTS, SYSTEM } from './side.mjs'

/** @typedef {import('./side.mjs').Side} Side */

/** The parts of a response to an event that are compared. */
const said = (/** @type {import('./side.mjs').Answer} */ { status, body }) => ({
  status,
  total: body.total,
  points: body.points?.[SYSTEM]?.total ?? null,
  streak: body.currentStreak?.length,
  extended: body.currentStreak?.extended,
  replayed: body.idempotentReplayed ?? null,
})

/**
 * Throws unless a side works: an event's total, points, streak and place, in its response and as read
 * afterwards; a replay by its idempotency key; and invalid requests.
 *
 * @param {Side} side
 * @throws {Complaint} that names each failed check
 */
export async function demandWorking(side) {
  const faults = /** @type {string[]} */ ([])
  const demand = (
    /** @type {string} */ what,
    /** @type {unknown} */ found,
    /** @type {unknown} */ wanted,
  ) => {
    const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
    if (a !== b) faults.push(`${what} is ${a}, not ${b}`)
  }
  const [ann, ben, key] = ['check-ann', 'check-ben', randomUUID()]

  const first = await side.event(ann, 2, { key })
  const counted = { total: 2, points: 2 * AWARD, streak: 1, extended: true }
  demand('the first event', said(first), { status: 201, ...counted, replayed: false })
  demand('the first place', first.body.leaderboards?.[BOARD]?.rank, 1)
  const again = await side.event(ann, 2, { key })
  const replay = { status: 202, total: 2, points: null, streak: 1, extended: false, replayed: true }
  demand('its replay', said(again), replay)
  demand("the replay's event", again.body.eventId, first.body.eventId)

  const second = await side.event(ben, 3)
  demand('an event without a key', said(second), {
    ...{ status: 201, total: 3, points: 3 * AWARD, streak: 1, extended: true, replayed: null },
  })
  demand('who is ahead', second.body.leaderboards?.[BOARD]?.rank, 1)
  const third = await side.event(ann, 2, { key: randomUUID() })
  demand('a second event', said(third), {
    ...{ status: 201, total: 4, points: 4 * AWARD, streak: 1, extended: false, replayed: false },
  })
  const place = third.body.leaderboards?.[BOARD]
  demand('who is ahead now', [place?.rank, place?.previousRank], [1, 2])
  const held = { total: 4, points: 4 * AWARD, streak: 1, rank: 1, score: 4 }
  demand('the state as read', await side.standing(ann), held)

  demand('a value that is not a number', (await side.event(ann, '2')).status, 422)
  demand('a value too large', (await side.event(ann, 1e9 + 1)).status, 422)
  const body = { user: { id: ann }, value: 1 }
  const unknown = await side.send('POST', EVENTS.replace('/event', '-x/event'), { body })
  demand('an unknown metric', unknown.status, 404)
  const keyless = await side.send('POST', EVENTS, { body, headers: { 'x-api-key': 'wrong' } })
  demand('a wrong key', keyless.status, 401)
  demand('the state as read after all invalid requests', await side.standing(ann), held)
  if (faults.length > 0) {
    throw new Complaint(`${side.name} fails the check that both must pass:\n${faults.join('\n')}`)
  }
}
