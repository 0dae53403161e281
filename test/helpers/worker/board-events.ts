import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import * as z from 'zod'
import { timeOf } from '../../../src/lib/ids'
import { Sql } from '../../../src/platform/objects'
import { WEBHOOKS } from '../../../src/webhooks/events'
import { Courier, Timekeeper } from '../../../src/worker'
import { misfits } from '../conformance'
import { DAY, dateAt, HOUR, moveTo, NOON } from './boards'
import { at, type TestTenant } from './harness'

/** Webhook events of leaderboards, as they arrive at the delivery queues. */

const Sent = z.object({
  id: z.string(),
  at: z.number(),
  seq: z.number(),
  subject: z.string().nullable(),
  event: z.string(),
  body: z.string().transform((text): unknown => JSON.parse(text)),
})
export type Sent = z.output<typeof Sent> & { webhookId: string }

/** All messages that the delivery queues of this file have received, oldest first. */
export const sent: Sent[] = []
/**
 * The number of the next calls of delivery queues that get lost: before the queue receives the messages, or
 * after.
 */
export const losing = { before: 0, after: 0 }

/** Makes delivery queues only record the messages that they receive. Nothing is sent. */
export function recordDeliveryQueues(): void {
  vi.spyOn(Courier.prototype, 'accept').mockImplementation(async ({ destination, messages }) => {
    if (losing.before > 0) {
      losing.before -= 1
      throw new Error('Network connection lost.')
    }
    if (destination.kind === 'webhook')
      for (const message of messages) sent.push({ ...Sent.parse(message), webhookId: destination.webhookId })
    if (losing.after > 0) {
      losing.after -= 1
      throw new Error('Network connection lost.')
    }
  })
}

/**
 * Stops alarms of the Timekeeper, so that changes of the same moment give one set of events. Only a move of
 * the clock runs due work.
 */
export function deafenTimekeeper(): void {
  const { wake } = Timekeeper.prototype
  vi.spyOn(Timekeeper.prototype, 'wake').mockImplementation(async function (
    this: Timekeeper,
    tenantId: string,
    steps: number,
  ) {
    if (steps > 0) await wake.call(this, tenantId, steps)
  })
}

/** Creates a webhook for these event types, and returns its id. */
export const subscribe = (tenant: TestTenant, ...events: string[]): Promise<string> =>
  tenant.create('/webhooks', { url: 'https://example.com/hook', events })

/** All event types of leaderboards. */
export const ALL = ['started', 'changed', 'finished', 'rank_changed'].map((type) => `leaderboard.${type}`)

const short = (one: unknown) => [at(one, 'userId'), at(one, 'rank'), at(one, 'value')].join(' ')

const values = (group: unknown) =>
  Array.isArray(group) ? ` [${group.map((one) => `${at(one, 'key')}:${at(one, 'value')}`).join(', ')}]` : ''

/** One message as a line: minutes after `from`, type, run and group, and the users. */
function line({ at: when, event, body }: Sent, from: number): string {
  const board = at(body, 'leaderboard')
  const rankings = at(board, 'rankings')
  const what = event.slice('leaderboard.'.length)
  const run = `${String(at(board, 'start')).slice(5)}${values(at(board, 'group'))}`
  const rest = Array.isArray(rankings)
    ? rankings.map(short).join(', ')
    : `${at(body, 'user', 'id')} ${at(board, 'previousRank')}→${at(board, 'rank')} ${at(board, 'previousValue')}→${at(board, 'value')}`
  return `${(when - from) / 60_000} ${what} ${run}${rest === '' ? '' : `: ${rest}`}`
}

/** The places of a ranking, which is written as `bob 7, ada 6`, best first. */
const placesOf = (head: string, ranking: string) =>
  (ranking === '' ? [] : ranking.split(', ')).map((one, index) => {
    const [user = '', value = ''] = one.split(' ')
    return { head, user, rank: index + 1, value }
  })

/**
 * The lines of `news` that a flush sends (W5, W6). First comes a line for each group whose ranking has changed. Then
 * comes a line for each user whose rank or group has changed. `groups` has the ranking before and after the flush for
 * each group, by its name. A board without groups has one, with the name ''.
 */
export function flushOfGroups(
  minute: number,
  groups: Record<string, [before: string, after: string]>,
  run = dateAt(NOON).slice(5),
): string[] {
  const lists = Object.entries(groups).map(([group, [before, after]]) => {
    const head = group === '' ? run : `${run} [${group}]`
    return { head, before: placesOf(head, before), after: placesOf(head, after) }
  })
  const changed = lists.map(({ head, after }) => {
    const rankings = after.map(({ user, rank, value }) => `${user} ${rank} ${value}`).join(', ')
    return `${minute} changed ${head}${rankings === '' ? '' : `: ${rankings}`}`
  })
  const was = new Map(lists.flatMap(({ before }) => before.map((place) => [place.user, place])))
  const is = new Map(lists.flatMap(({ after }) => after.map((place) => [place.user, place])))
  const users = new Set(lists.flatMap(({ before, after }) => [...after, ...before].map(({ user }) => user)))
  const moved = [...users].flatMap((user) => {
    const [from, to] = [was.get(user), is.get(user)]
    if (from?.head === to?.head && from?.rank === to?.rank) return []
    const move = `${from?.rank ?? null}→${to?.rank ?? null} ${from?.value ?? null}→${to?.value ?? null}`
    return `${minute} rank_changed ${to?.head ?? from?.head}: ${user} ${move}`
  })
  return [...changed, ...moved]
}

/** The moment in the id of a message. A run has the same id when it begins or ends again (M2). */
function momentOf({ at: moment, event, body, id }: Sent): number {
  const dayOf = (name: string) => Date.parse(String(at(body, 'leaderboard', name)))
  if (event === 'leaderboard.started') return dayOf('start') - 14 * HOUR
  // A run that was finished by hand has ended at the moment of the message.
  const isOver = event === 'leaderboard.finished' && timeOf(id) !== moment
  return isOver ? dayOf('end') + DAY + 12 * HOUR : moment
}

/**
 * The messages to a webhook since the last call, as lines. Checks that each payload fits the contract, and
 * that each id is new and a UUID v7 of the moment of its message, or of the begin or end of a run.
 */
export function news(webhookId: string, from: number): string[] {
  const messages = sent.filter((one) => one.webhookId === webhookId)
  for (const message of messages) {
    expect(misfits(WEBHOOKS[message.event] ?? z.never(), message.body, '', message.event)).toEqual([])
    expect(at(message.body, 'type')).toBe(message.event)
    // Of the run: its leaderboard may go on.
    if (message.event === 'leaderboard.finished')
      expect(at(message.body, 'leaderboard', 'status')).toBe('finished')
    expect([message.id, timeOf(message.id)]).toEqual([message.id, momentOf(message)])
    const user = at(message.body, 'user', 'id')
    const ofBoard = `board:${at(message.body, 'leaderboard', 'id')}`
    expect([message.seq, message.subject === ofBoard]).toEqual([0, user === undefined])
    sent.splice(sent.indexOf(message), 1)
  }
  expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length)
  return messages.map((message) => line(message, from))
}

/** All rows that a leaderboard's object stores for its webhook events, as JSON. */
export function kept(board: string): Promise<Record<'sent' | 'outbox' | 'notes', string[]>> {
  return runInDurableObject(env.LEADERBOARD.getByName(board), (_, { storage }) => {
    const rows = (sql: string) =>
      storage.sql
        .exec(sql)
        .toArray()
        .map((row) => JSON.stringify(row))
    return {
      sent: rows('SELECT * FROM sent_lists'),
      outbox: rows('SELECT * FROM outbox'),
      notes: rows("SELECT * FROM notes WHERE name = 'events'"),
    }
  })
}

/** The rows that objects write for webhook events from now on, each by its table; a note of a flush is a `note`. */
export function writtenRows(): string[] {
  const written: string[] = []
  const { rows } = Sql.prototype
  vi.spyOn(Sql.prototype, 'rows').mockImplementation(function (this: Sql, statement, ...values) {
    const before = this.rowsWritten
    const found = rows.call(this, statement, ...values)
    const row = values[0] === 'events' ? 'note' : /sent_lists|outbox/.exec(statement)?.[0]
    if (row !== undefined) written.push(...Array(this.rowsWritten - before).fill(row))
    return found
  })
  return written
}

/** Moves the clock to a number of minutes after a moment. */
export const minutes = (from: number, count: number): Promise<void> => moveTo(from + count * 60_000)
export const hours = (from: number, count: number): Promise<void> => moveTo(from + count * HOUR)
