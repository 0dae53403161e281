import type * as z from 'zod'
import { type AuditEntry, type Change, entriesOf } from '../configuration/audit.rules'
import { configurationOf } from '../configuration/configuration'
import type { Leaderboard } from '../configuration/configuration.types'
import {
  byIdOrKey,
  createEach,
  Draft,
  deleteEach,
  type ListedPage,
  type Names,
  page,
  updateEach,
} from '../configuration/drafts.rules'
import { withIds } from '../configuration/references.rules'
import type { Instant } from '../lib/clock'
import { newId } from '../lib/new-id'
import type { Scope } from '../platform/context'
import { statusOf } from '../rules/runs.rules'
import type {
  AdminLeaderboard,
  CreateLeaderboardRequestItem,
  UpdateLeaderboardRequestItem,
} from './leaderboards.admin.schemas'
import { storeLeaderboards } from './leaderboards.repository'
import { leaderboardFrom, leaderboardPatched } from './leaderboards.rules'
import { leaderboardProblem } from './problems.rules'
import { configureWithUpkeep } from './updates'

const WHAT = 'a leaderboard'

/** A leaderboard as the admin interface returns it, with its present status (G10, L7). */
function adminLeaderboard(board: Leaderboard, now: Instant): z.input<typeof AdminLeaderboard> {
  const { description, metricId, systemId, end, startTime, endTime, runUnit, runInterval } = board
  return {
    id: board.id,
    name: board.name,
    key: board.key,
    ...(description !== null && { description }),
    status: statusOf(board, now),
    rankBy: board.rankBy,
    ...(metricId !== null && { metricId }),
    ...(systemId !== null && { pointsSystemId: systemId }),
    maxParticipants: board.maxParticipants,
    start: board.start,
    ...(end !== null && { end }),
    ...(startTime !== null && { startTime }),
    ...(endTime !== null && { endTime }),
    breakdownAttributes: [...board.breakdown],
    ...(runUnit !== null && { runUnit }),
    ...(runInterval !== null && { runInterval }),
  }
}

/** The entries of the audit log about leaderboards (Z1). */
export const boardEntries = (changes: readonly Change<Leaderboard>[], now: Instant): AuditEntry[] =>
  entriesOf('leaderboard', changes, (board) => adminLeaderboard(board, now))

/** A page of the tenant's leaderboards, oldest first (G7). */
export async function listLeaderboards(scope: Scope, query: ListedPage) {
  const { leaderboards } = await configurationOf(scope)
  return page(leaderboards, query).map((board) => adminLeaderboard(board, scope.now))
}

/** A leaderboard, by its id or key (O1). Throws 404 if there is none. */
export async function findLeaderboard(scope: Scope, idOrKey: string) {
  const { leaderboards } = await configurationOf(scope)
  return adminLeaderboard(byIdOrKey(leaderboards, idOrKey, 'This leaderboard'), scope.now)
}

/**
 * Creates leaderboards (G7). Each one is created inactive, and then moved to the status that it asks for. If
 * that move is illegal, the leaderboard is not created (L7).
 */
export function createLeaderboards(
  scope: Scope,
  items: readonly z.output<typeof CreateLeaderboardRequestItem>[],
) {
  const { now } = scope
  return configureWithUpkeep(scope, (config) => {
    const draft = new Draft(config.leaderboards)
    const { created, issues } = createEach(draft, items, (asked) => {
      const item = withIds(config, asked)
      if (typeof item === 'string') return item
      const board = leaderboardFrom(newId(now), now, item)
      if (typeof board === 'string') return board
      return leaderboardProblem({ ...config, leaderboards: draft.list }, board, now) ?? board
    })
    return {
      statements: storeLeaderboards(scope, config.leaderboards, draft),
      boards: concerned(config.leaderboards, draft),
      audit: boardEntries(draft.changes, scope.now),
      result: { created: created.map((board) => adminLeaderboard(board, now)), issues },
    }
  })
}

/** Changes leaderboards, and moves them to another status (G7, L5, L7). */
export function updateLeaderboards(
  scope: Scope,
  items: readonly z.output<typeof UpdateLeaderboardRequestItem>[],
) {
  const { now } = scope
  return configureWithUpkeep(scope, (config) => {
    const draft = new Draft(config.leaderboards)
    const { updated, issues } = updateEach(draft, items, WHAT, (before, asked) => {
      const item = withIds(config, asked)
      if (typeof item === 'string') return item
      const board = leaderboardPatched(before, item, now)
      if (typeof board === 'string') return board
      return leaderboardProblem({ ...config, leaderboards: draft.list }, board, now) ?? board
    })
    return {
      statements: storeLeaderboards(scope, config.leaderboards, draft),
      boards: concerned(config.leaderboards, draft),
      audit: boardEntries(draft.changes, scope.now),
      result: { updated: updated.map((board) => adminLeaderboard(board, now)), issues },
    }
  })
}

/** Deletes leaderboards (G9). */
export function deleteLeaderboards(scope: Scope, names: Names) {
  return configureWithUpkeep(scope, (config) => {
    const draft = new Draft(config.leaderboards)
    const result = deleteEach(draft, names, WHAT)
    return {
      statements: storeLeaderboards(scope, config.leaderboards, draft),
      boards: concerned(config.leaderboards, draft),
      audit: boardEntries(draft.changes, scope.now),
      result,
    }
  })
}

/** The ids of the changed leaderboards, except ones that were inactive and still are. */
function concerned(before: readonly Leaderboard[], draft: Draft<Leaderboard>): string[] {
  const idle = new Set(before.filter(({ status }) => status === 'inactive').map(({ id }) => id))
  return [
    ...draft.added.filter(({ status }) => status !== 'inactive').map(({ id }) => id),
    ...draft.changed.filter(({ id, status }) => status !== 'inactive' || !idle.has(id)).map(({ id }) => id),
    ...draft.removed,
  ]
}
