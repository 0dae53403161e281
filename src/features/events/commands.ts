import type * as z from 'zod'
import type { Claim } from '../../access/access'
import type { AchievementCompletionRequest } from '../../api/shapes/achievements'
import type { EventRequest } from '../../api/shapes/events'
import type { Instant } from '../../lib/clock'
import { ApiError } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import { listOf, MOST_VALUE, packsOf } from '../../lib/packed'
import { systemNow, wait } from '../../lib/system-clock'
import type { Access, Context, Scope } from '../../platform/context'
import { logProblem } from '../../platform/log'
import type { Command } from '../../rules/evaluate.rules'
import type { Actor, PreferencesChange, ProfileChange } from '../../rules/profile.rules'
import {
  type CommitDeps,
  Contention,
  commit,
  commitTogether,
  IN_ISOLATE,
  LeadershipLost,
  type UserBatch,
  type UserRef,
} from '../../store/commit/commit'
import { isPlaceOf, type Job, type Outcome } from '../../store/commit/decide'
import { ensureAlarm } from '../../time/timekeeper'
import { requestDrain } from '../../webhooks/delivery/drain'
import { groupsOf, queuesOf } from './queues'
import { resultsOf, resultsOfEach } from './results'
import { type CommandResult, eventCommand, LaneReply, messageOf } from './sent'

/** How long a leader gives signs of life while it waits for a lane, in seconds. Then others may take over. */
const LANE_PATIENCE = 10

/** The most bytes that one call of a lane takes and returns. It is far below the platform's 32 MiB. */
const MOST_IN_A_CALL = 8_000_000

/**
 * The user of a command, the kind of sender (K7), and the facts that D1 must still confirm: the key or
 * token, and the tenant's name (K2, K6, T2).
 */
type Sender = UserRef & Pick<Job, 'credential' | 'tenantName'> & { by: Actor }

const actorOf = ({ kind }: Access): Actor => (kind === 'admin' ? 'admin' : 'user')

/** The sender that a claim names, for a user. Throws the tenant's errors (T2). */
export function senderOf(claim: Claim, userId: string): Sender {
  if (typeof claim.tenantId !== 'string') throw claim.tenantId
  const { tenantId, credential, tenantName, access } = claim
  return { tenantId, userId, credential, tenantName, by: actorOf(access) }
}

/** The sender of a command for a user, in an existing scope. D1 has nothing left to confirm. */
export const ownSender = ({ tenant, access }: Scope, userId: string): Sender => ({
  tenantId: tenant.id,
  userId,
  credential: null,
  tenantName: null,
  by: actorOf(access),
})

/** Records an event of a user (E). */
export function recordEvent(
  ctx: Context,
  sender: Sender,
  input: { metricKey: string; idempotencyKey: string | null; body: z.output<typeof EventRequest> },
): Promise<CommandResult> {
  const arrived = systemNow()
  const { body, ...rest } = input
  const command = eventCommand(body, { ...rest, eventId: newId(arrived), by: sender.by })
  return submit(ctx, sender, command, arrived)
}

/** Creates or updates a user (U2). `update` is refused with 404 if the user does not exist. */
export function changeUser(
  ctx: Context,
  sender: Sender,
  { kind, change: user }: { kind: 'upsert' | 'update'; change: ProfileChange },
): Promise<CommandResult> {
  return submit(ctx, sender, { kind, user, by: sender.by }, systemNow())
}

/** Completes an achievement with the trigger `api` for a user. An unknown user is created (A3). */
export function completeAchievement(
  ctx: Context,
  sender: Sender,
  input: { achievementKey: string; body: z.output<typeof AchievementCompletionRequest> },
): Promise<CommandResult> {
  const arrived = systemNow()
  const { achievementKey } = input
  const { id: userId, ...user } = input.body.user
  const completionId = newId(arrived)
  const command = { kind: 'completion', completionId, achievementKey, userId, user, by: sender.by } as const
  return submit(ctx, sender, command, arrived)
}

/** Changes a user's preferences (U7). */
export function changePreferences(
  ctx: Context,
  sender: Sender,
  preferences: PreferencesChange,
): Promise<CommandResult> {
  return submit(ctx, sender, { kind: 'preferences', preferences }, systemNow())
}

function submit(
  ctx: Context,
  { tenantId, userId, credential, tenantName }: Sender,
  command: Command,
  arrived: Instant,
): Promise<CommandResult> {
  return queuesOf(ctx.instance).submit(
    JSON.stringify([tenantId, userId]),
    { command, arrived, credential, tenantName, attempt: null },
    (jobs, stillLeads) => commitOrHandOver(ctx, { tenantId, userId }, jobs, stillLeads),
    ctx.waitUntil,
  )
}

async function commitOrHandOver(
  ctx: Context,
  user: UserRef,
  jobs: readonly Job[],
  stillLeads: () => boolean,
): Promise<CommandResult[]> {
  const { tenantId, userId } = user
  const deps: CommitDeps = {
    db: ctx.databases.usersOf(tenantId).of(userId),
    instance: ctx.instance,
    ensureAlarm: () => ctx.waitUntil(ensureAlarm(ctx, tenantId)),
    scheduleDrain: () => requestDrain(ctx, tenantId),
  }
  const batch = { userId, jobs, stillLeads }
  // Users in one database are committed together. If one of them is moved meanwhile, each is committed alone.
  const group = await ctx.databases.usersOf(tenantId).holderOf(userId)
  const settled = await groupsOf(ctx.instance).submit(
    `${tenantId} ${group.name}`,
    batch,
    (batches) => commitGroup(ctx, { ...deps, db: group.db }, batches),
    ctx.waitUntil,
  )
  if (settled !== null) return settled
  ctx.notes.alone = true
  let conflicts = 0
  const conflicted = () => {
    conflicts += 1
    ctx.notes.conflicts = conflicts
  }
  try {
    const outcomes = await commit(deps, batch, { conflicted, limits: IN_ISOLATE })
    // A sign of life. The leader notifies the leaderboards before it hands over, so that they get a user's
    // changes in order.
    stillLeads()
    return await resultsOf(ctx, jobs, outcomes)
  } catch (error) {
    if (!(error instanceof Contention)) throw error
    if (!stillLeads()) throw new LeadershipLost()
    ctx.notes.lane = true
    return handOver(ctx, user, jobs, stillLeads)
  }
}

/** Commits the batches of several users. If that fails as a whole, each user is committed alone. */
async function commitGroup(ctx: Context, deps: CommitDeps, batches: readonly UserBatch[]) {
  const outcomes = await commitTogether(deps, batches).catch((error: unknown) => {
    // An API error is about the tenant. Each user gets it when committed alone.
    if (!(error instanceof ApiError)) {
      const { requestId } = ctx
      logProblem('warn', { requestId, error: `users were not stored together: ${String(error)}` })
    }
    return null
  })
  if (outcomes === null) return batches.map(() => null)
  if (batches.length > 1) ctx.notes.group = batches.length
  const done = batches.flatMap(({ jobs }, index) => {
    const own = outcomes[index]
    return own ? [{ index, jobs, outcomes: own }] : []
  })
  const ends = resultsOfEach(ctx, done)
  return batches.map((_, index) => ends[done.findIndex((one) => one.index === index)] ?? null)
}

async function handOver(
  ctx: Context,
  user: UserRef,
  jobs: readonly Job[],
  signOfLife: () => void,
): Promise<CommandResult[]> {
  const lane = ctx.env.USER_LANE.getByName(JSON.stringify([user.tenantId, user.userId]))
  const results: CommandResult[] = []
  // One call, unless the commands or their results are very long.
  const messages = jobs.map((job) => ({ text: JSON.stringify(messageOf(job)), answer: answerBytes(job) }))
  for (const part of packsOf(messages, MOST_IN_A_CALL, ({ text, answer }) => 2 * text.length + answer)) {
    const reply = await patiently(lane.commit(user, listOf(part.map(({ text }) => text))), signOfLife)
    const { results: some, cost } = LaneReply.parse(JSON.parse(reply))
    if (some.length < part.length) throw new Error('the lane returned fewer results than commands')
    results.push(...some)
    ctx.cost.roundTrips += cost.roundTrips
    ctx.cost.rowsRead += cost.rowsRead
    ctx.cost.rowsWritten += cost.rowsWritten
  }
  // The lane may find that an attempt of this isolate was stored. Then this isolate must notify the
  // leaderboards, and its own outcome is the result.
  const own = jobs.flatMap((job, index) => {
    const outcome = job.attempt?.outcome ?? null
    return outcome !== null && isOwn(job.command, outcome, results[index]) ? [{ index, job, outcome }] : []
  })
  const ownOutcomes = own.map(({ outcome }) => outcome)
  const ownJobs = own.map(({ job }) => job)
  const ends = await resultsOf(ctx, ownJobs, ownOutcomes)
  return results.map((result, index) => ends[own.findIndex((one) => one.index === index)] ?? result)
}

/** The most bytes of a command's result. The result of a change of a user is the whole user. */
const answerBytes = ({ command: { kind } }: Job): number =>
  kind === 'upsert' || kind === 'update' ? MOST_VALUE : 100_000

/** Whether the lane's result shows that the attempt of this isolate was stored. */
function isOwn(command: Command, outcome: Outcome, result: CommandResult | undefined): boolean {
  if (result?.kind === 'lost') return isPlaceOf(outcome, result)
  return (
    command.kind === 'completion' &&
    result?.kind === 'completion' &&
    result.isEarlier &&
    result.body.completionId === command.completionId &&
    outcome.decision.kind === 'changed'
  )
}

async function patiently<T>(work: Promise<T>, signOfLife: () => void): Promise<T> {
  const done = work.then(
    () => true,
    () => true,
  )
  for (let second = 0; second < LANE_PATIENCE; second += 1) {
    if (await Promise.race([done, wait(1_000).then(() => false)])) break
    signOfLife()
  }
  return work
}
