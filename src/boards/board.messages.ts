import * as z from 'zod'
import type { Configuration, Leaderboard } from '../config/configuration.types'
import { LEADERBOARD_STATUSES, RANK_BY, RUN_UNITS } from '../config/enumerations.types'
import type { Placement } from '../engine/placement.types'
import { STREAK } from '../engine/state.types'
import { civilDate } from '../lib/civil'
import { type Instant, instant } from '../lib/clock'
import { unreachable } from '../lib/unreachable'
import { BoardEventRow, Listened, listenedOf } from './notify/board-events.messages'
import { isScore, type Score } from './score.rules'

const date = z.string().transform(civilDate)
const moment = z.number().transform(instant)

/** What of a leaderboard its object needs to know; it comes with each call, so that the object is never behind for long. */
export const Definition = z.object({
  id: z.string(),
  tenantId: z.string(),
  /** The version of the configuration that it is as of. */
  version: z.number(),
  status: z.enum(LEADERBOARD_STATUSES),
  rankBy: z.enum(RANK_BY),
  /** The id of the metric or points system that is counted, or `streak`: under which name users' rows note its last change. */
  input: z.string().nullable(),
  maxParticipants: z.number(),
  /** Whether it ranks nobody at present, although it keeps its scores: it ranks by streak, and the tenant's streaks are off (S10). */
  isHidden: z.boolean().default(false),
  start: date,
  end: date.nullable(),
  startTime: z.string().nullable(),
  endTime: z.string().nullable(),
  breakdown: z.array(z.string()).readonly(),
  runUnit: z.enum(RUN_UNITS).nullable(),
  runInterval: z.number().nullable(),
  finished: moment.nullable(),
  /** What webhooks are told of it; of one that was stored before there were any, nothing. */
  listened: Listened.default([]),
})
export type Definition = z.output<typeof Definition>

/** A definition that comes with a call: the object parses it only where it doesn't know its version yet. */
export type DefinitionInput = z.input<typeof Definition>
const given = z.custom<DefinitionInput>((value) => Versioned.safeParse(value).success)
const Versioned = z.object({ version: z.number() })

/** A leaderboard as its object is told of it. */
export function definitionOf(config: Configuration, board: Leaderboard): DefinitionInput {
  const { id, status, rankBy, maxParticipants, start, end, startTime, endTime } = board
  const { breakdown, runUnit, runInterval, finished } = board
  return {
    id,
    tenantId: config.tenantId,
    version: config.version,
    status,
    rankBy,
    input: inputOf(board),
    maxParticipants,
    isHidden: rankBy === 'streak' && !config.streaks.enabled,
    start,
    end,
    startTime,
    endTime,
    breakdown,
    runUnit,
    runInterval,
    finished,
    listened: listenedOf(config),
  }
}

/** What of users' rows a leaderboard follows (see `Definition`). */
export function inputOf({
  rankBy,
  metricId,
  systemId,
}: Pick<Leaderboard, 'rankBy' | 'metricId' | 'systemId'>): string | null {
  switch (rankBy) {
    case 'streak':
      return STREAK
    case 'metric':
      return metricId
    case 'points':
      return systemId
    default:
      return unreachable(rankBy)
  }
}

/** The group of someone with these values of the breakdown attributes, as JSON; null where one is lacking (L6). */
export const groupOf = (values: readonly (string | null | undefined)[]): string | null =>
  values.every((value) => typeof value === 'string') ? JSON.stringify(values) : null

/** What was counted at one moment: when (ms), minutes ahead of UTC there, and how much it adds to the score. */
export const Amount = z.tuple([z.number(), z.number(), z.custom<Score>(isScore)])
export type Amount = z.infer<typeof Amount>

/** A change of a user, as far as it concerns one leaderboard. */
export const ScoreChange = z.object({
  userId: z.string(),
  iid: z.string(),
  /** The user's `seq` of the change. */
  seq: z.number(),
  /** The user's group as of that change (L6): JSON of the values in the breakdown's order; null where one is lacking. */
  group: z.string().nullable(),
  /** What was counted, and the `seq` of the change of the same input before; null where only the group changed. */
  input: z.object({ previous: z.number().nullable(), amounts: z.array(Amount) }).nullable(),
})
export type ScoreChange = z.infer<typeof ScoreChange>

/**
 * Tells a leaderboard of changes, a user's in their order. The last of them happened at `at`: ranks move on that UTC day. Ranks are
 * looked up only if they are wanted.
 */
export const Delivery = z.object({
  definition: given,
  at: moment,
  changes: z.array(ScoreChange),
  wanted: z.boolean(),
})

/** What decides what a change means to a leaderboard: what is counted, and by which groups. */
export const meaningOf = ({ rankBy, input, breakdown }: Definition): string =>
  JSON.stringify([rankBy, input, breakdown])

/**
 * Changes to apply, when the last of them happened, whether the places are wanted, how the leaderboard was configured for their maker,
 * and whether they have been on their way for long.
 */
export type Applying = {
  changedAt: Instant
  changes: readonly ScoreChange[]
  wanted: boolean
  under: Definition
  isLate: boolean
}

/** See engine/placement.ts. */
const PlacementResponse: z.ZodType<Placement> = z.object({
  run: z.object({ start: z.number(), end: z.number().nullable() }),
  rank: z.number().nullable(),
  previousRank: z.number().nullable(),
  /** The last score of a full ranking as served, else 0 (L5). */
  threshold: z.number(),
})

/** A placement for each change; null where the change altered no score. */
export const DeliveryReply = z.object({
  placements: z.array(PlacementResponse.nullable()),
  rowsWritten: z.number(),
})

/** Asks for a page of the ranking of one run, by its first day. */
export const PageRequest = z.object({
  definition: given,
  now: moment,
  run: z.number(),
  /** Values of breakdown attributes that must match, by place in the breakdown (L6). */
  group: z.array(z.string().nullable()),
  offset: z.number(),
  limit: z.number(),
  /** The user at whose place the page begins (L9). */
  userId: z.string().nullable(),
})
export const PageReply = z.array(
  z.object({ userId: z.string(), iid: z.string(), rank: z.number(), value: z.number() }),
)

/** Asks for a page of the groups of one run, by its first day: so many after one of so many users and these values. */
export const GroupsRequest = z.object({
  definition: given,
  now: moment,
  run: z.number(),
  after: z.object({ users: z.number(), group: z.string() }).nullable(),
  limit: z.number(),
})
/** Groups as JSON of the values of the breakdown attributes, with how many users are ranked in each. */
export const GroupsReply = z.object({
  groups: z.array(z.object({ group: z.string(), users: z.number() })),
  hasMore: z.boolean(),
})

/** Asks for a user's place in one run and how it came about (L10). */
export const PlaceRequest = z.object({
  definition: given,
  now: moment,
  run: z.number(),
  userId: z.string(),
  iid: z.string(),
  numEvents: z.number(),
})
const Rank = z.number().nullable()
export const PlaceReply = z.object({
  rank: Rank,
  value: Rank,
  /** Days since 1970-01-01, oldest first. */
  history: z.array(
    z.object({ day: z.number(), rank: Rank, value: Rank, previousRank: Rank, previousValue: Rank }),
  ),
})

/** Asks for a user's best places in periods, each by its first and last day (R1). */
export const BestRequest = z.object({
  definition: given,
  now: moment,
  userId: z.string(),
  iid: z.string(),
  /** The local day of the user. */
  today: z.number(),
  periods: z.array(z.tuple([z.number(), z.number()])),
})
/** One for each period; null where the user had none. */
export const BestReply = z.array(z.object({ rank: z.number(), value: z.number() }).nullable())

/** Has a user taken out of everything (U8). */
export const UserRequest = z.object({ userId: z.string(), iid: z.string(), now: moment })
/** Asks for what is held of a user in the runs after one, by its first day; null: from the first run on (U8). */
export const HeldRequest = z.object({ userId: z.string(), iid: z.string(), after: z.number().nullable() })
/** What is held of a user, by run, of as many runs as one call has room for. */
const HeldRun = z.object({
  /** First and last day of the run, as days since 1970-01-01; the last is null where it has no end. */
  start: z.number(),
  end: z.number().nullable(),
  isFinal: z.boolean(),
  /** JSON of the values of the breakdown attributes; null where one is lacking. */
  group: z.string().nullable(),
  rank: Rank,
  /** In the unit of what is counted, not rounded; null where only the history is left. */
  score: Rank,
  /** When the score was last altered, in milliseconds; 0 where it never was. */
  reached: z.number(),
  history: z.array(z.object({ day: z.number(), rank: Rank, score: Rank })),
})
export const HeldReply = z.object({ runs: z.array(HeldRun), hasMore: z.boolean() })

/** Has a leaderboard count users anew from D1, after changes of theirs could not be delivered. */
export const RecountRequest = z.object({ definition: given, now: moment, userIds: z.array(z.string()) })

/** Has a leaderboard do what is due by `now`; what is only overdue is done once, as of `until`. */
export const RunDueRequest = z.object({
  definition: given,
  now: moment,
  until: moment,
  /** How long after its time a run is made final, in milliseconds, so that events that were on their way have arrived. */
  grace: z.number(),
})
/** When it wants to be called next, null where never; what it has to tell, and whether there is more of that. */
export const RunDueReply = z.object({
  dueAt: moment.nullable(),
  events: z.array(BoardEventRow),
  hasMore: z.boolean(),
})
