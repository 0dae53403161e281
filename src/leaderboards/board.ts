import * as z from 'zod'
import { LEADERBOARD_STATUSES, RANK_BY, RUN_UNITS } from '../configuration/enumerations'
import { type Configuration, type Leaderboard, meets } from '../configuration/model'
import { Filters } from '../configuration/tables.sql.ts'
import { type Instant, instant } from '../lib/clock'
import { unreachable } from '../lib/errors'
import { civilDate } from '../lib/zone'
import { firstDayOf } from '../rules/runs.rules'
import { type Placement, STREAK } from '../rules/state'
import { type BoardEventRow, Listened, listenedOf } from './notify/board-events.sql.ts'
import type { Score } from './score.rules'

/** The values by which a user is ranked (L4). */
export type Entry = {
  userId: string
  iid: string
  score: Score
  /** When the last counted change that altered the score happened, in milliseconds. */
  reached: number
}

/** A user's score in one run, as stored. */
export type Row = Entry & {
  run: number
  /** JSON of the values of the breakdown attributes; null if a value is missing, or a filter does not match. */
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

/** The same with sums of the log: `[local day, sum, last change that altered it]`. Without runs: one sum. */
export type Recounted = UserCursor & { days: [number, Score, number | null][] }

const date = z.string().transform(civilDate)
export const moment = z.number().transform(instant)

/** What a leaderboard's object needs to know. Each call contains it, so the object is never outdated long. */
export const Definition = z.object({
  id: z.string(),
  tenantId: z.string(),
  /** The version of the configuration from which it was made. */
  version: z.number(),
  /** When the database was last brought back to an earlier moment, as far as the caller knows (M1). */
  epoch: z.number().default(0),
  status: z.enum(LEADERBOARD_STATUSES),
  rankBy: z.enum(RANK_BY),
  /** The counted metric or points system, or `streak`: the key in `last_seq_by_input` of users' rows. */
  input: z.string().nullable(),
  maxParticipants: z.number(),
  /** Whether it ranks no users at present: it ranks by streak, and the tenant's streaks are off (S10). */
  isHidden: z.boolean().default(false),
  start: date,
  end: date.nullable(),
  startTime: z.string().nullable(),
  endTime: z.string().nullable(),
  breakdown: z.array(z.string()).readonly(),
  userAttributes: Filters,
  runUnit: z.enum(RUN_UNITS).nullable(),
  runInterval: z.number().nullable(),
  finished: moment.nullable(),
  /** The types of webhook events that webhooks listen to. Definitions stored by early versions have none. */
  listened: Listened.default([]),
})
export type Definition = z.output<typeof Definition>

/** The definition of a leaderboard for its object. */
export function definitionOf(config: Configuration, board: Leaderboard): Definition {
  const { id, status, rankBy, maxParticipants, start, end, startTime, endTime } = board
  const { breakdown, userAttributes, runUnit, runInterval, finished } = board
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
    userAttributes,
    runUnit,
    runInterval,
    finished: finished === null ? null : instant(finished),
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

/** The group with these values of the breakdown attributes, as JSON; null if a value is missing (L6). */
export const groupOf = (values: readonly (string | null | undefined)[]): string | null =>
  values.every((value) => typeof value === 'string') ? JSON.stringify(values) : null

/**
 * The group of a user with these attributes. Null too if the user does not match all filters (L6, L13).
 * `recount.sql.ts` repeats it in SQL: change both together.
 */
export const groupIn = (
  { breakdown, userAttributes }: Pick<Definition, 'breakdown' | 'userAttributes'>,
  attributes: ReadonlyMap<string, string>,
): string | null =>
  meets(userAttributes, attributes) ? groupOf(breakdown.map((id) => attributes.get(id))) : null

/** How far the upkeep of a board has got. */
export const Progress = z.object({
  /** Runs that start before this day are final. */
  openFrom: z.number(),
  /** The UTC day on which ranks last moved; null if they never did. */
  day: z.number().nullable(),
  /** A comparison in progress: `since` when users have changed (0: all), its begin, and the last user id. */
  comparison: z.object({ since: z.number(), began: z.number(), after: z.string() }).nullable(),
  /** Whether all users must be compared before anything else. */
  mustCompareAll: z.boolean(),
  /** When the last comparison began, in milliseconds. It goes back with work that comes late. */
  compared: z.number(),
  /** For which epoch the scores were read from D1 (M1). */
  epoch: z.number(),
  /** Whether all scores are being read again from D1, which was brought back to an earlier moment (M2). */
  isRefilling: z.boolean(),
  /** D1 has noted a comparison of this moment or a later one; 0: unknown. An earlier note: a restore (M2). */
  noted: z.number(),
})
export type Progress = z.infer<typeof Progress>

/** The progress of a new board. */
export const newProgress = ({ start, epoch }: Definition): Progress => ({
  openFrom: firstDayOf({ start }),
  day: null,
  comparison: null,
  mustCompareAll: true,
  compared: 0,
  epoch,
  isRefilling: false,
  noted: 0,
})

/** An amount of one moment: the moment (ms), the UTC offset in minutes, and how much it adds to the score. */
export type Amount = [at: number, offset: number, amount: Score]

/** A change of a user, as far as it concerns one leaderboard. */
export type ScoreChange = {
  userId: string
  iid: string
  seq: number
  /** The user's group after it (`groupIn`). */
  group: string | null
  /** The amounts, and the `seq` of the change of this input before it. Null: only the group has changed. */
  input: { previous: number | null; amounts: Amount[] } | null
}

/** The parts of a definition that decide how a change counts: the input, the groups and who takes part. */
export const meaningOf = ({ rankBy, input, breakdown, userAttributes }: Definition): string =>
  JSON.stringify([rankBy, input, breakdown, userAttributes])

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

/*
 * The calls of a leaderboard's object. Only Laurel's own code makes them, so the type check is enough. During
 * a deploy, one of both sides may be of the version before: a new field may be missing.
 */

/** What the sender of a call knows: the definition and the moment. */
export type Call = { definition: Definition; now: Instant }

/**
 * Notifies a leaderboard of changes. Each user's changes are in order. The last one happened at `at`, and
 * ranks move on that UTC day. Ranks are looked up only if they are `wanted`.
 */
export type Delivery = { definition: Definition; at: Instant; changes: ScoreChange[]; wanted: boolean }
/** A placement for each change; null if the change altered no score. */
export type DeliveryReply = { placements: (Placement | null)[]; rowsWritten: number }

/** A page of the ranking of one run, by its first day. */
export type PageAsked = {
  run: number
  /** Values of breakdown attributes that must match, by their place in the breakdown (L6). */
  group: (string | null)[]
  offset: number
  limit: number
  /** The user at whose place the page begins (L9). */
  userId: string | null
}
export type Page = { userId: string; iid: string; rank: number; value: number }[]

/** A page of the groups of a run, by its first day, after the last group of the page before. */
export type GroupsAsked = { run: number; after: { users: number; group: string } | null; limit: number }
/** Groups as JSON of the values of the breakdown attributes, with the number of ranked users in each. */
export type GroupsPage = { groups: { group: string; users: number }[]; hasMore: boolean }

type Rank = number | null

/** A user's place in one run, and its history (L10). */
export type PlaceAsked = { run: number; userId: string; iid: string; numEvents: number }
/** Days since 1970-01-01, oldest first. */
export type PlaceFound = {
  rank: Rank
  value: Rank
  history: { day: number; rank: Rank; value: Rank; previousRank: Rank; previousValue: Rank }[]
}

/** A user's best places in periods, each by its first and last day (R1). `today` is the user's local day. */
export type BestAsked = { userId: string; iid: string; today: number; periods: [number, number][] }
/** One for each period; null if the user was not ranked in it. */
export type BestFound = ({ rank: number; value: number } | null)[]

/** The stored data about a user in the runs after one, by its first day. Null: from the first run on (U8). */
export type HeldAsked = { userId: string; iid: string; after: number | null }
/** The stored data about a user in one run (U8). */
export type HeldRun = {
  /** First and last day of the run, as days since 1970-01-01. The last is null if the run has no end. */
  start: number
  end: number | null
  isFinal: boolean
  /** JSON of the values of the breakdown attributes; null if a value is missing. */
  group: string | null
  rank: Rank
  /** In the unit of the counted input, not rounded; null if only the history is left. */
  score: number | null
  /** When the score last changed, in milliseconds; 0 if it never did. */
  reached: number
  history: { day: number; rank: Rank; score: number | null }[]
}
/** As many runs as one call has room for. */
export type HeldRuns = { runs: HeldRun[]; hasMore: boolean }

/**
 * Work that is due by `now`. Overdue work is done once, as of `until`. `grace` is how long after its end a run
 * is made final, in milliseconds, so that late events have arrived.
 */
export type DueAsked = { until: Instant; grace: number }
/** When the leaderboard must be called next, null if never; its webhook events, and whether there are more. */
export type DueDone = { dueAt: Instant | null; events: BoardEventRow[]; hasMore: boolean }
