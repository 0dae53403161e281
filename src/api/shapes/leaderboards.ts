import * as z from 'zod'
import { LEADERBOARD_STATUSES, RANK_BY, RUN_UNITS } from '../../configuration/enumerations'
import { type Configuration, type Leaderboard, meets } from '../../configuration/model'
import type { Instant } from '../../lib/clock'
import { INT32_MAX } from '../../lib/decimal'
import { MOST_PARTICIPANTS, PAGES } from '../../lib/limits'
import { dateOfDay } from '../../lib/zone'
import { statusOf } from '../../rules/runs.rules'
import type { Placements, Profile } from '../../rules/state'
import {
  AttributeFilterResponse,
  DateField,
  DateResponse,
  filtersResponse,
  rule,
  Timestamp,
  UserId,
} from '../fields'
import { booleanQuery, cursorQuery, integerQuery, UserAttributesQuery } from '../queries'

/** The values by which a leaderboard ranks users (L3). */
export const RankBy = z.enum(RANK_BY)
/** The units of the length of a run (L2). */
export const RunUnit = z.enum(RUN_UNITS)
/** A time of day, `HH:MM` or `HH:MM:SS` (L1). */
export const TimeOfDay = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$/, {
  error: 'must be a time of day written HH:MM or HH:MM:SS',
})
/** The statuses that the application interface shows. It hides inactive leaderboards (L7). */
const ShownStatus = z.enum(LEADERBOARD_STATUSES).exclude(['inactive'])

/** A leaderboard with its present status (L7). `breakdownAttribute` is the first of the plural (G10). */
export const LeaderboardResponse = z
  .object({
    id: z.string(),
    name: z.string(),
    key: z.string(),
    rankBy: RankBy,
    breakdownAttribute: z.string().nullable(),
    breakdownAttributes: z.array(z.string()),
    metricKey: z.string().optional(),
    metricName: z.string().optional(),
    pointsSystemKey: z.string().optional(),
    pointsSystemName: z.string().optional(),
    description: z.string().nullable(),
    start: DateResponse,
    end: DateResponse.nullable(),
    startTime: TimeOfDay.nullable(),
    endTime: TimeOfDay.nullable(),
    maxParticipants: z.int32().nullable(),
    runUnit: RunUnit.nullable(),
    runInterval: z.int32().nullable(),
    status: ShownStatus,
    userAttributes: z.array(AttributeFilterResponse),
  })
  .meta({ id: 'LeaderboardResponse' })

export const LeaderboardsResponse = z.array(LeaderboardResponse)

/** A place on a leaderboard; `value` is the score, rounded down (L3, L4). */
export const LeaderboardRanking = z
  .object({
    userId: z.string(),
    userName: z.string().nullable(),
    rank: z.int32(),
    value: z.int32(),
  })
  .meta({ id: 'LeaderboardRanking' })

/** A group: the values of the breakdown attributes, in the order of the breakdown (L6). */
export const Group = z.array(AttributeFilterResponse)

/** A leaderboard in webhooks, with its first places, and the group if it is of one (L6, W6). */
export const WebhookLeaderboardResponse = LeaderboardResponse.extend({
  group: Group.optional(),
  rankings: z.array(LeaderboardRanking),
}).meta({ id: 'WebhookLeaderboardResponse' })

/** A leaderboard with a page of the rankings of one of its runs (L9). `run` is not in the contract (L14). */
export const LeaderboardResponseWithRankings = WebhookLeaderboardResponse.extend({
  run: z.object({ key: DateResponse, startsAt: Timestamp, endsAt: Timestamp.nullable() }),
}).meta({ id: 'LeaderboardResponseWithRankings' })

/** The event `ranking` of a stream: the whole visible part of a leaderboard (Y1). */
export const LiveRanking = z
  .object({
    /** Seconds since 1970, with a fraction. It grows in every stream. */
    version: z.number(),
    /** The first date of the run; null if the leaderboard has no runs. */
    run: DateResponse.nullable(),
    status: ShownStatus,
    rankings: z.array(LeaderboardRanking),
  })
  .meta({ id: 'LiveRanking' })

/** The event `finished` of a stream: the final ranking of a run (Y1). */
export const LiveFinished = LiveRanking.omit({ status: true }).meta({ id: 'LiveFinished' })

/** The data of the events of a stream. */
export const LiveEvent = z.union([LiveRanking, LiveFinished])

/** The visible part of a leaderboard: the first places of a group (Y1, L6). */
export const LiveQuery = z.object({
  limit: integerQuery({ min: 1, ...PAGES.live }),
  userAttributes: UserAttributesQuery.optional(),
  // It was read with the key (src/api/endpoint.ts).
  ticket: z.unknown().meta({ type: 'string' }).optional(),
})

/** A ticket that opens streams, and when its time is over (Y2). */
export const LiveTicketResponse = z
  .object({ ticket: z.string(), expires: Timestamp })
  .meta({ id: 'LiveTicketResponse' })

/** A live query with the wrong shape. The attributes are null if they can't be read (G3). */
export const ReadableLiveQuery = z.object({
  userAttributes: LiveQuery.shape.userAttributes.nullable().catch(null),
})

/** A date on which a user's rank or value changed (L10). */
export const LeaderboardEvent = z
  .object({
    date: DateResponse,
    timestamp: Timestamp,
    previousRank: z.int32().nullable(),
    rank: z.int32().nullable(),
    previousValue: z.int32().nullable(),
    value: z.int32().nullable(),
  })
  .meta({ id: 'LeaderboardEvent' })

/** A leaderboard with a user's place on it. Rank and value are null if the user has no place (L10). */
export const UserLeaderboardResponse = LeaderboardResponse.extend({
  rank: z.int32().nullable(),
  value: z.int32().nullable(),
}).meta({ id: 'UserLeaderboardResponse' })

/** A user's place, and its history, oldest first (L10). */
export const UserLeaderboardResponseWithHistory = UserLeaderboardResponse.extend({
  history: z.array(LeaderboardEvent),
}).meta({ id: 'UserLeaderboardResponseWithHistory' })

/** Whether to list finished leaderboards too. */
export const LeaderboardsQuery = z.object({ includeFinished: booleanQuery(false) })

/** The run, group and page of rankings (L2, L6, L9). `limit` also depends on the leaderboard. */
export const LeaderboardQuery = z
  .object({
    offset: integerQuery({ min: -INT32_MAX, max: INT32_MAX, fallback: 0 }),
    limit: integerQuery({ min: 0, max: MOST_PARTICIPANTS, fallback: undefined }),
    run: DateField.optional(),
    userId: UserId.optional(),
    userAttributes: UserAttributesQuery.optional(),
  })
  .refine(
    ({ offset, userId }) => !(offset < 0) || userId !== undefined,
    rule('offset', 'must not be negative without userId. Pass userId too, or count from rank 1'),
  )

/** What can be read of a query of a wrong shape; null for attributes that can't be (G3). */
export const ReadableLeaderboardQuery = z.object({
  limit: LeaderboardQuery.shape.limit.catch(undefined),
  userAttributes: LeaderboardQuery.shape.userAttributes.nullable().catch(null),
})

/** The last group of a page: its number of users, and its values as JSON. */
export const GroupCursor = z.tuple([z.int().min(0), z.string()])

/** The run, and the page of its groups (L2). */
export const LeaderboardGroupsQuery = z.object({
  run: DateField.optional(),
  limit: integerQuery({ min: 1, ...PAGES.groups }),
  after: cursorQuery(GroupCursor).optional(),
})

/** A group of a leaderboard with breakdown (L6). */
export const LeaderboardGroup = z
  .object({
    userAttributes: Group,
    group: Group,
    users: z.int32(),
  })
  .meta({ id: 'LeaderboardGroup' })

export const LeaderboardGroupsResponse = z.array(LeaderboardGroup)

/** The run, and the number of entries of the user's history (L2, L10). */
export const UserLeaderboardQuery = z.object({
  run: DateField.optional(),
  numEvents: integerQuery({ min: 0, ...PAGES.rankHistory }),
})

/** The leaderboards for a user's place, and the number of entries of the history (L9, L10). */
export const UserLeaderboardsQuery = LeaderboardsQuery.extend({
  numEvents: UserLeaderboardQuery.shape.numEvents,
})

export const UserLeaderboardsResponse = z.array(UserLeaderboardResponseWithHistory)

/** The user's place on a leaderboard after an event. `start` and `end` are the run's (L2, L5, L11). */
export const MetricEventLeaderboardResponse = LeaderboardResponse.extend({
  rank: z.int32().nullable(),
  previousRank: z.int32().nullable(),
  threshold: z.int32(),
  breakdownAttributeValue: z.string().optional(),
  breakdownAttributeValues: z.array(AttributeFilterResponse).optional(),
}).meta({ id: 'MetricEventLeaderboardResponse' })

/**
 * The fields of a leaderboard that every response about it has (G10). Users never see an inactive
 * leaderboard. So if it became inactive after the event, the status is still `active`.
 */
export function leaderboardFields(
  config: Configuration,
  board: Leaderboard,
  at: Instant,
): z.infer<typeof LeaderboardResponse> {
  const { id, name, key, rankBy, description, start, end, startTime, endTime } = board
  const metric = config.metrics.find((one) => one.id === board.metricId)
  const system = config.systems.find((one) => one.id === board.systemId)
  const breakdownAttributes = board.breakdown.flatMap(
    (attributeId) => config.attributes.find((one) => one.id === attributeId)?.key ?? [],
  )
  const status = statusOf(board, at)
  return {
    id,
    name,
    key,
    rankBy,
    breakdownAttribute: breakdownAttributes[0] ?? null,
    breakdownAttributes,
    ...(metric && { metricKey: metric.key, metricName: metric.name }),
    ...(system && { pointsSystemKey: system.key, pointsSystemName: system.name }),
    description,
    start,
    end,
    startTime,
    endTime,
    maxParticipants: board.maxParticipants,
    runUnit: board.runUnit,
    runInterval: board.runInterval,
    status: status === 'inactive' ? 'active' : status,
    userAttributes: filtersResponse(config, board.userAttributes),
  }
}

/** The user's places after an event, by the key of each leaderboard with a changed score (L11, L13). */
export function leaderboardChanges(
  config: Configuration,
  placements: Placements,
  profile: Profile,
  at: Instant,
): Record<string, z.infer<typeof MetricEventLeaderboardResponse>> {
  return Object.fromEntries(
    config.leaderboards.flatMap((board) => {
      const placement = placements.get(board.id)
      if (placement === undefined || !meets(board.userAttributes, profile.attributes)) return []
      const { run, rank, previousRank, threshold } = placement
      const values = board.breakdown.flatMap((attributeId) => {
        const attribute = config.attributes.find((one) => one.id === attributeId)
        const value = profile.attributes.get(attributeId)
        return attribute === undefined || value === undefined ? [] : [{ key: attribute.key, value }]
      })
      const answer = {
        ...leaderboardFields(config, board, at),
        start: dateOfDay(run.start),
        end: run.end === null ? null : dateOfDay(run.end),
        rank,
        previousRank,
        threshold,
        ...(values[0] && { breakdownAttributeValue: values[0].value, breakdownAttributeValues: values }),
      }
      return [[board.key, answer]]
    }),
  )
}
