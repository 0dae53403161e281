import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { beginningOf, dateIn, plusDays } from '../oracle/calendar.oracle'
import { type Happening, type OracleSettings, StreakReplay } from '../oracle/streaks.oracle'
import type { StreakStep, StreakWorld } from '../oracle/streaks.worlds'
import { ADMIN_KEY, at, call, newTenant, type TestTenant } from './harness'

/** Plays random lives of one user to the service over HTTP, and holds what it shows against the oracle after each step. */

const DAY = 86_400_000
const UNIT = 1_000_000
const USER = '/users/ada'
const PERIODS = 9
const HABIT = { daily: 1, weekly: 7, monthly: 30 }

/** What was compared, so that a property that compares nothing is noticed. */
export const seen = { steps: 0, alive: 0, lost: 0, frozen: 0, paused: 0, restored: 0 }

async function clock(tenant: TestTenant, method: string, body?: unknown): Promise<number> {
  const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id }
  const answer = await call(tenant.send, method, '/admin/v1/test-clock', { body, headers })
  expect([method, answer.status]).toEqual([method, 200])
  return Date.parse(String(at(answer.body, 'now')))
}

async function moveTo(tenant: TestTenant, to: number): Promise<void> {
  let now = await clock(tenant, 'GET')
  do {
    now = Math.min(now + 400 * DAY, to)
    await clock(tenant, 'PUT', { now: new Date(now).toISOString() })
  } while (now < to)
}

/** Returns to real time. */
export async function toRealTime(): Promise<void> {
  await clock(await newTenant(), 'DELETE')
}

const settingsBody = ({ enabled, frequency, metrics, mode, personalisation, freezes }: OracleSettings) => ({
  ...{ enabled, frequency, evaluationMode: mode, personalisation },
  metrics: metrics.map(({ metric: key, threshold }) => ({ key, threshold: threshold / UNIT })),
  freezes: freezes && {
    ...{ initial: freezes.initial, max: freezes.max },
    ...{ autoEarnInterval: freezes.interval, autoEarnAmount: freezes.amount },
  },
})

/** One life. */
class Life {
  readonly #tenant: TestTenant
  readonly #settings: OracleSettings
  readonly #oracle: StreakReplay
  #now: number
  #zone: string | null
  readonly #pauses = new Map<string, string>()

  constructor(tenant: TestTenant, world: StreakWorld, begins: number) {
    this.#tenant = tenant
    this.#settings = world.settings
    this.#oracle = new StreakReplay(world.settings)
    this.#now = begins
    this.#zone = world.zone
  }

  async begin(): Promise<void> {
    const tenant = this.#tenant
    await clock(tenant, 'DELETE')
    // What earlier worlds left behind would be done on the way.
    await env.DB.prepare('DELETE FROM due_work').run()
    await moveTo(tenant, this.#now)
    for (const key of ['m0', 'm1', 'm2']) await tenant.metric(key)
    await this.#admin('PATCH', '/streaks/settings', settingsBody(this.#settings), 200)
    this.#oracle.take({ at: this.#now, do: 'create', zone: this.#zone })
    await this.#app('PUT', USER, { ...(this.#zone !== null && { tz: this.#zone }) }, 200)
    await this.#agrees('create')
  }

  async #admin(method: string, path: string, body: unknown, status: number): Promise<unknown> {
    const answer = await this.#tenant.admin(method, path, body)
    expect({ path, status: answer.status, body: answer.body }).toMatchObject({ path, status })
    return answer.body
  }

  async #app(method: string, path: string, body: unknown, status: number): Promise<unknown> {
    const answer = await this.#tenant.app(method, path, body)
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
      await moveTo(this.#tenant, this.#now)
      await this.#do(step)
      await this.#agrees(step.do)
    }
  }

  #tell(happening: Happening): boolean {
    return this.#oracle.take(happening)
  }

  async #do(step: StreakStep): Promise<void> {
    const now = this.#now
    const earns = this.#settings.freezes?.interval
    switch (step.do) {
      case 'habit':
      case 'event': {
        const { metric, value } = step
        const zone = step.do === 'event' && step.zone !== undefined && !earns ? { zone: step.zone } : {}
        if ('zone' in zone) this.#zone = zone.zone
        this.#tell({ at: now, do: 'event', metric, value, ...zone })
        const user = { id: 'ada', ...('zone' in zone && { tz: zone.zone }) }
        const { status, body } = await this.#tenant.event(metric, user, value / UNIT)
        expect(status).toBe(201)
        const { length, started, expires } = this.#oracle.at(now)
        expect(at(body, 'currentStreak')).toMatchObject({ length, started, expires })
        return
      }
      case 'zone':
        if (earns) return
        this.#zone = step.zone
        this.#tell({ at: now, do: 'zone', zone: step.zone })
        await this.#app('PATCH', USER, { tz: step.zone }, 200)
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
        const came = this.#tell({ at: now, do: 'restore' })
        if (came) seen.restored += 1
        await this.#admin('POST', '/streaks/restore', { users: [{ id: 'ada' }] }, came ? 201 : 200)
        return
      }
      // Preferences and settings are played on the core.
      case 'preferences':
      case 'settings':
        return
    }
  }

  async #agrees(after: string): Promise<void> {
    const now = this.#now
    const body = await this.#app('GET', `${USER}/streak?historyPeriods=${PERIODS}`, undefined, 200)
    const { extended, freezes, ...expected } = this.#oracle.at(now)
    const history = this.#oracle.history(now, PERIODS)
    const hasFreezes = this.#settings.freezes !== null
    const when = { after, now: new Date(now).toISOString(), zone: this.#zone }
    expect({ ...when, ...Object(body) }).toMatchObject({
      ...when,
      ...expected,
      ...(freezes !== null && { freezes }),
      extended: extended === null ? null : new Date(extended).toISOString(),
      streakHistory: history.map(({ start, length, usedFreeze, usedPause }) => ({
        ...{ periodStart: start, length, usedPause, ...(hasFreezes && { usedFreeze }) },
      })),
    })
    seen.steps += 1
    if (expected.length > 0) seen.alive += 1
    if (history.at(-2)?.length !== 0 && history.at(-1)?.length === 0) seen.lost += 1
    if (history.some(({ usedFreeze }) => usedFreeze)) seen.frozen += 1
    if (history.some(({ usedPause }) => usedPause)) seen.paused += 1
  }
}

/** Plays a world; it begins in a year to come, whenever the tests run. */
export async function holdsThrough(world: StreakWorld): Promise<void> {
  let { begins } = world
  while (begins < Date.now()) begins += 28 * 365.25 * DAY
  const life = new Life(await newTenant(), world, begins)
  await life.begin()
  for (const step of world.steps) await life.step(step)
}
