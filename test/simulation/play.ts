import { IMPLICIT_TENANT_ID } from '../../src/access/tenants.sql'
import { settle } from '../helpers/worker/databases-moves'
import { at } from '../helpers/worker/harness'
import { plusMonths, utcDate } from '../oracle/calendar.oracle'
import type { Asked, Reply } from './client'
import { disturb } from './disturb'
import { chaos } from './faults'
import {
  type ConfigurationChange,
  type FIELDS,
  type LifeDeed,
  type Profile,
  type Sent,
  type Step,
  type StreakDeed,
  TEAMS,
} from './plan'
import type { World } from './world'

/**
 * The outcome of an event as its sender knows it: recorded, refused for ever, accepted for later, or unknown.
 */
export type Fate = 'recorded' | 'refused' | 'accepted' | 'unknown'
/** Its responses that were no failures, in any order. */
export type Told = { sent: Sent; fate: Fate; replies: Reply[] }

/** Changes of users other than events, in order, each noted after its response. */
export type Done = { at: number; step: number } & (
  | ({ do: 'profile' } & Profile)
  | { do: 'pause'; user: string; start: string; end: string }
  | { do: 'freeze' | 'restore' | 'reset' | 'unclear'; user: string }
  | { do: 'switch'; user: string; enabled: boolean }
  | { do: 'days off'; user: string; daysOff: number[] | null }
  | { do: 'zone'; user: string; tz: string }
  /** An event that was sent in a row with other actions of its user. */
  | { do: 'event'; user: string; mark: string }
  | { do: 'streaks'; user: null; enabled: boolean; daysOff: number[] }
  | { do: 'erase'; user: string }
)

/** Everything that the client knows at the end. */
export type Story = { told: Told[]; done: Done[]; moments: number[] }

const MINUTE = 60_000

/** Changes of a profile that do not affect streaks. */
const FIELD: { [field in (typeof FIELDS)[number]]: (user: string, nth: number, began: number) => object } = {
  name: (_, nth) => ({ name: `Name ${nth}` }),
  email: (user) => ({ email: `${user}@b.example` }),
  subscribeToEmails: (user, nth) => ({ email: `${user}@b.example`, subscribeToEmails: nth > 0 }),
  deviceTokens: (user, nth) => ({ deviceTokens: [`ExponentPushToken[${user} ${nth}]`] }),
  attributes: (_, nth) => ({ attributes: { team: TEAMS[nth] ?? null } }),
  // The first anniversary is today, or on one of the next two days.
  signUpDate: (_, nth, began) => ({ signUpDate: plusMonths(utcDate(began + nth * 24 * 60 * MINUTE), -12) }),
}

export class Play {
  readonly #world: World
  readonly story: Story = { told: [], done: [], moments: [] }
  #now: number
  #toggled = true

  constructor(world: World) {
    this.#world = world
    this.#now = world.began
  }

  get now(): number {
    return this.#now
  }

  /** Plays a step, and moves the clock to the next one. */
  async step(step: Step, index: number): Promise<void> {
    chaos.isOn = true
    chaos.scale = step.storm
    this.story.moments.push(this.#now)
    await Promise.all(step.profiles.map((profile) => this.#identify(profile, index)))
    for (const deed of step.streaks) await this.#streak(deed, index)
    for (const deed of step.lives) await this.#live(deed, index)
    await Promise.all([
      ...step.live.map((sent) => this.#send(sent)),
      ...step.batches.map((batch, n) => this.#batch(batch, n)),
      ...step.completions.map(({ user, isolate }) => this.#complete(user, isolate)),
      ...step.preferences.map((one) => this.#prefer(one)),
      ...step.teams.map((one) => this.#moveTeam(one)),
      ...step.reads.map(({ path, isolate }) =>
        this.#world.client.once(isolate, { method: 'GET', path: `/v1${path}` }),
      ),
      this.#inTurn(step.configuration, (change) => this.#configure(change, index)),
      this.#inTurn(step.disturbances, (one) => disturb(this.#world, one)),
    ])
    await Promise.all(step.erasures.map((user) => this.#erase(user, index)))
    chaos.scale = 0.5
    const move = this.moveTo(this.#now + step.minutes * MINUTE)
    await Promise.all([move, ...step.moving.map((sent) => this.#send(sent))])
  }

  async #inTurn<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
    for (const one of list) await work(one)
  }

  /** Moves the clock. Repeats the request until it succeeds. */
  async moveTo(to: number): Promise<void> {
    const body = { now: new Date(to).toISOString() }
    const reply = await this.#world.client.insist(0, { method: 'PUT', path: '/admin/v1/test-clock', body })
    if (reply.status !== 200) throw new Error(`the clock was not moved: ${JSON.stringify(reply)}`)
    this.#now = to
  }

  async #identify(profile: Profile, step: number): Promise<void> {
    const { user, tz, team, isolate } = profile
    const body = {
      ...{ tz, attributes: { team }, email: `${user}@b.example` },
      deviceTokens: [`ExponentPushToken[${user}]`],
    }
    await this.#ask(isolate, { method: 'PUT', path: `/v1/users/${user}`, body }, 'identify')
    this.story.done.push({ at: this.#now, step, do: 'profile', ...profile })
  }

  #must(statuses: readonly number[], { status, body }: Reply, what: string): void {
    if (!statuses.includes(status))
      this.#world.client.broken.push(`${what}: ${status} ${JSON.stringify(body)}`)
  }

  /** Repeats a request until there is a response, which must have one of these statuses. */
  async #ask(
    isolate: number,
    asked: Asked,
    what: string,
    statuses: readonly number[] = [200],
  ): Promise<void> {
    this.#must(statuses, await this.#world.client.insist(isolate, asked), what)
  }

  /**
   * Adds a pause or a freeze, or restores or resets a streak. These cannot be repeated, so the outcome is unknown if
   * the response is lost.
   */
  async #streak(deed: StreakDeed, step: number): Promise<void> {
    const { user } = deed
    const { client } = this.#world
    const when = { at: this.#now, step, user }
    const ask = (path: string, body: object) =>
      client.once(step, { method: 'POST', path: `/admin/v1/streaks/${path}`, body })
    if (deed.do === 'pause') {
      const day = (days: number) =>
        new Date(this.#now + 14 * 3_600_000 + days * 86_400_000).toISOString().slice(0, 10)
      const pause = { start: day(deed.from), end: day(deed.from + deed.days) }
      const reply = await ask('pauses', { pauses: [{ userId: user, ...pause }] })
      const isDone = reply.status === 201
      if (reply.status >= 500) this.story.done.push({ ...when, do: 'unclear' })
      else if (isDone) this.story.done.push({ ...when, do: 'pause', ...pause })
      return
    }
    const reply =
      deed.do === 'freeze'
        ? await ask('freezes', { freezes: [{ userId: user }] })
        : await ask(deed.do, { users: [{ id: user }] })
    const isReset = JSON.stringify(at(reply.body, 'resetUsers')) === JSON.stringify([user])
    if (reply.status >= 500) this.story.done.push({ ...when, do: 'unclear' })
    else if (reply.status === 201 || isReset) this.story.done.push({ ...when, do: deed.do })
  }

  /** An action of a user. Each gets its response before the next, and may be repeated. */
  async #live(deed: LifeDeed, step: number): Promise<void> {
    const when = { at: this.#now, step }
    switch (deed.do) {
      case 'event': {
        const { user, mark } = deed.sent
        this.story.done.push({ ...when, do: 'event', user, mark })
        return this.#send(deed.sent)
      }
      case 'streaks': {
        const { enabled, daysOff } = deed
        const asked = { method: 'PATCH', path: '/admin/v1/streaks/settings', body: { enabled, daysOff } }
        await this.#ask(step, asked, deed.do)
        this.story.done.push({ ...when, user: null, ...deed })
        return
      }
      case 'switch':
        await this.#own('PATCH', '/preferences', { streak: { enabled: deed.enabled } }, deed)
        break
      case 'days off':
        await this.#own('PATCH', '/preferences', { streak: { daysOff: deed.daysOff } }, deed)
        break
      case 'zone':
        await this.#own('PATCH', '', { tz: deed.tz }, deed)
        break
      case 'field':
        return this.#own('PUT', '', FIELD[deed.field](deed.user, deed.nth, this.#world.began), deed)
    }
    this.story.done.push({ ...when, ...deed })
  }

  /** Sends a request with the user's own key, if there is one. */
  async #own(
    method: string,
    path: string,
    body: object,
    { user, isolate, ...deed }: { user: string; isolate: number; do: string },
  ): Promise<void> {
    // Some fields may be set only by admins.
    const key = 'attributes' in body || 'signUpDate' in body ? undefined : this.#world.client.keys.get(user)
    const headers = key === undefined ? {} : { 'x-api-key': key }
    await this.#ask(isolate, { method, path: `/v1/users/${user}${path}`, body, headers }, deed.do)
  }

  /** Sends an event. With a key, it is repeated until there is a response. Without a key, it is sent once. */
  async #send(sent: Sent): Promise<void> {
    const { user, tz, metric, cents, key, copies, isolate, mark, kind } = sent
    const apiKey = this.#world.client.keys.get(user)
    const asked = {
      method: 'POST',
      path: `/v1/metrics/${metric}/event`,
      body: {
        user: { id: user, ...(tz !== null && { tz }) },
        value: cents / 100,
        attributes: { mark, ...(kind !== null && { kind }) },
      },
      headers: {
        ...(key !== null && { 'idempotency-key': key }),
        ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      },
    }
    const { client } = this.#world
    const replies = await Promise.all(
      Array.from({ length: copies }, (_, n) =>
        key === null ? client.once(isolate + n, asked) : client.insist(isolate + n, asked),
      ),
    )
    const answered = replies.filter(({ status }) => status < 500)
    for (const reply of answered) this.#must([201, 202, 422], reply, 'event')
    const counts = answered.some(({ status }) => status === 201 || status === 202)
    const fate = counts ? 'recorded' : answered.length > 0 ? 'refused' : 'unknown'
    this.story.told.push({ sent, fate, replies: answered })
  }

  /** Sends a batch once: events without a key would count twice if the batch were sent again. */
  async #batch(batch: readonly Sent[], nth: number): Promise<void> {
    const { client } = this.#world
    const asked = (events: readonly Sent[]) => ({
      method: 'POST',
      path: '/admin/v1/metrics/events',
      body: events.map(({ user, tz, metric, cents, key, mark, kind }) => ({
        ...{ key: metric, user: { id: user, ...(tz !== null && { tz }) }, value: cents / 100 },
        attributes: { mark, ...(kind !== null && { kind }) },
        ...(key !== null && { idempotencyKey: key }),
      })),
    })
    const first = await client.once(nth, asked(batch))
    const keyed = batch.filter(({ key }) => key !== null)
    if (first.status >= 500 && keyed.length > 0)
      this.#must([202], await client.insist(nth, asked(keyed)), 'batch')
    else if (first.status < 500) this.#must([202], first, 'batch')
    for (const sent of batch) {
      const fate = first.status < 500 || sent.key !== null ? 'accepted' : 'unknown'
      this.story.told.push({ sent, fate, replies: [] })
    }
  }

  async #complete(user: string, isolate: number): Promise<void> {
    const asked = { method: 'POST', path: '/v1/achievements/hello/complete', body: { user: { id: user } } }
    await this.#ask(isolate, asked, 'completion', [201])
  }

  async #prefer({ user, channels }: Step['preferences'][number]): Promise<void> {
    const body = { notifications: { streak_reminder: channels, achievement_completed: channels } }
    const asked = { method: 'PATCH', path: `/v1/users/${user}/preferences`, body }
    await this.#ask(1, asked, 'preferences')
  }

  async #moveTeam({ user, team, isolate }: Step['teams'][number]): Promise<void> {
    const asked = { method: 'PATCH', path: `/v1/users/${user}`, body: { attributes: { team } } }
    await this.#ask(isolate, asked, 'team')
  }

  async #erase(user: string, step: number): Promise<void> {
    const asked = { method: 'DELETE', path: `/admin/v1/users/${user}` }
    await this.#ask(step, asked, 'erasure', [200, 202, 204, 404])
    this.story.done.push({ at: this.#now, step, do: 'erase', user })
  }

  /**
   * Changes the configuration. The request is sent once, so the change happens at most once, with or without
   * a response.
   */
  async #configure(planned: ConfigurationChange, step: number): Promise<void> {
    const { client, ids } = this.#world
    const patch = (path: string, change: object) =>
      this.#ask(step, { method: 'PATCH', path: `/admin/v1${path}`, body: [change] }, planned.do)
    switch (planned.do) {
      case 'toggle':
        this.#toggled = !this.#toggled
        return patch(`/points/${ids.gems}/triggers`, {
          ...{ id: ids['gems toggle'], status: this.#toggled ? 'active' : 'inactive' },
        })
      case 'cap':
        return patch('/points', { id: ids.gems, maxPoints: planned.max })
      case 'open board':
        return patch('/leaderboards', { id: ids['board later'], status: 'active' })
      case 'open achievement':
        return patch('/achievements', { id: ids.later, status: 'active' })
      case 'rename':
        return patch('/metrics', { id: ids.steps, name: `Steps ${step}` })
      case 'boost': {
        const item = {
          name: 'own',
          start: '2020-01-01',
          multiplier: planned.percent / 100,
          userId: planned.user,
        }
        const asked = { method: 'POST', path: `/admin/v1/points/${ids.gems}/boosts`, body: [item] }
        await client.once(step, asked)
      }
    }
  }

  /**
   * Ends all faults, and lets time pass until their effects are repaired. Leaderboards need an hour (L12).
   */
  async calm(): Promise<void> {
    chaos.isOn = false
    await chaos.settled()
    this.story.moments.push(this.#now)
    await this.moveTo(this.#now + 61 * MINUTE)
    // A rebalancing asks for moves of all tenants, also of the implicit one, which has no users here.
    for (const id of [this.#world.tenantId, IMPLICIT_TENANT_ID]) await settle({ id })
  }

  /**
   * Lets time pass until every message has arrived or is given up (W4), without other changes. Reminders to
   * absent users go on until the end. By then, each webhook's destination has worked for a long time.
   */
  async wait(): Promise<void> {
    const { client, ids, hooks } = this.#world
    for (const [name, id] of Object.entries(ids)) {
      if (name.endsWith('hours')) {
        const system = name.split(' ')[0] ?? ''
        await client.sure('PATCH', `/admin/v1/points/${ids[system]}/triggers`, [{ id, status: 'inactive' }])
      }
      if (name.startsWith('board ')) await client.sure('DELETE', `/admin/v1/leaderboards?ids=${id}`)
    }
    await client.sure('PATCH', '/admin/v1/streaks/settings', { enabled: false })
    await this.moveTo(this.#now + 26 * 60 * MINUTE)
    for (const { hook } of hooks) await hook.plan()
    await this.moveTo(this.#now + 26 * 60 * MINUTE)
  }
}
