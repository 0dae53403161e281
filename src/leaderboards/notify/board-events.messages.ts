import * as z from 'zod'
import type { Configuration } from '../../configuration/configuration.types'
import { instant } from '../../lib/clock'
import { isSubscribed } from '../../webhooks/outbox/outbox.messages'

/** The types of webhook events about leaderboards (W2). */
const BOARD_EVENT_TYPES = [
  'leaderboard.started',
  'leaderboard.changed',
  'leaderboard.finished',
  'leaderboard.rank_changed',
] as const

const BoardEventType = z.enum(BOARD_EVENT_TYPES)
export type BoardEventType = z.infer<typeof BoardEventType>

/**
 * The types that webhooks listen to. Each has the time of a webhook's last update, in milliseconds, the
 * earliest of its listeners. So a webhook has listened since then, or longer.
 */
export const Listened = z.array(z.tuple([BoardEventType, z.number()]))
export type Listened = z.infer<typeof Listened>

/** The types of leaderboard events that active webhooks listen to at present. */
export function listenedOf({ webhooks }: Pick<Configuration, 'webhooks'>): Listened {
  return BOARD_EVENT_TYPES.flatMap((type): Listened => {
    const sent = webhooks.filter((webhook) => isSubscribed(webhook, type))
    return sent.length === 0 ? [] : [[type, Math.min(...sent.map(({ updated }) => updated))]]
  })
}

const Rank = z.number().nullable()
/** First and last day of a run, as days since 1970-01-01. The last is null if the run has no end. */
const Span = z.object({ start: z.number(), end: z.number().nullable() })
/** One of the first places: the caller's id of the user, the iid, the rank, and the value as served. */
export const Place = z.tuple([z.string(), z.string(), z.number(), z.number()])
export type Place = z.infer<typeof Place>

/**
 * The group of a fact: the ids of the breakdown attributes and their values, in the breakdown's order (L6).
 * Empty on a board without breakdown, for a run without ranked users, and in facts of earlier versions, which
 * were about all groups together.
 */
const Group = z.array(z.tuple([z.string(), z.string()])).default([])

/**
 * The series of runs to which a beginning or an end of a run belongs: how often the runs were replaced by
 * others, or a test clock went back, before it. None in facts of earlier versions and in facts about
 * changes.
 */
const Series = z.number().optional()

/**
 * The data of one webhook event about a run and group. It has users by their ids; `sendBoardEvents` reads the
 * users.
 */
export const Fact = z.discriminatedUnion('type', [
  z.object({ type: z.literal('leaderboard.started'), run: Span, series: Series }),
  z.object({
    type: z.enum(['leaderboard.changed', 'leaderboard.finished']),
    run: Span,
    group: Group,
    top: z.array(Place),
    series: Series,
  }),
  z.object({
    type: z.literal('leaderboard.rank_changed'),
    run: Span,
    group: Group,
    userId: z.string(),
    iid: z.string(),
    rank: Rank,
    value: Rank,
    previousRank: Rank,
    previousValue: Rank,
  }),
])
export type Fact = z.infer<typeof Fact>

/**
 * The facts of one moment. `id` is a UUID v7 of that moment. The id of each fact is made from it and the
 * fact's place in the list, unless the fact has a series: then the id is made from the run. A fact is null if
 * it was about a user who is erased (U8).
 */
export const BoardEventRow = z.object({
  no: z.number(),
  id: z.string(),
  at: z.number().transform(instant),
  facts: z.array(Fact.nullable()),
})
export type BoardEventRow = z.output<typeof BoardEventRow>

/** Says which rows of a leaderboard's outbox the delivery queues have received. */
export const HandedRequest = z.object({ rows: z.array(z.tuple([z.number(), z.string()])) })
