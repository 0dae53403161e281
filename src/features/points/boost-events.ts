import { guardedStep } from '../../configuration/configuration'
import { BOOST_MOMENTS, type BoostMoment } from '../../configuration/enumerations'
import type { Boost, Configuration } from '../../configuration/model'
import { FIRST_OFFSET, type Instant, instant, iso } from '../../lib/clock'
import { childId, namedId } from '../../lib/ids'
import { firstPack, jsonBytes, MOST_AT_ONCE } from '../../lib/packed'
import { type CivilDate, civilDate, dayBegins, dayOf } from '../../lib/zone'
import type { Scope, TenantContext } from '../../platform/context'
import type { Statement, TenantDatabase } from '../../platform/database'
import { boostSpan, boostStatus, shown } from '../../rules/points/boosts.rules'
import type { Work } from '../../time/due-work.sql.ts'
import { defineJob } from '../../time/job'
import { draftOf } from '../../webhooks/events'
import { type AddressedEntry, listens } from '../../webhooks/outbox/outbox'
import { insertEntriesInChange, insertEntriesOnce } from '../../webhooks/outbox/outbox.sql.ts'
import {
  BoostProgress,
  boostsUnchanged,
  dateBeyond,
  datesBetween,
  expectBoosts,
  noteBoostMoments,
  notedMoments,
  ownBoosts,
} from './boosts.sql.ts'

/** Whether a webhook listens to starts or finishes of boosts (W6). */
export const hasBoostListeners = (config: Pick<Configuration, 'webhooks'>): boolean =>
  BOOST_MOMENTS.some((moment) => listens(config, `points.boost_${moment}`))

/** The last moment that a boost has passed, as its row notes it. `zone` is that of a user's own boost. */
function momentBy(boost: Boost, at: Instant, zone: string | null): BoostMoment | null {
  const status = boostStatus(boost, at, zone)
  if (status === 'scheduled') return null
  return status === 'active' ? 'started' : 'finished'
}

/** The moments that a write has put into the past: passed for the boost after it, but not before it. */
function momentsPassed(before: Boost | null, after: Boost, now: Instant, zone: string | null): BoostMoment[] {
  const rank = (notified: BoostMoment | null) => (notified === null ? 0 : BOOST_MOMENTS.indexOf(notified) + 1)
  const was = before === null ? null : momentBy(before, now, zone)
  return BOOST_MOMENTS.slice(rank(was), Math.max(rank(was), rank(momentBy(after, now, zone))))
}

function momentOf(boost: Boost, zone: string | null, moment: BoostMoment): Instant | null {
  const { begins, ends } = boostSpan(boost, zone)
  return moment === 'started' ? begins : ends
}

type BoostChange = { boost: Boost; moment: BoostMoment; at: Instant }
type Zoned = { boost: Boost; zone: string | null }

/** The starts and finishes of boosts after a moment, and up to another one. */
const momentsBetween = (boosts: readonly Zoned[], after: Instant, to = Number.POSITIVE_INFINITY) =>
  boosts.flatMap(({ boost, zone }) =>
    BOOST_MOMENTS.flatMap((moment): BoostChange[] => {
      const at = momentOf(boost, zone, moment)
      return at === null || at <= after || at > to ? [] : [{ boost, moment, at }]
    }),
  )

function nextMoment(boosts: readonly Zoned[], after: Instant): Instant | null {
  const moments = momentsBetween(boosts, after).map(({ at }) => at)
  return moments.length === 0 ? null : instant(Math.min(...moments))
}

/** Empty if no webhook listens to that event (W6). */
function entriesOf(config: Configuration, { boost, moment, at }: BoostChange): AddressedEntry[] {
  const type = `points.boost_${moment}` as const
  const system = config.systems.find(({ id }) => id === boost.systemId)
  if (system === undefined || !listens(config, type)) return []
  const id = namedId(at, `${boost.id} ${type}`)
  const draft = draftOf(type, {
    timestamp: iso(at),
    boost: {
      ...shown(boost),
      status: moment === 'started' ? 'active' : 'finished',
      userId: boost.userId,
      pointsSystemId: system.id,
      pointsSystemKey: system.key,
      pointsSystemName: system.name,
    },
  })
  const messages = [{ id: childId(id, 0), ...draft }]
  return [{ outboxEntry: { at, seq: 0, id, userIid: boost.userIid, messages }, userId: boost.userId }]
}

const CHUNK = 1_000

/** A written boost. `before` is null if it is new. `zone` is the user's for a user's own boost, else null. */
type BoostWrite = { before: Boost | null; after: Boost; zone: string | null }

/** A write of boosts stores these with them. If a moment is past, its outbox entry is stored at once (W6). */
export function boostEventStatements(
  { databases, now, tenant }: Pick<Scope, 'databases' | 'now' | 'tenant'>,
  config: Configuration,
  writes: readonly BoostWrite[],
): Statement[] {
  const db = databases.home(tenant.id)
  const passed = writes.map(({ after, zone }) => [after.id, momentBy(after, now, zone)] as const)
  const noted = noteBoostMoments(db, passed)
  if (!hasBoostListeners(config)) return noted
  const outboxEntries = writes.flatMap(({ before, after: boost, zone }) =>
    momentsPassed(before, boost, now, zone).flatMap((moment) =>
      entriesOf(config, { boost, moment, at: now }),
    ),
  )
  const zoned = writes.map(({ after: boost, zone }) => ({ boost, zone }))
  const next = nextMoment(zoned, now)
  return [
    ...noted,
    ...insertEntriesInChange(db, outboxEntries),
    ...(next === null ? [] : [expectBoosts(db, next, now)]),
  ]
}

type Sweep = NonNullable<BoostProgress['sweep']>

async function step(
  context: TenantContext,
  config: Configuration,
  work: Work<BoostProgress>,
  until: Instant,
): Promise<readonly Statement[]> {
  const { db } = context
  if (!hasBoostListeners(config)) return [work.end()]
  const { progress } = work
  if (progress === null || progress.through > until) {
    // Webhooks are not notified of moments before one of them listened, or before the clock went back.
    return [work.goOn({ since: work.dueAt, through: work.dueAt, sweep: null })]
  }
  if (progress.sweep !== null) return sweep(context, config, work, progress, progress.sweep, [])
  const to = instant(Math.max(work.dueAt, progress.through))
  const { first } = datesBetween(progress.through, to)
  // Boosts for everyone are announced once: in the first database.
  const everyones = db.isOther ? [] : config.systems.flatMap(({ boosts }) => boosts)
  const zoned = everyones.map((boost) => ({ boost, zone: null }))
  const changes = await notSent(db, momentsBetween(zoned, progress.since, to))
  const some = firstPack(changes, MOST_AT_ONCE, ({ boost }) => jsonBytes(boost))
  // The next step does not find these boosts again, and continues with the others.
  if (some.length < changes.length) return notificationStatements(db, config, some)
  const begun: Sweep = { to, phase: 'started', after: [first, 0], next: nextMoment(zoned, to) }
  return sweep(context, config, work, progress, begun, changes)
}

function notificationStatements(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly BoostChange[],
): Statement[] {
  const boosts = changes.map(({ boost }) => boost)
  const moments = new Map(changes.map(({ boost, moment }) => [boost.id, moment]))
  const entries = changes.flatMap((one) => entriesOf(config, one))
  return [
    boostsUnchanged(db, boosts),
    ...insertEntriesOnce(db, entries),
    ...noteBoostMoments(db, [...moments]),
  ]
}

/** Leaves out those of which webhooks were notified. */
async function notSent(db: TenantDatabase, changes: readonly BoostChange[]): Promise<BoostChange[]> {
  const ids = changes.map(({ boost }) => boost.id)
  const notified = await notedMoments(db, ids)
  return changes.filter(({ boost, moment }) => isNotSent(notified.get(boost.id) ?? null, moment))
}

const isNotSent = (notified: BoostMoment | null, moment: BoostMoment) =>
  moment === 'started' ? notified === null : notified !== 'finished'

async function sweep(
  { db }: TenantContext,
  config: Configuration,
  work: Work<BoostProgress>,
  progress: BoostProgress,
  { to, phase, after, next: seen }: Sweep,
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
    return [...notified, work.goOn({ ...progress, sweep: { to, phase, after: [date, final.no], next } })]
  }
  next = await soonest(db, phase, last, next)
  if (phase === 'started') {
    const ending: Sweep = { to, phase: 'finished', after: [first, 0], next }
    return [...notified, work.goOn({ ...progress, sweep: ending })]
  }
  if (next === null) return [...notified, work.end()]
  return [...notified, work.goOn({ ...progress, through: to, sweep: null }, next)]
}

/** The moment found, or an earlier one at which a boost beyond the dates can start or finish. */
async function soonest(
  db: TenantDatabase,
  phase: BoostMoment,
  last: CivilDate,
  found: Instant | null,
): Promise<Instant | null> {
  const date = await dateBeyond(db, phase, last)
  if (date === null) return found
  const earliest = dayBegins(dayOf(civilDate(date)) + (phase === 'started' ? 0 : 1), FIRST_OFFSET)
  return instant(Math.min(earliest, found ?? earliest))
}

declare module '../../time/due-work.sql.ts' {
  interface DueKinds {
    boosts: true
  }
}

/**
 * Notifies webhooks of starts and finishes of boosts (W6): of users' own ones in the database of the user, of
 * all others in the first one. If a boost or the configuration changed meanwhile, nothing is stored.
 */
export const boostsJob = defineJob({
  kind: 'boosts',
  of: 'users',
  // A boost may begin in any year.
  furthest: null,
  progress: BoostProgress,
  step: (context, work, { until }) =>
    guardedStep(context, work, (config) => step(context, config, work, until)),
})
