import * as z from 'zod'
import type { Lists } from '../../configuration/model'
import { MOST_EVENT_VALUE, MOST_ID_CHARACTERS } from '../../lib/limits'
import { unrepeated } from '../../lib/net'
import { AttributeMap, DateResponse, optional, ReadableAttributes, readable } from '../fields'
import { UserAchievementResponse } from './achievements'
import { MetricEventLeaderboardResponse } from './leaderboards'
import { MetricEventPointsResponse } from './points'
import { MetricEventStreakResponse } from './streaks'
import { ReadableUser, UpsertedUser } from './users'

/** An event of a metric, with its user (E1, E6). */
export const EventRequest = z
  .object({
    user: UpsertedUser,
    value: z.number().min(-MOST_EVENT_VALUE).max(MOST_EVENT_VALUE),
    attributes: optional(AttributeMap),
  })
  .meta({ id: 'EventRequest' })

/** What can be read of an event of a wrong shape, to name more errors in one 422 (G3). Never stored. */
export const ReadableEvent = readable({ user: ReadableUser, attributes: ReadableAttributes })

/** The key that makes an event count once (E4). Bytes that are not UTF-8 would arrive as equal keys. */
export const IdempotencyKey = z
  .string()
  .min(1)
  .max(MOST_ID_CHARACTERS)
  .refine(
    (key) => !key.includes('\uFFFD'),
    'must not contain U+FFFD, which replaces bytes that are not UTF-8. Send the key in UTF-8',
  )

/** A key in a header, which may have been sent twice (E4). */
const HeaderKey = z.preprocess(
  (given) => (typeof given === 'string' ? unrepeated(given) : given),
  IdempotencyKey.refine(
    (key) => !key.includes(', '),
    'must not have a comma and a space: different keys in two headers arrive as "a, b". Send one header, and leave out the space after a comma',
  ),
)

export const EventHeaders = z.object({ 'idempotency-key': HeaderKey.optional() })

/** All changes of an event. The maps are by key of the points system or leaderboard (E2, E4). */
export const EventResponse = z
  .object({
    eventId: z.string(),
    metricId: z.string(),
    total: z.number(),
    achievements: z.array(UserAchievementResponse),
    currentStreak: MetricEventStreakResponse,
    points: z.record(z.string(), MetricEventPointsResponse),
    leaderboards: z.record(z.string(), MetricEventLeaderboardResponse),
    idempotencyKey: z.string().optional(),
    idempotentReplayed: z.boolean().optional(),
    bodyDiffers: z.boolean().optional(),
  })
  .meta({ id: 'EventResponse' })

/** The kinds of things in the demo that an example can name. It names others by their list and their key. */
export const DEMO_KINDS = [
  'system',
  'level',
  'trigger',
  'boost',
  'webhook',
  'delivery',
  'template',
  'batch',
  'event',
  'pause',
  'award',
  'applicationKey',
  'adminKey',
] as const

export type DemoKind = (typeof DEMO_KINDS)[number] | keyof Lists

/** A user's total in a metric (0 without events), with the achievements that the metric can complete (A6). */
export const MetricResponse = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string(),
    /** The contract no longer has this field, but older client libraries require it. */
    status: z.literal('active'),
    current: z.number(),
    achievements: z.array(UserAchievementResponse),
  })
  .meta({ id: 'MetricResponse' })

export const MetricsResponse = z.array(MetricResponse)

/** The parts of a summary of events or points: each one's change, and the total at its end (P12). */
export const EventSummaryResponse = z
  .array(z.object({ date: DateResponse, total: z.number(), change: z.number() }))
  .meta({ id: 'EventSummaryResponse' })
