import * as z from 'zod'
import { type Carrier, deliverEach } from '../boards/delivery.service'
import type { Configuration, Metric } from '../config/configuration.types'
import type { Command, CompletionCommand, EventCommand } from '../engine/evaluate.rules'
import { NEW_COUNTER } from '../engine/metrics.rules'
import type { Placements } from '../engine/placement.types'
import { forbiddenAttributes } from '../engine/profile.rules'
import type { UserState } from '../engine/state.types'
import type { Instant } from '../lib/clock'
import { fromMicros } from '../lib/decimal'
import { listed, REFUSAL_STATUSES, Refusal } from '../lib/errors'
import { unreachable } from '../lib/unreachable'
import { AchievementCompletionResponse } from '../wire/achievement.schemas'
import { EventResponse } from '../wire/event.schemas'
import { UserPreferencesResponse } from '../wire/preferences.schemas'
import { completedAnswers, userAchievementAnswer } from '../wire/presenters/achievement.presenter'
import { leaderboardChanges } from '../wire/presenters/leaderboard.presenter'
import { pointsChanges } from '../wire/presenters/points.presenter'
import { preferencesAnswer } from '../wire/presenters/preferences.presenter'
import { streakAnswer } from '../wire/presenters/streak.presenter'
import { userAnswer } from '../wire/presenters/user.presenter'
import { User } from '../wire/user.schemas'
import type { Outcome } from './commit.types'

/** A value that a schema accepts, handed on as it is: z.record would drop a key such as `__proto__`. */
const accepted = <S extends z.ZodType>(schema: S) =>
  z.custom<z.infer<S>>((value) => schema.safeParse(value).success)

/** The keys of attributes that were left out, since only admins may set them (K7). */
const leftOut = z.array(z.string()).default([])

/** How a command ended, as it can be told to a caller or sent between isolates. */
export const CommandResult = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('event'),
    status: z.literal([201, 202]),
    body: accepted(EventResponse),
    leftOut,
  }),
  z.object({ kind: z.literal('user'), body: accepted(User) }),
  z.object({ kind: z.literal('completion'), body: accepted(AchievementCompletionResponse), leftOut }),
  z.object({ kind: z.literal('preferences'), body: accepted(UserPreferencesResponse) }),
  z.object({
    kind: z.literal('refused'),
    status: z.literal(REFUSAL_STATUSES),
    message: z.string(),
    /** In how many seconds to try again, if waiting helps. */
    retryAfter: z.number().optional(),
  }),
  /** An event that counted, at this place of the log, but whose answer is lost; with a key it can be told as a replay. */
  z.object({
    kind: z.literal('lost'),
    at: z.number(),
    seq: z.number(),
    replay: accepted(EventResponse).nullable(),
    leftOut,
  }),
  /** A fault of ours; the message is for the log, not for the caller. */
  z.object({ kind: z.literal('failed'), message: z.string() }),
])
export type CommandResult = z.infer<typeof CommandResult>

/** What the lane answers: how each command ended, in the order sent, and what that cost. */
export const LaneReply = z.object({
  results: z.array(CommandResult),
  cost: z.object({ roundTrips: z.number(), rowsRead: z.number(), rowsWritten: z.number() }),
})

/** The header that names what was left out of an event or a completion (K7). */
export const WARNING_HEADER = {
  'X-Laurel-Warning': 'Names the attributes that were left out, since only an admin key may set them.',
} as const

/** A reply's headers: `X-Laurel-Warning` if something was left out (K7), else none. */
const warned = (leftOut: readonly string[]) =>
  leftOut.length === 0
    ? {}
    : {
        headers: {
          'X-Laurel-Warning': `Left out, since only an admin key may set them: ${listed(leftOut)}`,
        },
      }

const refusalOf = ({ status, message, retryAfter }: Extract<CommandResult, { kind: 'refused' }>) =>
  new Refusal(status, message, retryAfter ?? null)

const toRefused = ({ status, message, retryAfter }: Refusal): CommandResult => ({
  kind: 'refused',
  status,
  message,
  ...(retryAfter !== null && { retryAfter }),
})

/** The answer to an event's caller. Throws what refused it. */
export function eventReply(result: CommandResult) {
  if (result.kind !== 'event' && result.kind !== 'lost') return noReply(result)
  const more = warned(result.leftOut)
  if (result.kind === 'event') {
    return { status: result.status, body: result.body, ...more } as const
  }
  if (result.replay !== null) return { status: 202, body: result.replay, ...more } as const
  throw new Error('an event counted, but its answer is lost')
}

/** Throws what refused a command or made it fail; also if the result is that of another kind of command. */
function noReply(result: CommandResult): never {
  switch (result.kind) {
    case 'refused':
      throw refusalOf(result)
    case 'failed':
      throw new Error(result.message)
    case 'event':
    case 'lost':
    case 'user':
    case 'completion':
    case 'preferences':
      throw new Error(`another kind of command ended as ${result.kind}`)
    default:
      return unreachable(result)
  }
}

/** The user to answer to whoever changed it. Throws what refused it. */
export function userReply(result: CommandResult): z.infer<typeof User> {
  return result.kind === 'user' ? result.body : noReply(result)
}

/** What completing an achievement came to, to answer to its caller. Throws what refused it. */
export function completionReply(result: CommandResult) {
  if (result.kind !== 'completion') return noReply(result)
  return { status: 201, body: result.body, ...warned(result.leftOut) } as const
}

/** What a user has set, to answer to whoever set it. Throws what refused it. */
export function preferencesReply(result: CommandResult): z.infer<typeof UserPreferencesResponse> {
  return result.kind === 'preferences' ? result.body : noReply(result)
}

/** The end of a command whose commit threw: a refusal, or a fault of ours. */
export function failedResult(error: unknown): CommandResult {
  if (error instanceof Refusal) return toRefused(error)
  return { kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

/** Tells the leaderboards of what is committed, and makes each command's answer. */
export async function resultsOf(
  carrier: Carrier,
  commands: readonly Command[],
  outcomes: readonly Outcome[],
): Promise<CommandResult[]> {
  const [results] = resultsOfEach(carrier, [{ commands, outcomes }])
  return results ?? []
}

/**
 * Tells the leaderboards of what was committed together, all of it by one call of each leaderboard, and makes the answers to each user's
 * commands as soon as those leaderboards have answered on which that user has moved.
 */
export function resultsOfEach(
  carrier: Carrier,
  users: readonly { commands: readonly Command[]; outcomes: readonly Outcome[] }[],
): Promise<CommandResult[]>[] {
  const changed = users.flatMap(({ outcomes }) =>
    outcomes.flatMap((outcome) =>
      outcome.decision.kind === 'changed' && outcome.config !== null
        ? [{ outcome, change: outcome.decision.change, config: outcome.config }]
        : [],
    ),
  )
  const last = changed.at(-1)
  const changes = changed.map(({ change }) => change)
  const delivered =
    last === undefined ? [] : deliverEach(carrier, last.config, changes, last.change.after.changed)
  const placements = new Map<Outcome, Promise<Placements> | undefined>(
    changed.map(({ outcome }, nth) => [outcome, delivered[nth]]),
  )
  return users.map(({ commands, outcomes }) =>
    Promise.all(
      commands.map(async (command, index) => {
        const outcome = outcomes[index]
        return resultOf(command, outcome, outcome && (await placements.get(outcome)))
      }),
    ),
  )
}

/** Makes the answer from what happened, never from a second read. */
export function resultOf(
  command: Command,
  outcome: Outcome | undefined,
  placements: Placements = new Map(),
): CommandResult {
  if (outcome === undefined) throw new Error('a commit left a command without an outcome')
  const { decision, config } = outcome
  switch (decision.kind) {
    case 'failed':
      return failedResult(decision.error)
    case 'refused':
      return toRefused(decision.refusal)
    case 'lost':
      return lost(command, decision)
    case 'changed':
    case 'replayed':
    case 'completed':
    case 'unchanged':
      if (config === null) throw new Error('a decision without its configuration')
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
  const [before, after] =
    decision.kind === 'changed'
      ? [decision.change.before, decision.change.after]
      : [decision.state, decision.state]
  switch (command.kind) {
    case 'event':
      return eventResult(command, decision, config, placements)
    case 'upsert':
    case 'update':
      return { kind: 'user', body: userAnswer(config, after) }
    case 'completion': {
      const body = completionAnswer(config, decision)
      return { kind: 'completion', body, leftOut: leftOutOf(config, before, command) }
    }
    case 'preferences':
      return { kind: 'preferences', body: preferencesAnswer(config, after.preferences) }
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
    const { eventId, metric, state, at } = decision
    const leftOut = leftOutOf(config, state, command)
    const body = replayAnswer(config, eventId, metric, state, at)
    return { kind: 'event', status: 202, body: { ...body, ...idempotency(key, true) }, leftOut }
  }
  if (decision.kind !== 'changed' || decision.metric === null)
    throw new Error('an event that changed nothing')
  const { change, metric } = decision
  const { before, after } = change
  const body = {
    ...totalAnswer(command.eventId, metric, after),
    achievements: completedAnswers(config, change),
    currentStreak: { ...streakAnswer(config, after, after.changed), extended: change.isExtended },
    points: pointsChanges(config, change),
    leaderboards: leaderboardChanges(config, placements, after.profile, after.changed),
    ...idempotency(key, false),
  }
  return { kind: 'event', status: 201, body, leftOut: leftOutOf(config, before, command) }
}

function completionAnswer(
  config: Configuration,
  decision: Accepted,
): z.infer<typeof AchievementCompletionResponse> {
  if (decision.kind === 'completed') {
    const { achievement, completion } = decision
    return {
      completionId: completion.id,
      achievement: userAchievementAnswer(config, achievement, completion),
      points: {},
    }
  }
  if (decision.kind !== 'changed') throw new Error('a completion that changed nothing')
  const { change } = decision
  const completion = change.after.achievements.get(change.completed[0] ?? '')
  const [achievement] = completedAnswers(config, change)
  if (completion === undefined || achievement === undefined) throw new Error('a completion of nothing')
  return { completionId: completion.id, achievement, points: pointsChanges(config, change) }
}

function lost(
  command: Command,
  { place, metric, state, known, at }: Extract<Outcome['decision'], { kind: 'lost' }>,
): CommandResult {
  const key = command.kind === 'event' ? command.idempotencyKey : null
  const replay =
    command.kind === 'event' && key !== null && metric !== null && state !== null
      ? { ...replayAnswer(known, command.eventId, metric, state, at), ...idempotency(key, true) }
      : null
  const leftOut = command.kind === 'event' ? leftOutOf(known, state, command) : []
  return { kind: 'lost', ...place, replay, leftOut }
}

/** What was left out of an event or a completion, by what the user had before (K7). */
const leftOutOf = (
  config: Configuration,
  before: UserState | null,
  { user, by }: EventCommand | CompletionCommand,
): string[] => forbiddenAttributes(config, before, user, by)

const idempotency = (key: string | null, replayed: boolean) =>
  key === null ? {} : { idempotencyKey: key, idempotentReplayed: replayed }

/** The answer to an event that counted before: what stands now, and no changes (E4). */
function replayAnswer(
  config: Configuration,
  eventId: string,
  metric: Metric,
  user: UserState,
  at: Instant,
): z.infer<typeof EventResponse> {
  const currentStreak = { ...streakAnswer(config, user, at), extended: false }
  return {
    ...totalAnswer(eventId, metric, user),
    achievements: [],
    currentStreak,
    points: {},
    leaderboards: {},
  }
}

const totalAnswer = (eventId: string, metric: Metric, user: UserState) => ({
  eventId,
  metricId: metric.id,
  total: fromMicros((user.metrics.get(metric.id) ?? NEW_COUNTER).total),
})
