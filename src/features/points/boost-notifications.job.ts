import type { Boost, Configuration, System } from '../../configuration/configuration.types'
import { BOOST_MOMENTS, type BoostMoment } from '../../configuration/enumerations.types'
import { guardedStep } from '../../configuration/guarded-step.service'
import { civilDate, dayOf } from '../../lib/civil'
import { type Instant, instant } from '../../lib/clock'
import { firstPack, jsonBytes, MOST_AT_ONCE } from '../../lib/packed'
import { FIRST_OFFSET } from '../../lib/units'
import { dayBegins } from '../../lib/zone'
import type { Scope, TenantContext } from '../../platform/context'
import type { Statement } from '../../platform/statement'
import { type DueWork, rescheduled } from '../../time/due-work.repository'
import type { Job } from '../../time/job.types'
import { insertEntriesInChange, insertEntriesOnce } from '../../webhooks/outbox/outbox.repository'
import { boostEntries } from './boost-notifications.builder'
import {
  type BoostProgress,
  boostsUnchanged,
  dateBeyond,
  datesBetween,
  expectBoosts,
  noteBoostMoments,
  notedMoments,
  ownBoosts,
  parseProgress,
  storeProgress,
} from './boost-notifications.repository'
import { hasBoostListeners, momentBy, momentOf, momentsPassed, nextMoment } from './boost-notifications.rules'

/** The number of users' own boosts that a step reads. */
const CHUNK = 1_000

/** A written boost. `before` is null if it is new. `zone` is the user's for a user's own boost, else null. */
export type BoostWrite = { before: Boost | null; after: Boost; zone: string | null }

/**
 * Statements that a write of boosts stores with them, so that webhooks learn when they start and finish. If
 * that moment is past, the outbox entry is stored at once (W6).
 */
export function boostEventStatements(
  { databases, now, tenant }: Pick<Scope, 'databases' | 'now' | 'tenant'>,
  config: Configuration,
  systems: readonly Pick<System, 'id' | 'key' | 'name'>[],
  writes: readonly BoostWrite[],
): Statement[] {
  const db = databases.home(tenant.id)
  const noted = noteBoostMoments(
    db,
    writes.map(({ after, zone }) => ({ id: after.id, notified: momentBy(after, now, zone) })),
  )
  if (!hasBoostListeners(config)) return noted
  const outboxEntries = writes.flatMap(({ before, after, zone }) => {
    const system = systems.find(({ id }) => id === after.systemId)
    if (system === undefined) return []
    return momentsPassed(before, after, now, zone).flatMap((moment) =>
      boostEntries(config, system, after, moment, now),
    )
  })
  const next = nextMoment(
    writes.map(({ after, zone }) => ({ boost: after, zone })),
    now,
  )
  return [
    ...noted,
    ...insertEntriesInChange(db, databases, outboxEntries),
    ...(next === null ? [] : [expectBoosts(db, next, now)]),
  ]
}

/**
 * Does one step of notifying webhooks that boosts have started or finished (W6). Outbox entries, notes and
 * progress are stored in one guarded batch. If another run did the step, or a boost or the configuration
 * changed, nothing is stored. Notifies of moments up to `until`.
 */
export function boostStep(context: TenantContext, work: DueWork, until: Instant): Promise<void> {
  return guardedStep(context, work, (config) => step(context, config, work, until))
}

async function step(
  context: TenantContext,
  config: Configuration,
  work: DueWork,
  until: Instant,
): Promise<readonly Statement[]> {
  const { db } = context
  if (!hasBoostListeners(config)) return [rescheduled(db, work, null)]
  const progress = parseProgress(work.progress)
  if (progress === null || progress.through > until) {
    // Webhooks are not notified of moments before one of them listened, or before the clock went back.
    return [storeProgress(db, { since: work.dueAt, through: work.dueAt, sweep: null }, work.dueAt)]
  }
  if (progress.sweep !== null) return sweep(context, config, work, progress, progress.sweep, [])
  const to = instant(Math.max(work.dueAt, progress.through))
  const { first } = datesBetween(progress.through, to)
  // Boosts for everyone are announced once: in the first database.
  const everyones = db.isOther ? [] : config.systems.flatMap(({ boosts }) => boosts)
  const next = nextMoment(
    everyones.map((boost) => ({ boost, zone: null })),
    to,
  )
  const begun = { to, phase: 'started', after: [first, 0] satisfies [string, number], next } as const
  const changes = await ofEveryone(db, everyones, progress.since, to)
  const some = firstPack(changes, MOST_AT_ONCE, ({ boost }) => jsonBytes(boost))
  // The next step does not find these boosts again, and continues with the others.
  if (some.length < changes.length) return notificationStatements(db, config, some)
  return sweep(context, config, work, progress, { ...begun, after: [first, 0] }, changes)
}

/** Notifies webhooks of starts and finishes of boosts, and notes them in the rows of the boosts. */
function notificationStatements(
  db: TenantContext['db'],
  config: Configuration,
  changes: readonly BoostChange[],
): Statement[] {
  const moments = new Map(changes.map(({ boost, moment }) => [boost.id, moment]))
  return [
    boostsUnchanged(
      db,
      changes.map(({ boost }) => boost),
    ),
    ...insertEntriesOnce(
      db,
      changes.flatMap((one) => entriesOf(config, one)),
    ),
    ...noteBoostMoments(
      db,
      [...moments].map(([id, notified]) => ({ id, notified })),
    ),
  ]
}

type BoostChange = { boost: Boost; moment: BoostMoment; at: Instant }

/** Those for everyone after `since`, up to a moment. Leaves out those of which webhooks were notified. */
async function ofEveryone(
  db: TenantContext['db'],
  boosts: readonly Boost[],
  since: Instant,
  to: Instant,
): Promise<BoostChange[]> {
  const changes = boosts.flatMap((boost) =>
    BOOST_MOMENTS.flatMap((moment) => {
      const at = momentOf(boost, null, moment)
      return at === null || at <= since || at > to ? [] : [{ boost, moment, at }]
    }),
  )
  const notified = await notedMoments(
    db,
    changes.map(({ boost }) => boost.id),
  )
  return changes.filter(({ boost, moment }) => isNotSent(notified.get(boost.id) ?? null, moment))
}

const isNotSent = (notified: BoostMoment | null, moment: BoostMoment) =>
  moment === 'started' ? notified === null : notified !== 'finished'

/** Notifies of starts or finishes of the next users' own boosts, and of `others`. */
async function sweep(
  { db }: TenantContext,
  config: Configuration,
  work: DueWork,
  progress: BoostProgress,
  { to, phase, after, next: seen }: NonNullable<BoostProgress['sweep']>,
  others: readonly BoostChange[],
): Promise<readonly Statement[]> {
  const { first, last } = datesBetween(progress.through, to)
  const boosts = await ownBoosts(db, phase, after, last, CHUNK)
  const changes: BoostChange[] = [...others]
  let next = seen
  for (const boost of boosts) {
    const at = boost.zone === null ? null : momentOf(boost, boost.zone, phase)
    if (at === null || at <= progress.since) continue
    if (at <= to) changes.push({ boost, moment: phase, at })
    else if (next === null || at < next) next = at
  }
  const final = boosts.at(-1)
  const isEnd = final === undefined || boosts.length < CHUNK
  const notified = notificationStatements(db, config, changes)
  if (!isEnd) {
    const date = phase === 'started' ? final.start : final.end
    return [
      ...notified,
      storeProgress(db, { ...progress, sweep: { to, phase, after: [date, final.no], next } }, work.dueAt),
    ]
  }
  next = await soonest(db, phase, last, next)
  if (phase === 'started') {
    const ending = { to, phase: 'finished' as const, after: [first, 0] satisfies [string, number], next }
    return [
      ...notified,
      storeProgress(db, { ...progress, sweep: { ...ending, after: [first, 0] } }, work.dueAt),
    ]
  }
  if (next === null) return [...notified, rescheduled(db, work, null)]
  return [...notified, storeProgress(db, { ...progress, through: to, sweep: null }, next)]
}

/** The moment found, or an earlier one at which a boost beyond the dates can start or finish. */
async function soonest(
  db: TenantContext['db'],
  phase: BoostMoment,
  last: Parameters<typeof dateBeyond>[2],
  found: Instant | null,
): Promise<Instant | null> {
  const date = await dateBeyond(db, phase, last)
  if (date === null) return found
  const earliest = dayBegins(dayOf(civilDate(date)) + (phase === 'started' ? 0 : 1), FIRST_OFFSET)
  return instant(Math.min(earliest, found ?? earliest))
}

function entriesOf(config: Configuration, { boost, moment, at }: BoostChange) {
  const system = config.systems.find(({ id }) => id === boost.systemId)
  return system === undefined ? [] : boostEntries(config, system, boost, moment, at)
}

declare module '../../time/due-kinds.types' {
  interface DueKinds {
    boosts: true
  }
}

/**
 * Starts and finishes of boosts, of which webhooks are notified (W6): users' own ones in the database of the
 * user, all others in the first one.
 */
export const boostsJob: Job = {
  kind: 'boosts',
  isOfUsers: true,
  run: (context, work, { until }) => boostStep(context, work, until),
}
