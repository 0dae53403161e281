import { expect } from 'vitest'
import { streakResponse } from '../../src/api/shapes/streaks'
import type { Configuration, StreakSettings } from '../../src/configuration/model'
import { type Instant, instant } from '../../src/lib/clock'
import { type Micros, micros } from '../../src/lib/decimal'
import { newId } from '../../src/lib/new-id'
import { civilDate, dateOfDay, dayIn, dayOf, offsetMinutes } from '../../src/lib/zone'
import { type Change, judged, streakOnly } from '../../src/rules/change.rules'
import { voided } from '../../src/rules/corrections.rules'
import { evaluate } from '../../src/rules/evaluate.rules'
import type { ProfileChange } from '../../src/rules/profile.rules'
import { NEW_COUNTER, type UserState } from '../../src/rules/state'
import {
  lastDayOver,
  restored,
  withFreeze,
  withoutPause,
  withPause,
  withReset,
} from '../../src/rules/streaks/freezes-pauses-restores.rules'
import { historyOf } from '../../src/rules/streaks/history.rules'
import { Recount } from '../../src/rules/streaks/streak-change.rules'
import {
  type Pause,
  type StreakRun,
  type StreakState,
  termsOf,
} from '../../src/rules/streaks/streak-state.rules'
import { isStale, streakAsOf } from '../../src/rules/streaks/streaks.rules'
import { beginningOf, dateIn, plusDays } from '../oracle/calendar.oracle'
import { type ChangeInput, type OracleSettings, StreakReplay } from '../oracle/streaks.oracle'
import type { PROFILE, StreakStep, StreakWorld } from '../oracle/streaks.worlds'
import { configured } from '../oracle/worlds'

/** Plays random lives of one user on the core, and compares them with the oracle after each step. */

/** Counts of compared and covered cases. They reveal a property that compares nothing. */
export const nothingSeen = () => ({
  ...{ steps: 0, long: 0, lost: 0, frozen: 0, paused: 0, earned: 0, restored: 0, east: 0, west: 0 },
  ...{ recounts: 0, ticks: 0, silent: 0, open: 0, back: 0, spared: 0, fired: 0, achieved: 0 },
  ...{ met: 0, voided: 0, deleted: 0, dayOff: 0, extendedOff: 0, reset: 0 },
})

/** Expects two things to be equal. If they are, it is much faster than `toEqual`. */
function same<T extends object>(found: T, expected: { [K in keyof T]: unknown }): void {
  if (spelled(found) !== spelled(expected)) expect(found).toEqual(expected)
}

const spelled = (value: object) => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Days from one event of a habit to the next. */
const HABIT = { daily: 1, weekly: 7, monthly: 30 }

const idOf = (metric: string) => `metric ${metric}`
const day = (date: string) => dayOf(civilDate(date))

/** The points of streak triggers, by their lengths, and the length that completes the achievement. */
const TRIGGERS = { 1: 5, 2: 7, 3: 11 } as const
const ACHIEVED = 3
const SYSTEM = 'xp'
const FLAME = 'flame'

/** A configuration with only streak triggers and a streak achievement. */
function rewarded(streaks: StreakSettings): Configuration {
  const resource = { created: 0, updated: 0 }
  const nothing = { userAttributes: [], eventAttributes: [], metricId: null, counterId: '' }
  const triggers = Object.entries(TRIGGERS).map(([length, points]) => ({
    ...{ ...resource, ...nothing, id: `streak ${length}`, key: `streak-${length}`, systemId: SYSTEM },
    ...{ type: 'streak' as const, points },
    ...{
      status: 'active' as const,
      metricThreshold: null,
      achievementId: null,
      streakLength: Number(length),
    },
    ...{ timeUnit: null, timeInterval: null, blockIfOutOfPoints: false, version: 1, anchor: null },
  }))
  const system = {
    ...{ ...resource, id: SYSTEM, key: SYSTEM, name: SYSTEM, description: '', badgeUrl: null },
    ...{ maxPoints: null, levels: [], triggers, boosts: [] },
  }
  const achievement = {
    ...{ ...resource, ...nothing, id: FLAME, key: FLAME, name: FLAME, description: '', badgeUrl: null },
    ...{ status: 'active' as const, trigger: 'streak' as const, metricValue: null, streakLength: ACHIEVED },
    ...{ achievementIds: [], anniversaryYears: null, counted: true },
  }
  return { ...configured([]), streaks, systems: [system], achievements: [achievement] }
}

/** The tenant's stored settings after a change at a moment. */
function stored(settings: OracleSettings, before: StreakSettings | null, now: number): StreakSettings {
  const { enabled, frequency, metrics, mode, customizationEnabled, freezes, daysOff } = settings
  const was = before?.freezes
  const isEarnedSo =
    was?.autoEarnInterval === freezes?.interval &&
    was?.autoEarnAmount === freezes?.amount &&
    was?.maxCount === freezes?.maxCount
  const since = isEarnedSo ? (was?.since ?? now) : now
  const epoch = before === null ? 0 : before.epoch + (before.frequency === frequency ? 0 : 1)
  const goal = [metrics.map(({ metric, threshold }) => [idOf(metric), threshold]), mode, customizationEnabled]
  const goalBefore = before && [
    before.metrics.map(({ metricId, threshold }) => [metricId, threshold]),
    ...[before.evaluationMode, before.customizationEnabled],
  ]
  const isSameGoal = JSON.stringify(goal) === JSON.stringify(goalBefore)
  const isSameList =
    before !== null &&
    JSON.stringify([before.daysOff, before.customizationEnabled]) ===
      JSON.stringify([daysOff, customizationEnabled])
  const lists = before?.frequency === frequency ? before.daysOffBefore : []
  const list = before && {
    until: now,
    daysOff: before.daysOff,
    customizationEnabled: before.customizationEnabled,
  }
  const isListed = list !== null && !isSameList && before?.frequency === frequency
  const wasOn = before?.enabled ?? enabled
  let off = before?.off ?? []
  if (wasOn && !enabled) off = [...off, { from: now, to: null }]
  if (!wasOn && enabled) off = off.map(({ from, to }) => ({ from, to: to ?? now }))
  return {
    ...{ enabled, off, frequency, epoch, evaluationMode: mode, customizationEnabled },
    ...{ daysOff, daysOffBefore: isListed ? [...lists, list] : lists },
    goalSince: isSameGoal ? (before?.goalSince ?? now) : now,
    metrics: metrics.map(({ metric, threshold }) => ({ metricId: idOf(metric), threshold })),
    freezes: freezes && {
      ...{ startCount: freezes.startCount, maxCount: freezes.maxCount, since },
      ...{ autoEarnInterval: freezes.interval, autoEarnAmount: freezes.amount },
    },
  }
}

/** The streak's core, as the service runs it for one user. */
class Service {
  state: UserState | null = null
  /** The score on a streak leaderboard: the sum of its changes. */
  score = 0
  #config: Configuration
  readonly runs = new Map<number, StreakRun>()
  readonly pauses = new Map<string, Pause>()
  /** True if a recount knows all changes of zone. Only the last 100 are kept (S9), and undone ones go. */
  isWhole = true

  constructor(config: Configuration) {
    this.#config = config
  }

  get terms() {
    return termsOf(this.#config, this.user.preferences)
  }

  get user(): UserState {
    if (this.state === null) throw new Error('there is no user')
    return this.state
  }

  get tz() {
    return this.user.profile.tz
  }

  keep(ended: readonly StreakRun[]): void {
    for (const run of ended) this.runs.set(run.first, run)
  }

  #store({ ended, growth, after }: Change): void {
    this.keep(ended)
    this.score += growth
    this.state = after
  }

  /** Stores a change that affects only the streak. */
  #storeStreak(streak: StreakState, ended: readonly StreakRun[], now: number): void {
    const made = { at: instant(now), id: newId(instant(now)) }
    this.#store(streakOnly(this.#config, this.user, streak, { ended, streakEvents: [] }, made))
  }

  perform(command: Parameters<typeof evaluate>[2], now: number): void {
    const given = { userId: 'ada', now: instant(now), newId, usedKey: () => undefined }
    const decision = evaluate(this.#config, this.state, command, given)
    if (decision.kind === 'unchanged') return
    expect(decision.kind).toBe('changed')
    if (decision.kind !== 'changed') return
    this.#store(decision.change)
    if (this.user.streak.jumps.length >= 100) this.isWhole = false
  }

  /** Runs a deadline like the Timekeeper, in time or late. */
  tick(at: number): void {
    for (const change of judged(this.#config, this.user, instant(at), newId)) this.#store(change)
  }

  /** An admin's change of a streak without due deadlines. */
  administer(
    now: number,
    change: (streak: StreakState, today: number) => StreakState | null,
    ended: readonly StreakRun[] = [],
  ): boolean {
    this.tick(now)
    const today = dayIn(this.tz, now)
    const streak = change(this.user.streak, today)
    if (streak === null) return false
    this.#storeStreak(streak, ended, now)
    this.tick(now)
    return true
  }

  /** Voids an event, as the service does. */
  void(
    now: number,
    event: { metricId: string; at: Instant; seq: number; utcOffset: number; value: Micros },
  ): void {
    this.tick(now)
    const metric = this.user.metrics.get(event.metricId) ?? NEW_COUNTER
    const given = {
      event: { ...event, id: newId(event.at), attributes: new Map() },
      awards: [],
      metric,
    }
    const occasion = { at: instant(now), id: newId(instant(now)), reason: null }
    this.#store(voided(this.#config, this.user, { ...given, counters: new Map() }, occasion))
    this.tick(now)
  }

  configure(config: Configuration, now: number, log: readonly Logged[]): void {
    this.#config = config
    if (this.state === null) return
    if (!isStale(this.user.streak, this.terms)) {
      this.tick(now)
      return
    }
    const { streak, runs } = this.recount(now, log)
    this.runs.clear()
    this.#storeStreak(streak, runs, now)
  }

  recount(now: number, log: readonly Logged[]) {
    const pauses = [...this.pauses.values()].filter(({ start, end }) => start <= end)
    const recount = new Recount(this.#config, this.user, pauses)
    for (const event of log) recount.add(event)
    return recount.end(instant(now))
  }

  /** The response of GET /users/{id}/streak. */
  shown(now: number, periods: number) {
    const answer = streakResponse(this.#config, this.user, instant(now))
    const { isOn, frequency } = this.terms
    const today = dayIn(this.tz, now)
    const { streak, ended } = streakAsOf(this.user, this.terms, today, instant(now))
    const { run } = streak
    const runs = [...this.runs.values(), ...ended, ...(run === null ? [] : [run])]
    const { resets } = streak
    const history = historyOf({ runs, resets }, isOn ? (run?.length ?? 0) : 0, frequency, today, periods)
    return {
      length: answer.length,
      started: answer.started,
      periodStart: answer.periodStart,
      periodEnd: answer.periodEnd,
      expires: answer.expires,
      freezes: answer.freezes ?? null,
      extended: isOn ? (run?.extended ?? null) : null,
      history: history.map(({ start, length, kind, resetAt }) => ({
        ...{ start: String(dateOfDay(start)), length, resetAt, usedFreeze: kind === 'f' },
        ...{ usedPause: kind === 'p' || kind === 'd', dayOff: kind === 'd' || kind === 'x' },
      })),
    }
  }
}

type Logged = Parameters<Recount['add']>[0]

/**
 * Plays a world on the core twice: once with deadlines that always run in time, and once with deadlines that
 * run late or never.
 */
export class Play {
  readonly oracle: StreakReplay
  readonly seen: ReturnType<typeof nothingSeen>
  readonly #world: StreakWorld
  #settings: OracleSettings
  #config: Configuration
  #now: number
  #zone: string | null
  readonly prompt: Service
  readonly late: Service
  /** All events. Voided ones do not count in a recount. */
  readonly #events: (Logged & { utcOffset: number; isVoided: boolean })[] = []
  #pauses: string[] = []
  #wentWest = false
  #isPlain = true
  /** True if the tenant has ever switched streaks off. */
  #wasOff = false
  /** True if the user has ever changed the zone. */
  #hasMoved = false
  /** The first date that had not ended after the last step. */
  #open = ''
  #isAchieved = false
  /** How often the streak was extended so far. */
  #extensions = 0

  constructor(world: StreakWorld, seen: ReturnType<typeof nothingSeen>) {
    this.#world = world
    this.seen = seen
    this.oracle = new StreakReplay(world.settings)
    this.#settings = world.settings
    this.#now = world.begins
    this.#zone = world.zone
    this.#config = rewarded(stored(world.settings, null, world.begins))
    this.prompt = new Service(this.#config)
    this.late = new Service(this.#config)
    const create: ChangeInput = { at: this.#now, do: 'create', zone: this.#zone }
    this.#tell(create)
    for (const one of this.#both)
      one.perform({ kind: 'upsert', user: { tz: this.#zone }, by: 'user' }, this.#now)
    this.#agrees('created')
  }

  get #log(): Logged[] {
    return this.#events.filter(({ isVoided }) => !isVoided)
  }

  get #both() {
    return [this.prompt, this.late]
  }

  #tell(happening: ChangeInput): boolean {
    return this.oracle.take(happening)
  }

  /** Runs all deadlines up to a moment, each at its own time. */
  #ticks(service: Service, by: number): void {
    for (;;) {
      const { due } = service.user.streak
      if (due === null || due > by) return
      this.seen.ticks += 1
      const zone = service.tz ?? 'UTC'
      // A deadline is the first moment of a date.
      expect(dateIn(zone, due - 1) < dateIn(zone, due), `${zone} ${new Date(due).toISOString()}`).toBe(true)
      const { run, freezes } = service.user.streak
      if (this.#isOn && due > this.#now) {
        const { length, freezes: inHand } = this.oracle.at(due - 1)
        const raw = { due, length: run?.length ?? 0, freezes: inHand === null ? null : freezes }
        same(raw, { due, length, freezes: inHand })
      }
      service.tick(due)
      const next = service.user.streak.due
      expect(next === null || next > due).toBe(true)
    }
  }

  get #isOn() {
    return this.prompt.terms.isOn
  }

  play(step: StreakStep): void {
    const times = step.do === 'habit' ? step.times : 1
    for (let n = 0; n < times; n += 1) {
      this.#now = this.#next(step)
      if (step.isLate) this.late.tick(this.#now)
      this.#ticks(this.prompt, this.#now)
      this.#do(step)
      this.#agrees(step.do)
    }
  }

  #next(step: StreakStep): number {
    const { minute } = step
    const days = step.do === 'habit' ? HABIT[this.#settings.frequency] : step.days
    const zone = this.#zone ?? 'UTC'
    const date = plusDays(dateIn(zone, this.#now), days)
    // Just before, at and after midnights, and at any time of the day.
    const at = beginningOf(zone, date) + minute * 60_000
    // A journey may begin at the very moment of the step before.
    return Math.max(this.#now + (step.do === 'zone' ? 0 : 1), at)
  }

  #do(step: StreakStep): void {
    const at = this.#now
    switch (step.do) {
      case 'habit':
      case 'event': {
        const { metric, value } = step
        if (!this.#config.metrics.some(({ id }) => id === idOf(metric))) return
        const zone = step.do === 'event' && step.zone !== undefined ? { zone: step.zone } : {}
        this.#tell({ at, do: 'event', metric, value, ...zone })
        if ('zone' in zone) this.#moved(zone.zone)
        for (const one of this.#both) {
          one.perform(
            {
              ...{ kind: 'event', eventId: newId(instant(at)), metricKey: metric, userId: 'ada', by: 'user' },
              ...{ value: micros(value), attributes: new Map(), idempotencyKey: null },
              user: 'zone' in zone ? { tz: zone.zone } : {},
            },
            at,
          )
        }
        const today = dayIn(this.#zone, at)
        this.#events.push({
          ...{ at: instant(at), day: today, metricId: idOf(metric), value: micros(value) },
          // The two services have other numbers. Only the order counts.
          seq: at,
          ...{ utcOffset: offsetMinutes(this.#zone ?? 'UTC', instant(at)), isVoided: false },
        })
        if (this.oracle.at(at).length >= ACHIEVED) this.#isAchieved = true
        if (!this.#isOn) this.seen.silent += 1
        return
      }
      case 'zone':
        this.#tell({ at, do: 'zone', zone: step.zone })
        this.#moved(step.zone)
        for (const one of this.#both) one.perform({ kind: 'upsert', user: { tz: step.zone }, by: 'user' }, at)
        return
      case 'pause': {
        const start = plusDays(dateIn(this.#zone ?? 'UTC', at), step.from)
        const end = plusDays(start, step.length)
        const id = `pause ${this.#pauses.length}`
        this.#pauses.push(id)
        this.#tell({ at, do: 'pause', id, start, end })
        for (const one of this.#both) {
          const pause = { id, start: day(start), end: day(end) }
          one.pauses.set(id, pause)
          one.administer(at, (streak) => withPause(streak, pause))
        }
        return
      }
      case 'unpause': {
        const id = this.#pauses[step.which % Math.max(1, this.#pauses.length)]
        if (id === undefined || !this.#tell({ at, do: 'unpause', id })) return
        for (const one of this.#both) {
          one.administer(at, (streak, today) => {
            const pause = one.pauses.get(id)
            const last = lastDayOver(today, one.terms)
            if (pause !== undefined) one.pauses.set(id, { ...pause, end: Math.min(pause.end, last) })
            return withoutPause(streak, id, last)
          })
        }
        return
      }
      case 'freeze': {
        const granted = this.#tell({ at, do: 'freeze' })
        if (granted) this.#isPlain = false
        for (const one of this.#both) {
          expect(one.administer(at, (streak) => withFreeze(streak, one.terms))).toBe(granted)
        }
        return
      }
      case 'restore': {
        if (!this.#isOn) return
        const came = this.#tell({ at, do: 'restore' })
        if (came) this.#isPlain = false
        if (came) this.seen.restored += 1
        for (const one of this.#both) {
          const restore = (streak: StreakState, today: number) =>
            restored(streak, one.terms, { at: instant(at), today }, [...one.runs.values()])
          expect(one.administer(at, restore)).toBe(came)
        }
        return
      }
      case 'reset': {
        const isReset = this.#tell({ at, do: 'reset' })
        if (isReset) this.seen.reset += 1
        for (const one of this.#both) {
          const ended: StreakRun[] = []
          const reset = (streak: StreakState, today: number) => {
            if (streak.run === null || !one.terms.isOn) return null
            const made = withReset(streak, one.terms, {
              at: instant(at),
              today,
              seq: at,
            })
            ended.push(...made.ended)
            return made.streak
          }
          expect(one.administer(at, reset, ended)).toBe(isReset)
        }
        return
      }
      case 'preferences': {
        const { enabled, mode, metrics, daysOff } = step
        const { customizationEnabled } = this.#settings
        const isLeft = ({ metric }: { metric: string }) =>
          this.#config.metrics.some(({ id }) => id === idOf(metric))
        const tenants = this.#settings.metrics.filter(isLeft)
        const isTheirs = ({ metric }: { metric: string }) =>
          tenants.length === 0 || tenants.some((one) => one.metric === metric)
        const allowed = metrics?.filter((one) => isLeft(one) && isTheirs(one))
        const own = {
          ...(enabled !== undefined && { enabled }),
          ...(customizationEnabled && mode !== undefined && { mode }),
          ...(customizationEnabled && allowed !== undefined && { metrics: allowed }),
          ...(customizationEnabled && daysOff !== undefined && { daysOff }),
        }
        if ('daysOff' in own) this.#isPlain = false
        if ('mode' in own || 'metrics' in own) this.#isPlain = false
        this.#tell({ at, do: 'preferences', ...own })
        const streak = {
          ...(own.enabled !== undefined && { enabled: own.enabled }),
          ...(own.mode !== undefined && { evaluationMode: own.mode }),
          ...(own.metrics !== undefined && {
            metrics: own.metrics.map(({ metric, threshold }) => ({
              key: metric,
              threshold: micros(threshold),
            })),
          }),
          ...(own.daysOff !== undefined && { daysOff: own.daysOff }),
        }
        for (const one of this.#both) one.perform({ kind: 'preferences', preferences: { streak } }, at)
        return
      }
      case 'settings': {
        const { frequency } = this.#settings
        const { ...settings } = { ...step.settings }
        if (!this.#world.switches) settings.frequency = frequency
        if (!this.#world.switches) settings.enabled = true
        // A recount does not know the midnights of earlier zones. It uses the current zone to decide whether
        // streaks were off.
        if (this.#hasMoved && (this.#wasOff || !settings.enabled)) settings.frequency = frequency
        // The rules also do not say whether a date that comes again earns freezes if the interval changes
        // before.
        if (this.#wentWest && settings.freezes !== null) {
          settings.freezes = { ...settings.freezes, interval: null }
        }
        if (settings.frequency !== frequency) this.seen.recounts += 1
        this.#isPlain = false
        this.#configure(settings)
        return
      }
      case 'goal': {
        const { metrics, mode, customizationEnabled } = step
        this.#isPlain = false
        this.#configure({ ...this.#settings, metrics, mode, customizationEnabled })
        return
      }
      case 'daysOff': {
        this.#isPlain = false
        this.#configure({ ...this.#settings, daysOff: step.daysOff })
        return
      }
      case 'void': {
        // The last events.
        const nth = this.#events.length - 1 - step.which
        const event = this.#events[nth]
        const isLeft = this.#config.metrics.some(({ id }) => id === event?.metricId)
        if (event === undefined || event.isVoided || !isLeft) return
        this.#isPlain = false
        event.isVoided = true
        this.#tell({ at, do: 'void', nth })
        for (const one of this.#both) one.void(at, event)
        this.seen.voided += 1
        return
      }
      case 'unmetric': {
        this.#isPlain = false
        this.#ticks(this.late, at)
        this.#tell({ at, do: 'unmetric', metric: step.metric })
        const metrics = this.#config.metrics.filter(({ id }) => id !== idOf(step.metric))
        if (metrics.length < this.#config.metrics.length) this.seen.deleted += 1
        const streaks = { ...this.#config.streaks, goalSince: at }
        this.#config = { ...this.#config, metrics, streaks }
        for (const one of this.#both) one.configure(this.#config, at, this.#log)
        return
      }
      case 'enable':
        this.#configure({ ...this.#settings, enabled: step.enabled })
        return
      case 'profile': {
        for (const one of this.#both)
          one.perform({ kind: 'upsert', by: 'user', user: PROFILES[step.field](step.nth) }, at)
        return
      }
    }
  }

  #configure(settings: OracleSettings): void {
    const at = this.#now
    // Past deadlines run first.
    this.#ticks(this.late, at)
    if (!settings.enabled) this.#wasOff = true
    this.#settings = settings
    this.#tell({ at, do: 'settings', settings })
    this.#config = { ...this.#config, streaks: stored(settings, this.#config.streaks, at) }
    for (const one of this.#both) one.configure(this.#config, at, this.#log)
  }

  #moved(zone: string | null): void {
    const [from, to] = [dateIn(this.#zone ?? 'UTC', this.#now), dateIn(zone ?? 'UTC', this.#now)]
    if (zone !== this.#zone) this.#hasMoved = true
    if (to < from) this.#wentWest = true
    if (to < from) this.seen.west += 1
    if (to > from) this.seen.east += 1
    if (to < from && this.#open <= to) this.seen.back += 1
    this.#zone = zone
  }

  #agrees(after: string): void {
    const at = this.#now
    const periods = 9
    const { freezes, ...expected } = this.oracle.at(at)
    // While streaks are off, their periods are unknown. They are compared when streaks are on again.
    const history = this.#isOn ? this.oracle.history(at, periods) : []
    const truth = { after, ...expected, history }
    const wasExtended = this.oracle.extensions > this.#extensions
    this.#extensions = this.oracle.extensions
    if (wasExtended && after !== 'event' && after !== 'habit') this.seen.met += 1
    if (wasExtended && expected.length >= ACHIEVED) this.#isAchieved = true
    for (const [name, service] of Object.entries({ prompt: this.prompt, late: this.late })) {
      const { freezes: inHand, ...shown } = service.shown(at, periods)
      const found = this.#isOn ? shown : { ...shown, history: [] }
      same({ name, at, zone: this.#zone, after, ...found }, { name, at, zone: this.#zone, ...truth })
      if (this.#isOn) same({ name, at, freezes: inHand }, { name, at, freezes })
    }
    if (this.#isOn) expect(this.prompt.user.streak.run?.length ?? 0).toBe(expected.length)
    this.#isRewarded(after)
    const { jumps, spared } = this.prompt.user.streak
    const { run } = this.prompt.user.streak
    const isOff = this.prompt.user.preferences.streak.enabled === false
    expect(this.prompt.score).toBe(isOff ? 0 : (run?.length ?? 0))
    // The stored data of changes of zone stays small.
    expect(jumps.length).toBeLessThan(101)
    this.seen.steps += 1
    this.#open = this.oracle.openAt(at)
    if (this.#open < dateIn(this.#zone ?? 'UTC', at)) this.seen.open += 1
    if (spared !== null) this.seen.spared += 1
    if (expected.length > 20) this.seen.long += 1
    if (history.some(({ usedFreeze }) => usedFreeze)) this.seen.frozen += 1
    if (history.some(({ usedPause, dayOff }) => usedPause && !dayOff)) this.seen.paused += 1
    if (history.some(({ usedPause, dayOff }) => usedPause && dayOff)) this.seen.dayOff += 1
    if (history.some(({ usedPause, dayOff }) => !usedPause && dayOff)) this.seen.extendedOff += 1
    if (this.prompt.user.streak.earned !== null) this.seen.earned += 1
    if (
      history.at(-1)?.length === 0 &&
      history.at(-2)?.length === 0 &&
      history.some(({ length }) => length > 0)
    ) {
      this.seen.lost += 1
    }
  }

  /** Triggers fire once for each reached length, and the achievement is completed once (P2, A3, S10). */
  #isRewarded(after: string): void {
    const fired = Object.entries(TRIGGERS).map(
      ([length, points]) => this.oracle.firings(Number(length)) * points,
    )
    const points = fired.reduce((sum, each) => sum + each, 0)
    for (const [name, { user }] of Object.entries({ prompt: this.prompt, late: this.late })) {
      const has = { points: user.points.get(SYSTEM) ?? 0, isAchieved: user.achievements.has(FLAME) }
      same({ name, after, ...has }, { name, after, points, isAchieved: this.#isAchieved })
    }
    if (points > 0) this.seen.fired += 1
    if (this.#isAchieved) this.seen.achieved += 1
  }

  /**
   * If there were only events, changes of zone, pauses and switches, a recount of the log alone has the same
   * result (S9, S10, S11).
   */
  finish(): void {
    if (
      !this.prompt.isWhole ||
      !this.#isPlain ||
      this.#settings.freezes !== null ||
      (this.#wasOff && this.#hasMoved)
    )
      return
    this.seen.recounts += 1
    this.prompt.tick(this.#now)
    const { streak, runs } = this.prompt.recount(this.#now, this.#log)
    const { run } = this.prompt.user.streak
    const judged = undefined
    expect(streak.run && { ...streak.run, judged }).toEqual(run && { ...run, judged })
    // A streak that was reset in its first period has a past with the same beginning (S13).
    const past = (known: readonly StreakRun[]) => known.filter(({ first }) => first !== run?.first)
    expect(past(runs)).toEqual(past([...this.prompt.runs.values()]))
  }
}

/** Changes of a profile that do not affect streaks. */
const PROFILES: { [field in (typeof PROFILE)[number]]: (nth: number) => ProfileChange } = {
  email: (nth) => ({ email: `ada${nth}@b.example` }),
  name: (nth) => ({ name: `Ada ${nth}` }),
  subscribeToEmails: () => ({ subscribeToEmails: false }),
  deviceTokens: (nth) => ({ deviceTokens: [`token ${nth}`] }),
  attributes: (nth) => ({ attributes: new Map([['plan', `plan ${nth}`]]) }),
}
