import type * as z from 'zod'
import {
  type AchievementCompletionResponse,
  completedResponses,
  userAchievementResponse,
} from '../../api/shapes/achievements'
import type { EventResponse } from '../../api/shapes/events'
import { leaderboardChanges } from '../../api/shapes/leaderboards'
import { pointsChanges } from '../../api/shapes/points'
import { streakResponse } from '../../api/shapes/streaks'
import { preferencesResponse, userResponse } from '../../api/shapes/users'
import type { Configuration, Metric } from '../../configuration/model'
import { type BoardContext, deliverEach } from '../../leaderboards/updates'
import type { Instant } from '../../lib/clock'
import { fromMicros } from '../../lib/decimal'
import { ApiError, unreachable } from '../../lib/errors'
import type { Command, CompletionCommand, EventCommand } from '../../rules/evaluate.rules'
import { forbiddenFields } from '../../rules/profile.rules'
import { NEW_COUNTER, type Placements, type UserState } from '../../rules/state'
import type { Job, Outcome } from '../../store/commit/decide'
import type { CommandResult } from './sent'

const toRefused = ({ status, message, issues, retryAfter }: ApiError): CommandResult => ({
  ...{ kind: 'refused', status, message, issues: [...issues] },
  ...(retryAfter !== null && { retryAfter }),
})

/** The result of a command whose commit threw: an API error, or an error in Laurel. */
export function failedResult(error: unknown): CommandResult {
  if (error instanceof ApiError) return toRefused(error)
  return { kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

/** Makes the result from the decision. It never reads again. */
export function resultOf(
  command: Command,
  outcome: Outcome | undefined,
  placements: Placements = new Map(),
): CommandResult {
  if (outcome === undefined) throw new Error('a commit returned no outcome for a command')
  const { decision, config } = outcome
  switch (decision.kind) {
    case 'failed':
      return failedResult(decision.error)
    case 'refused':
      return toRefused(decision.apiError)
    case 'lost':
      return lost(command, decision)
    case 'changed':
    case 'replayed':
    case 'completed':
    case 'unchanged':
      if (config === null) throw new Error('a decision has no configuration')
      return acceptedResult(command, decision, config, placements)
    default:
      return unreachable(decision)
  }
}

type Accepted = Exclude<Outcome['decision'], { kind: 'lost' | 'refused' | 'failed' }>

function acceptedResult(
  command: Command,
  decision: Accepted,
  config: Configuration,
  placements: Placements,
): CommandResult {
  const { before, after } =
    decision.kind === 'changed' ? decision.change : { before: decision.state, after: decision.state }
  switch (command.kind) {
    case 'event':
      return eventResult(command, decision, config, placements)
    case 'upsert':
    case 'update':
      return { kind: 'user', body: userResponse(config, after) }
    case 'completion':
      return {
        kind: 'completion',
        body: completionResponse(config, decision),
        leftOut: leftOutOf(config, before, command),
        isEarlier: decision.kind === 'completed',
      }
    case 'preferences':
      return { kind: 'preferences', body: preferencesResponse(config, after.preferences) }
    default:
      return unreachable(command)
  }
}

function eventResult(
  command: EventCommand,
  decision: Accepted,
  config: Configuration,
  placements: Placements,
): CommandResult {
  const key = command.idempotencyKey
  if (decision.kind === 'replayed') {
    const { eventId, bodyDiffers, metric, state, at } = decision
    const leftOut = leftOutOf(config, state, command)
    const replay = replayResponse(config, eventId, metric, state, at)
    const body = { ...replay, ...idempotency(key, true), ...(bodyDiffers && { bodyDiffers }) }
    return { kind: 'event', status: 202, body, leftOut, at }
  }
  if (decision.kind !== 'changed' || decision.metric === null) throw new Error('an event has changed nothing')
  const { change, metric } = decision
  const { before, after } = change
  const body = {
    ...totalResponse(command.eventId, metric, after),
    achievements: completedResponses(config, change),
    currentStreak: { ...streakResponse(config, after, after.changed), extended: change.isExtended },
    points: pointsChanges(config, change),
    leaderboards: leaderboardChanges(config, placements, after.profile, after.changed),
    ...idempotency(key, false),
  }
  return { kind: 'event', status: 201, body, leftOut: leftOutOf(config, before, command), at: after.changed }
}

function completionResponse(
  config: Configuration,
  decision: Accepted,
): z.infer<typeof AchievementCompletionResponse> {
  if (decision.kind === 'completed') {
    const { achievement, completion } = decision
    return {
      completionId: completion.id,
      achievement: userAchievementResponse(config, achievement, completion),
      points: {},
    }
  }
  if (decision.kind !== 'changed') throw new Error('a completion has changed nothing')
  const { change } = decision
  const completion = change.after.achievements.get(change.completed[0] ?? '')
  const [achievement] = completedResponses(config, change)
  if (completion === undefined || achievement === undefined)
    throw new Error('a completion has no achievement')
  return { completionId: completion.id, achievement, points: pointsChanges(config, change) }
}

function lost(
  command: Command,
  { place, metric, state, known, at }: Extract<Outcome['decision'], { kind: 'lost' }>,
): CommandResult {
  if (command.kind !== 'event') throw new Error('a command without an event was found in the log')
  const leftOut = leftOutOf(known, state, command)
  if (metric === null || state === null) return { kind: 'lost', ...place, replay: null, leftOut }
  const present = replayResponse(known, command.eventId, metric, state, at)
  const replay = { ...present, ...idempotency(command.idempotencyKey, true) }
  return { kind: 'lost', ...place, replay, leftOut }
}

/** Attributes left out of an event or a completion. `before`: the user before the command (K7). */
const leftOutOf = (
  config: Configuration,
  before: UserState | null,
  { user, by }: EventCommand | CompletionCommand,
): string[] => forbiddenFields(config, before, user, by)

const idempotency = (key: string | null, replayed: boolean) =>
  key === null ? {} : { idempotencyKey: key, idempotentReplayed: replayed }

/** The response to an event that counted before: the current values, and no changes (E4). */
function replayResponse(
  config: Configuration,
  eventId: string,
  metric: Metric,
  user: UserState,
  at: Instant,
): z.infer<typeof EventResponse> {
  return {
    ...totalResponse(eventId, metric, user),
    achievements: [],
    currentStreak: { ...streakResponse(config, user, at), extended: false },
    points: {},
    leaderboards: {},
  }
}

const totalResponse = (eventId: string, metric: Metric, user: UserState) => ({
  eventId,
  metricId: metric.id,
  total: fromMicros((user.metrics.get(metric.id) ?? NEW_COUNTER).total),
})

/** Notifies the leaderboards of committed changes, and makes each command's result. */
export async function resultsOf(
  context: BoardContext,
  jobs: readonly Job[],
  outcomes: readonly Outcome[],
): Promise<CommandResult[]> {
  const [results] = resultsOfEach(context, [{ jobs, outcomes }])
  return results ?? []
}

/**
 * Notifies the leaderboards of changes that were committed together, with one call for each leaderboard. A
 * user's results are ready as soon as the leaderboards on which this user has moved have responded.
 */
export function resultsOfEach(
  context: BoardContext,
  users: readonly { jobs: readonly Job[]; outcomes: readonly Outcome[] }[],
): Promise<CommandResult[]>[] {
  const changed = users.flatMap(({ outcomes }) =>
    outcomes.flatMap((outcome) => {
      if (outcome.config === null || outcome.decision.kind !== 'changed') return []
      const { decision, config } = outcome
      // The response shows nothing of the silent change.
      const silent = outcome.silent ? [{ outcome: null, change: outcome.silent, config }] : []
      return [{ outcome, change: decision.change, config }, ...silent]
    }),
  )
  const last = changed.at(-1)
  const changes = changed.map(({ change }) => change)
  const delivered = last && deliverEach(context, last.config, changes, last.change.after.changed)
  const placements = new Map<Outcome | null, Promise<Placements> | undefined>(
    changed.map(({ outcome }, nth) => [outcome, delivered?.[nth]]),
  )
  return users.map(({ jobs, outcomes }) =>
    Promise.all(
      jobs.map(async ({ command }, index) => {
        const outcome = outcomes[index]
        return resultOf(command, outcome, outcome && (await placements.get(outcome)))
      }),
    ),
  )
}
