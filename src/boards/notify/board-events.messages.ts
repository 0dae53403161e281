import * as z from 'zod'
import type { Configuration } from '../../config/configuration.types'
import { instant } from '../../lib/clock'
import { isSubscribed } from '../../outbox/outbox.messages'

/** What webhooks are told of leaderboards (W2). */
const BOARD_EVENT_TYPES = [
  'leaderboard.started',
  'leaderboard.changed',
  'leaderboard.finished',
  'leaderboard.rank_changed',
] as const

const BoardEventType = z.enum(BOARD_EVENT_TYPES)
export type BoardEventType = z.infer<typeof BoardEventType>

/** What somebody listens to, and since when at the latest, in milliseconds. */
export const Listened = z.array(z.tuple([BoardEventType, z.number()]))
export type Listened = z.infer<typeof Listened>

/** Which events of leaderboards an active webhook is told of at present. */
export function listenedOf({ webhooks }: Pick<Configuration, 'webhooks'>): Listened {
  return BOARD_EVENT_TYPES.flatMap((type): Listened => {
    const sent = webhooks.filter((webhook) => isSubscribed(webhook, type))
    return sent.length === 0 ? [] : [[type, Math.min(...sent.map(({ updated }) => updated))]]
  })
}

const Rank = z.number().nullable()
/** First and last day of a run, as days since 1970-01-01; the last is null where it has no end. */
const Span = z.object({ start: z.number(), end: z.number().nullable() })
/** Somebody among the first: the caller's id of the user, ours, the rank and the value as served. */
export const Place = z.tuple([z.string(), z.string(), z.number(), z.number()])
export type Place = z.infer<typeof Place>

/**
 * The group that a fact is about: the ids of the breakdown attributes and their values, in the breakdown's order (L6). Empty on a board without
 * breakdown, for a run in which nobody is ranked, and in facts of earlier versions, which were about all groups together.
 */
const Group = z.array(z.tuple([z.string(), z.string()])).default([])

/** One thing to be told of a run and group; users by their ids, to be looked up by whoever tells it. */
export const Fact = z.discriminatedUnion('type', [
  z.object({ type: z.literal('leaderboard.started'), run: Span }),
  z.object({
    type: z.enum(['leaderboard.changed', 'leaderboard.finished']),
    run: Span,
    group: Group,
    top: z.array(Place),
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
 * What came to be told at one moment. `id` is a UUID v7 of it, from which each fact has its own by its place in the list; null is
 * one that has gone with an erased user (U8).
 */
export const BoardEventRow = z.object({
  no: z.number(),
  id: z.string(),
  at: z.number().transform(instant),
  facts: z.array(Fact.nullable()),
})
export type BoardEventRow = z.output<typeof BoardEventRow>

/** Says which rows of a leaderboard's outbox the couriers have. */
export const HandedRequest = z.object({ rows: z.array(z.tuple([z.number(), z.string()])) })
