import * as z from 'zod'
import type { Configuration, Leaderboard } from '../configuration/configuration.types'
import { LEADERBOARD_STATUSES, RANK_BY, RUN_UNITS } from '../configuration/enumerations'
import { type Instant, instant } from '../lib/clock'
import { unreachable } from '../lib/errors'
import { civilDate } from '../lib/zone'
import { type Placement, STREAK } from '../rules/state'
import { BoardEventRow, Listened, listenedOf } from './notify/facts'
import type { Entry } from './object/ranking'
import { isScore, type Score } from './score.rules'

/** A user's score in one run, as stored. */
export type Row = Entry & {
  run: number
  /** JSON of the values of the breakdown attributes; null if a value is missing. */
  group: string | null
  /** The `seq` of the last change of the board's input that the scores contain; -1 if there is none. */
  cursor: number
  /** The `seq` of the change from which the group is known. */
  grouped: number
}

/** A user as D1 has it: the part for which a leaderboard can be behind. */
export type UserCursor = {
  userId: string
  iid: string
  seq: number
  /** `seq` of the last change of the board's input; null if there was none. */
  cursor: number | null
  /** JSON of the values of the breakdown attributes; null if a value is missing. */
  group: string | null
}

/**
 * The same with the sums of the log: `[local day, sum, moment of the last change that altered it]`. If the
 * board has only one run: one sum, under the first day.
 */
export type Recounted = UserCursor & { days: [number, Score, number | null][] }

const date = z.string().transform(civilDate)
export const moment = z.number().transform(instant)

/**
 * The data about a leaderboard that its object needs. Each call contains it, so the object is never outdated
 * for long.
 */
export const Definition = z.object({
  id: z.string(),
  tenantId: z.string(),
  /** The version of the configuration from which it was made. */
  version: z.number(),
  /** When the database was last brought back to an earlier moment, as far as the caller knows (M1). */
  epoch: z.number().default(0),
  status: z.enum(LEADERBOARD_STATUSES),
  rankBy: z.enum(RANK_BY),
  /**
   * The id of the metric or points system that is counted, or `streak`. In users' rows, `last_seq_by_input`
   * has the last change under this name.
   */
  input: z.string().nullable(),
  maxParticipants: z.number(),
  /**
   * Whether it ranks no users at present, although it keeps its scores: it ranks by streak, and the tenant's
   * streaks are off (S10).
   */
  isHidden: z.boolean().default(false),
  start: date,
  end: date.nullable(),
  startTime: z.string().nullable(),
  endTime: z.string().nullable(),
  breakdown: z.array(z.string()).readonly(),
  runUnit: z.enum(RUN_UNITS).nullable(),
  runInterval: z.number().nullable(),
  finished: moment.nullable(),
  /** The types of webhook events that webhooks listen to. Definitions stored by early versions have none. */
  listened: Listened.default([]),
})
export type Definition = z.output<typeof Definition>

/** A definition as it comes with a call. The object parses it only if it does not know its version yet. */
export type DefinitionInput = z.input<typeof Definition>
export const given = z.custom<DefinitionInput>((value) => Versioned.safeParse(value).success)
const Versioned = z.object({ version: z.number(), epoch: z.number().default(0) })

/** The definition of a leaderboard for its object. */
export function definitionOf(config: Configuration, board: Leaderboard): DefinitionInput {
  const { id, status, rankBy, maxParticipants, start, end, startTime, endTime } = board
  const { breakdown, runUnit, runInterval, finished } = board
  return {
    id,
    tenantId: config.tenantId,
    version: config.version,
    epoch: config.epoch,
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

/** The input in users' rows that a leaderboard follows (see `Definition`). */
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

/**
 * The group of a user with these values of the breakdown attributes, as JSON; null if a value is missing
 * (L6).
 */
export const groupOf = (values: readonly (string | null | undefined)[]): string | null =>
  values.every((value) => typeof value === 'string') ? JSON.stringify(values) : null

/** An amount of one moment: the moment (ms), the UTC offset in minutes, and how much it adds to the score. */
export const Amount = z.tuple([z.number(), z.number(), z.custom<Score>(isScore)])
export type Amount = z.infer<typeof Amount>

/** A change of a user, as far as it concerns one leaderboard. */
export const ScoreChange = z.object({
  userId: z.string(),
  iid: z.string(),
  /** The user's `seq` of the change. */
  seq: z.number(),
  /**
   * The user's group after that change (L6): JSON of the values in the breakdown's order; null if a value is
   * missing.
   */
  group: z.string().nullable(),
  /**
   * The counted amounts, and the `seq` of the previous change of the same input. Null if only the group has
   * changed.
   */
  input: z.object({ previous: z.number().nullable(), amounts: z.array(Amount) }).nullable(),
})
export type ScoreChange = z.infer<typeof ScoreChange>

/**
 * Notifies a leaderboard of changes. Each user's changes are in order. The last one happened at `at`, and
 * ranks move on that UTC day. Ranks are looked up only if they are `wanted`.
 */
export const Delivery = z.object({
  definition: given,
  at: moment,
  changes: z.array(ScoreChange),
  wanted: z.boolean(),
})

/** The parts of a definition that decide how a change counts: the input and the groups. */
export const meaningOf = ({ rankBy, input, breakdown }: Definition): string =>
  JSON.stringify([rankBy, input, breakdown])

/**
 * Changes to apply. `changedAt` is when the last one happened, `wanted` whether placements are wanted,
 * `under` the definition that the sender knew, `isLate` whether the message took a long time.
 */
export type Applying = {
  changedAt: Instant
  changes: readonly ScoreChange[]
  wanted: boolean
  under: Definition
  isLate: boolean
}

/** See src/rules/state.ts. */
const PlacementResponse: z.ZodType<Placement> = z.object({
  run: z.object({ start: z.number(), end: z.number().nullable() }),
  rank: z.number().nullable(),
  previousRank: z.number().nullable(),
  /** The last score of a full ranking as served, else 0 (L5). */
  threshold: z.number(),
})

/** A placement for each change; null if the change altered no score. */
export const DeliveryReply = z.object({
  placements: z.array(PlacementResponse.nullable()),
  rowsWritten: z.number(),
})

/** Asks for a page of the ranking of one run, by its first day. */
export const PageRequest = z.object({
  definition: given,
  now: moment,
  run: z.number(),
  /** Values of breakdown attributes that must match, by their place in the breakdown (L6). */
  group: z.array(z.string().nullable()),
  offset: z.number(),
  limit: z.number(),
  /** The user at whose place the page begins (L9). */
  userId: z.string().nullable(),
})
export const PageReply = z.array(
  z.object({ userId: z.string(), iid: z.string(), rank: z.number(), value: z.number() }),
)

/**
 * Asks for a page of the groups of one run, by its first day. `after` is the last group of the page before,
 * with its number of users.
 */
export const GroupsRequest = z.object({
  definition: given,
  now: moment,
  run: z.number(),
  after: z.object({ users: z.number(), group: z.string() }).nullable(),
  limit: z.number(),
})
/** Groups as JSON of the values of the breakdown attributes, with the number of ranked users in each. */
export const GroupsReply = z.object({
  groups: z.array(z.object({ group: z.string(), users: z.number() })),
  hasMore: z.boolean(),
})

/** Asks for the number of ranked users at the end of each day from one day to another (I2). */
export const ParticipantsRequest = z.object({
  definition: given,
  now: moment,
  /** Days since 1970-01-01. */
  first: z.number(),
  last: z.number(),
})
/** One for each day. */
export const ParticipantsReply = z.array(z.number())

/** Asks for a user's place in one run, and its history (L10). */
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
/** One for each period; null if the user was not ranked in it. */
export const BestReply = z.array(z.object({ rank: z.number(), value: z.number() }).nullable())

/** Deletes a user everywhere (U8). */
export const UserRequest = z.object({ userId: z.string(), iid: z.string(), now: moment })
/**
 * Asks for the stored data about a user in the runs after one, by its first day. Null: from the first run on
 * (U8).
 */
export const HeldRequest = z.object({ userId: z.string(), iid: z.string(), after: z.number().nullable() })
/** The stored data about a user in one run (U8). A reply has as many runs as one call has room for. */
const HeldRun = z.object({
  /** First and last day of the run, as days since 1970-01-01. The last is null if the run has no end. */
  start: z.number(),
  end: z.number().nullable(),
  isFinal: z.boolean(),
  /** JSON of the values of the breakdown attributes; null if a value is missing. */
  group: z.string().nullable(),
  rank: Rank,
  /** In the unit of the counted input, not rounded; null if only the history is left. */
  score: Rank,
  /** When the score last changed, in milliseconds; 0 if it never did. */
  reached: z.number(),
  history: z.array(z.object({ day: z.number(), rank: Rank, score: Rank })),
})
export const HeldReply = z.object({ runs: z.array(HeldRun), hasMore: z.boolean() })

/** Makes a leaderboard recount users from D1, after their changes could not be delivered. */
export const RecountRequest = z.object({ definition: given, now: moment, userIds: z.array(z.string()) })

/** Makes a leaderboard do the work that is due by `now`. Overdue work is done once, as of `until`. */
export const RunDueRequest = z.object({
  definition: given,
  now: moment,
  until: moment,
  /** How long after its end a run is made final, in milliseconds, so that late events have arrived. */
  grace: z.number(),
})
/**
 * When the leaderboard must be called next, null if never; its webhook events, and whether there are more.
 */
export const RunDueReply = z.object({
  dueAt: moment.nullable(),
  events: z.array(BoardEventRow),
  hasMore: z.boolean(),
})
