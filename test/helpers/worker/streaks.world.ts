import { expect } from 'vitest'
import { beginningOf, dateIn, plusDays } from '../../oracle/calendar.oracle'
import {
  type ChangeInput,
  type OracleSettings,
  type OracleThresholds,
  StreakReplay,
} from '../../oracle/streaks.oracle'
import type { PROFILE, StreakStep, StreakWorld } from '../../oracle/streaks.worlds'
import { forgetDueWork } from './due-work'
import { at, newTenant, type TestTenant } from './harness'

/**
 * Plays lives of one user to the service over HTTP. After each step, compares all reads with the oracle: the
 * streak with its history, the lists of several users' streaks, the streak board, and the awards of streak
 * triggers and of an achievement.
 */

const UNIT = 1_000_000
const USER = '/users/ada'
const PERIODS = 9
const HABIT = { daily: 1, weekly: 7, monthly: 30 }

/** Points that streak triggers award, by their lengths, and the length that completes the achievement. */
const TRIGGERS = { 1: 5, 2: 7, 3: 11 }
const ACHIEVED = 3

/** Counts of compared steps and of cases, so that a test that compares nothing is noticed. */
export const nothingSeen = () => ({
  ...{ steps: 0, alive: 0, lost: 0, frozen: 0, paused: 0, restored: 0, off: 0, silent: 0, back: 0 },
  ...{ boards: 0, fired: 0, achieved: 0, recounts: 0, met: 0, voided: 0, deleted: 0 },
  ...{ dayOff: 0, reset: 0 },
})
type Seen = ReturnType<typeof nothingSeen>

/** Returns to real time. */
export async function toRealTime(): Promise<void> {
  await (await newTenant()).clock('DELETE')
}

const thresholdsBody = (thresholds: OracleThresholds) =>
  thresholds.map(({ metric: key, threshold }) => ({ key, threshold: threshold / UNIT }))

const settingsBody = ({
  enabled,
  frequency,
  metrics,
  mode,
  customizationEnabled,
  freezes,
  daysOff,
}: OracleSettings) => ({
  ...{ enabled, frequency, evaluationMode: mode, customizationEnabled, daysOff },
  metrics: thresholdsBody(metrics),
  freezes: freezes && {
    ...{ startCount: freezes.startCount, maxCount: freezes.maxCount },
    ...{ autoEarnInterval: freezes.interval, autoEarnAmount: freezes.interval && freezes.amount },
  },
})

/** Only daily streaks have days off. */
const allowed = (settings: OracleSettings): OracleSettings =>
  settings.frequency === 'daily' ? settings : { ...settings, daysOff: [] }

class Life {
  readonly #tenant: TestTenant
  readonly #world: StreakWorld
  readonly #seen: Seen
  readonly #oracle: StreakReplay
  #settings: OracleSettings
  #now: number
  #zone: string | null
  #key = ''
  #isOut = false
  #isAchieved = false
  readonly #pauses = new Map<string, string>()
  /** The metrics that are not deleted. */
  readonly #metrics = new Set(['m0', 'm1', 'm2'])
  /** All events, and how often the streak was extended so far. */
  readonly #events: { id: string; metric: string; isVoided: boolean }[] = []
  #extensions = 0

  constructor(tenant: TestTenant, world: StreakWorld, begins: number, seen: Seen) {
    this.#tenant = tenant
    this.#world = world
    this.#seen = seen
    this.#settings = allowed(world.settings)
    this.#oracle = new StreakReplay(this.#settings)
    this.#now = begins
    this.#zone = world.zone
  }

  async begin(): Promise<void> {
    const tenant = this.#tenant
    await tenant.clock('DELETE')
    // The clock would run the due work of earlier worlds.
    await forgetDueWork()
    await tenant.moveClock(this.#now)
    for (const key of this.#metrics) await tenant.metric(key)
    await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
    const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
    for (const [length, points] of Object.entries(TRIGGERS)) {
      const trigger = { type: 'streak', streakLength: Number(length), points, status: 'active' }
      await tenant.create(`/points/${system}/triggers`, trigger)
    }
    const flame = { key: 'flame', name: 'Flame', trigger: 'streak', streakLength: ACHIEVED, status: 'active' }
    await tenant.create('/achievements', flame)
    await tenant.create('/leaderboards', { key: 'flames', name: 'F', rankBy: 'streak', status: 'active' })
    await this.#admin('PATCH', '/streaks/settings', settingsBody(this.#settings), 200)
    this.#oracle.take({ at: this.#now, do: 'create', zone: this.#zone })
    await this.#app('PUT', USER, { ...(this.#zone !== null && { tz: this.#zone }) }, 200)
    this.#key = await tenant.key('ada')
    await this.#agrees('create')
  }

  async #admin(method: string, path: string, body: unknown, status: number): Promise<unknown> {
    const answer = await this.#tenant.admin(method, path, body)
    expect({ path, status: answer.status, body: answer.body }).toMatchObject({ path, status })
    return answer.body
  }

  /** Calls with the admin key. */
  async #app(method: string, path: string, body: unknown, status: number): Promise<unknown> {
    const answer = await this.#tenant.app(method, path, body)
    expect({ path, status: answer.status, body: answer.body }).toMatchObject({ path, status })
    return answer.body
  }

  /** Calls with the user's own key. */
  async #own(method: string, path: string, body: unknown, status: number): Promise<unknown> {
    const answer = await this.#tenant.as(this.#key, method, path, body)
    expect({ path, status: answer.status, body: answer.body }).toMatchObject({ path, status })
    return answer.body
  }

  async step(step: StreakStep): Promise<void> {
    const times = step.do === 'habit' ? Math.min(step.times, 4) : 1
    const days = step.do === 'habit' ? HABIT[this.#settings.frequency] : step.days
    for (let n = 0; n < times; n += 1) {
      const zone = this.#zone ?? 'UTC'
      const date = plusDays(dateIn(zone, this.#now), days)
      this.#now = Math.max(this.#now + 1, beginningOf(zone, date) + step.minute * 60_000)
      await this.#tenant.moveClock(this.#now)
      await this.#do(step)
      await this.#agrees(step.do)
    }
  }

  #tell(happening: ChangeInput): boolean {
    return this.#oracle.take(happening)
  }

  async #do(step: StreakStep): Promise<void> {
    const now = this.#now
    const earns = this.#settings.freezes?.interval
    switch (step.do) {
      case 'habit':
      case 'event': {
        const { metric, value } = step
        if (!this.#metrics.has(metric)) return
        const zone = step.do === 'event' && step.zone !== undefined && !earns ? { zone: step.zone } : {}
        if ('zone' in zone) this.#moved(zone.zone)
        this.#tell({ at: now, do: 'event', metric, value, ...zone })
        const user = { id: 'ada', ...('zone' in zone && { tz: zone.zone }) }
        const path = `/metrics/${metric}/event`
        const body = await this.#own('POST', path, { user, value: value / UNIT }, 201)
        const { length, started, expires } = this.#oracle.at(now)
        expect(at(body, 'currentStreak')).toMatchObject({ length, started, expires })
        this.#events.push({ id: String(at(body, 'eventId')), metric, isVoided: false })
        if (length >= ACHIEVED) this.#isAchieved = true
        if (this.#isOff) this.#seen.silent += 1
        return
      }
      case 'zone':
        if (earns) return
        this.#moved(step.zone)
        this.#tell({ at: now, do: 'zone', zone: step.zone })
        await this.#own('PATCH', USER, { tz: step.zone }, 200)
        return
      case 'pause': {
        const start = plusDays(dateIn(this.#zone ?? 'UTC', now), step.from)
        const end = plusDays(start, step.length)
        const id = `pause ${this.#pauses.size}`
        this.#tell({ at: now, do: 'pause', id, start, end })
        const body = { pauses: [{ userId: 'ada', start, end }] }
        const made = await this.#admin('POST', '/streaks/pauses', body, 201)
        this.#pauses.set(id, String(at(made, 'created', 0, 'id')))
        return
      }
      case 'unpause': {
        const [id, uuid] = [...this.#pauses][step.which % Math.max(1, this.#pauses.size)] ?? []
        if (id === undefined || !this.#tell({ at: now, do: 'unpause', id })) return
        await this.#admin('DELETE', `/streaks/pauses?ids=${uuid}`, undefined, 200)
        return
      }
      case 'freeze': {
        const granted = this.#tell({ at: now, do: 'freeze' })
        await this.#admin('POST', '/streaks/freezes', { freezes: [{ userId: 'ada' }] }, granted ? 201 : 200)
        return
      }
      case 'restore': {
        if (this.#isOff) return
        const came = this.#tell({ at: now, do: 'restore' })
        if (came) this.#seen.restored += 1
        await this.#admin('POST', '/streaks/restore', { users: [{ id: 'ada' }] }, came ? 201 : 200)
        return
      }
      case 'reset': {
        const isReset = this.#tell({ at: now, do: 'reset' })
        if (isReset) this.#seen.reset += 1
        expect(await this.#admin('POST', '/streaks/reset', { users: [{ id: 'ada' }] }, 200)).toMatchObject({
          resetUsers: isReset ? ['ada'] : [],
        })
        return
      }
      case 'preferences': {
        const { enabled, mode, metrics, daysOff } = step
        const { customizationEnabled } = this.#settings
        const tenants = this.#settings.metrics.filter(({ metric }) => this.#metrics.has(metric))
        const isCounted = (key: string) =>
          this.#metrics.has(key) && (tenants.length === 0 || tenants.some(({ metric }) => metric === key))
        const allowed = metrics?.filter(({ metric }) => isCounted(metric))
        const own = {
          ...(enabled !== undefined && { enabled }),
          ...(customizationEnabled && mode !== undefined && { mode }),
          ...(customizationEnabled && allowed !== undefined && { metrics: allowed }),
          ...(customizationEnabled && daysOff !== undefined && { daysOff }),
        }
        this.#tell({ at: now, do: 'preferences', ...own })
        if (enabled !== undefined) this.#isOut = !enabled
        const streak = {
          ...(own.enabled !== undefined && { enabled: own.enabled }),
          ...(own.mode !== undefined && { evaluationMode: own.mode }),
          ...(own.metrics !== undefined && { metrics: thresholdsBody(own.metrics) }),
          ...(own.daysOff !== undefined && { daysOff: own.daysOff }),
        }
        await this.#own('PATCH', `${USER}/preferences`, { streak }, 200)
        return
      }
      case 'settings': {
        const frequency = this.#world.switches ? step.settings.frequency : this.#settings.frequency
        const enabled = step.settings.enabled || !this.#world.switches
        if (frequency !== this.#settings.frequency) this.#seen.recounts += 1
        // A user who has travelled earns no freezes (see the worlds), so the interval stays.
        const interval = this.#settings.freezes?.interval ?? null
        const freezes = step.settings.freezes && { ...step.settings.freezes, interval }
        await this.#configure({ ...step.settings, frequency, enabled, freezes })
        return
      }
      case 'goal': {
        const { metrics, mode, customizationEnabled } = step
        await this.#configure({ ...this.#settings, metrics, mode, customizationEnabled })
        return
      }
      case 'daysOff':
        await this.#configure({ ...this.#settings, daysOff: step.daysOff })
        return
      case 'void': {
        const nth = this.#events.length - 1 - step.which
        const event = this.#events[nth]
        if (event === undefined || event.isVoided || !this.#metrics.has(event.metric)) return
        event.isVoided = true
        this.#tell({ at: now, do: 'void', nth })
        await this.#admin('POST', `${USER}/events/${event.id}/void`, {}, 200)
        this.#seen.voided += 1
        return
      }
      case 'unmetric': {
        const { metric } = step
        if (!this.#metrics.delete(metric)) return
        this.#tell({ at: now, do: 'unmetric', metric })
        await this.#admin('DELETE', `/metrics?keys=${metric}`, undefined, 200)
        await this.#walk()
        const shown = await this.#admin('GET', '/streaks/settings', undefined, 200)
        const left = this.#settings.metrics.filter((one) => this.#metrics.has(one.metric))
        expect(at(shown, 'metrics')).toEqual(thresholdsBody(left))
        this.#seen.deleted += 1
        return
      }
      case 'enable':
        await this.#configure({ ...this.#settings, enabled: step.enabled })
        return
      case 'profile': {
        const change = PROFILES[step.field](step.nth)
        // Attributes may be for admins to set.
        if (step.field === 'attributes') await this.#app('PUT', USER, change, 200)
        else await this.#own('PUT', USER, change, 200)
        return
      }
    }
  }

  #moved(zone: string | null): void {
    const [from, to] = [dateIn(this.#zone ?? 'UTC', this.#now), dateIn(zone ?? 'UTC', this.#now)]
    if (to < from) this.#seen.back += 1
    this.#zone = zone
  }

  async #configure(given: OracleSettings): Promise<void> {
    const settings = {
      ...allowed(given),
      metrics: given.metrics.filter(({ metric }) => this.#metrics.has(metric)),
    }
    this.#settings = settings
    this.#tell({ at: this.#now, do: 'settings', settings })
    await this.#admin('PATCH', '/streaks/settings', settingsBody(settings), 200)
    await this.#walk()
  }

  /** The walk over all users ends before the clock has moved (C1). */
  async #walk(): Promise<void> {
    this.#now += 1
    await this.#tenant.moveClock(this.#now)
  }

  /** True if streaks are off for the user or the tenant. */
  get #isOff() {
    return this.#isOut || !this.#settings.enabled
  }

  async #agrees(after: string): Promise<void> {
    const now = this.#now
    const body = await this.#own('GET', `${USER}/streak?historyPeriods=${PERIODS}`, undefined, 200)
    const { extended, freezes, ...expected } = this.#oracle.at(now)
    const { length } = expected
    const history = this.#oracle.history(now, PERIODS)
    const wasExtended = this.#oracle.extensions > this.#extensions
    this.#extensions = this.#oracle.extensions
    if (wasExtended && length >= ACHIEVED) this.#isAchieved = true
    if (wasExtended && after !== 'event' && after !== 'habit') this.#seen.met += 1
    const hasFreezes = this.#settings.freezes !== null
    const when = { after, now: new Date(now).toISOString(), zone: this.#zone }
    const streakHistory = history.map(({ start, length, usedFreeze, usedPause, dayOff, resetAt }) => ({
      ...{ periodStart: start, periodEnd: expect.any(String), length, usedPause },
      ...(hasFreezes && { usedFreeze }),
      ...(dayOff && { dayOff }),
      ...(resetAt !== null && { resetAt: new Date(resetAt).toISOString() }),
    }))
    expect({ ...when, ...Object(body) }).toMatchObject({
      ...when,
      ...expected,
      ...(freezes !== null && { freezes }),
      extended: extended === null ? null : new Date(extended).toISOString(),
    })
    // The history of periods with streaks off is shown only when streaks are on again.
    if (!this.#isOff)
      expect({ ...when, streakHistory: at(body, 'streakHistory') }).toEqual({ ...when, streakHistory })
    await this.#listsAgree(when, expected.length)
    await this.#rewardsAgree(when)
    const seen = this.#seen
    seen.steps += 1
    if (this.#isOff) seen.off += 1
    if (expected.length > 0) seen.alive += 1
    const [before, missed, current] = history.slice(-3).map(({ length }) => length)
    if (before !== 0 && missed === 0 && current === 0) seen.lost += 1
    if (history.some(({ usedFreeze }) => usedFreeze)) seen.frozen += 1
    if (history.some(({ usedPause }) => usedPause)) seen.paused += 1
    if (history.some(({ dayOff }) => dayOff)) seen.dayOff += 1
  }

  /** Checks that reads of several users have the same length: lists, rankings, and the board by streaks. */
  async #listsAgree(when: object, length: number): Promise<void> {
    const list = await this.#app('GET', '/streaks?userIds=ada', undefined, 200)
    expect({ ...when, list }).toMatchObject({ ...when, list: [{ userId: 'ada', streakLength: length }] })
    const rankings = await this.#app('GET', '/streaks/rankings', undefined, 200)
    const ranked = length === 0 ? [] : [{ userId: 'ada', streakLength: length }]
    expect({ ...when, rankings }).toMatchObject({ ...when, rankings: ranked })
    if (!this.#settings.enabled) return
    const board = at(await this.#app('GET', '/leaderboards/flames', undefined, 200), 'rankings')
    const places = length === 0 ? [] : [{ userId: 'ada', rank: 1, value: length }]
    expect({ ...when, board }).toMatchObject({ ...when, board: places })
    if (length > 0) this.#seen.boards += 1
  }

  /**
   * Checks that triggers fired once for each length, and that the achievement was completed once (P2, A3,
   * S10).
   */
  async #rewardsAgree(when: object): Promise<void> {
    const fired = Object.entries(TRIGGERS).map(([n, points]) => this.#oracle.firings(Number(n)) * points)
    const points = fired.reduce((sum, each) => sum + each, 0)
    const total = at(await this.#own('GET', `${USER}/points/xp`, undefined, 200), 'total')
    const achievements = await this.#own('GET', `${USER}/achievements`, undefined, 200)
    const isAchieved = Array.isArray(achievements) && achievements.length === 1
    expect({ ...when, total, isAchieved }).toEqual({ ...when, total: points, isAchieved: this.#isAchieved })
    if (points > 0) this.#seen.fired += 1
    if (isAchieved) this.#seen.achieved += 1
  }
}

/** Changes of a profile that do not affect streaks. */
const PROFILES: { [field in (typeof PROFILE)[number]]: (nth: number) => object } = {
  email: (nth) => ({ email: `ada${nth}@b.example` }),
  name: (nth) => ({ name: `Ada ${nth}` }),
  subscribeToEmails: () => ({ subscribeToEmails: false }),
  deviceTokens: (nth) => ({ deviceTokens: [`token ${nth}`] }),
  attributes: (nth) => ({ attributes: { plan: `plan ${nth}` } }),
}

/** Plays a world. It begins after the tests' own time. */
export async function holdsThrough(world: StreakWorld, seen = nothingSeen()): Promise<void> {
  const life = new Life(await newTenant(), world, world.begins, seen)
  await life.begin()
  for (const step of world.steps) await life.step(step)
}
