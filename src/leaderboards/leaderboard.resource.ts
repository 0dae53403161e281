import * as z from 'zod'
import {
  ConfigKey,
  DateField,
  DateResponse,
  Description,
  Filters,
  FiltersResponse,
  optional,
  Uuid,
  UuidResponse,
  wholeNumber,
} from '../api/fields'
import { filters, ID, KEY, NAME, optionally, reference, removable, required } from '../api/resources/fields'
import { defineResource } from '../api/resources/resource'
import { RankBy, RunUnit, TimeOfDay } from '../api/shapes/leaderboards'
import { LEADERBOARD_STATUSES } from '../configuration/enumerations'
import { leaderboards } from '../configuration/tables.sql.ts'
import { INT32_MAX } from '../lib/decimal'
import { MOST_BREAKDOWN_ATTRIBUTES, MOST_PARTICIPANTS } from '../lib/limits'
import { statusOf } from '../rules/runs.rules'
import { catchUpKind } from '../time/timekeeper'
import { leaderboardFrom, leaderboardPatched, leaderboardProblem, today } from './leaderboards.rules'
import { NO_UPKEEP } from './object/recount.sql.ts'
import { upkeepOf } from './updates'

const Status = z.enum(LEADERBOARD_STATUSES)
const Breakdown = <S extends z.ZodType>(item: S) => z.array(item).max(MOST_BREAKDOWN_ATTRIBUTES)

/** A field that an update may remove with null. For a create, null is the same as undefined. */
const removableLater = <C extends z.ZodType, I extends z.ZodType>(create: C, item: I) => ({
  ...removable(create, item),
  create: optional(create),
})

/**
 * Leaderboards (G7). Each one is created inactive, and then moved to the status that it asks for (L7). Without
 * a status it is scheduled if its start is in the future. `maxParticipants: null` means the default (L2).
 */
export const leaderboard = defineResource({
  kind: 'leaderboard',
  id: 'admin_leaderboards',
  path: '/leaderboards',
  one: 'a leaderboard',
  many: 'leaderboards',
  component: 'Leaderboard',
  list: 'leaderboards',
  table: leaderboards,
  columns: { added: { upkeep: NO_UPKEEP } },
  fields: {
    id: ID,
    name: NAME,
    key: KEY,
    description: {
      ...optionally(Description, z.string().optional()),
      // An empty description removes it.
      stored: (given: string | undefined) => given || null,
    },
    // The rules of moves decide about the status.
    status: { ...optionally(Status, Status), column: null },
    rankBy: required(RankBy, RankBy),
    metricId: optionally(Uuid, UuidResponse.optional()),
    metricKey: reference(ConfigKey),
    pointsSystemId: { ...optionally(Uuid, UuidResponse.optional()), column: 'systemId' as const },
    pointsSystemKey: reference(ConfigKey),
    maxParticipants: {
      ...removable(wholeNumber(1, MOST_PARTICIPANTS), z.int32()),
      stored: (given: number | null | undefined) => given ?? MOST_PARTICIPANTS,
    },
    start: optionally(DateField, DateResponse),
    end: removableLater(DateField, DateResponse.optional()),
    startTime: removableLater(TimeOfDay, TimeOfDay.optional()),
    endTime: removableLater(TimeOfDay, TimeOfDay.optional()),
    breakdownAttributes: {
      ...optionally(Breakdown(Uuid), z.array(UuidResponse)),
      column: 'breakdown' as const,
      stored: (given: readonly string[] | undefined): readonly string[] => given ?? [],
    },
    breakdownAttributeKeys: reference(Breakdown(ConfigKey)),
    userAttributes: filters(Filters, FiltersResponse),
    runUnit: removableLater(RunUnit, RunUnit.optional()),
    runInterval: optionally(wholeNumber(1, INT32_MAX), z.int32().optional()),
  },
  show: (board, { now }) => ({ status: statusOf(board, now) }),
  make: ({ start, ...row }, { scope: { now }, config }, item) => {
    const asked = { ...row, start: start ?? today(now), status: 'inactive' as const, finished: null }
    const board = leaderboardFrom(asked, item, now)
    return typeof board === 'string' ? board : (leaderboardProblem(config, board, now) ?? board)
  },
  patch: (named, before, { scope: { now }, config }, item) => {
    // A change to no runs removes the interval too.
    const runInterval = item.runUnit === null ? (item.runInterval ?? null) : named.runInterval
    const board = leaderboardPatched(before, { ...named, runInterval }, item, now)
    return typeof board === 'string' ? board : (leaderboardProblem(config, board, now) ?? board)
  },
  /**
   * The upkeep of leaderboards whose scores may change (L3, L7). One that stays inactive has none. One that is
   * finished is final at once, so the ticks that are due are granted before that (L8).
   */
  effects: async ({ scope, draft: { changes } }) => {
    const isFinished = changes.some(
      ({ before, after }) =>
        before?.rankBy === 'points' &&
        statusOf(before, scope.now) === 'active' &&
        after?.status === 'finished',
    )
    if (isFinished) await catchUpKind(scope, 'ticks', scope.now)
    return upkeepOf(
      scope,
      changes.flatMap(({ before, after }) => {
        const isIdle = (before?.status ?? 'inactive') === 'inactive' && after?.status === 'inactive'
        return isIdle ? [] : ((after ?? before)?.id ?? [])
      }),
    )
  },
})
