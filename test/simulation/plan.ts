import { Random } from './random'

/** The plan of a world. It is made from the seed alone, before anything happens. */

export const METRICS = ['steps', 'words', 'spend'] as const
export type Metric = (typeof METRICS)[number]
export const TEAMS = ['red', 'blue', 'green'] as const
export const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'America/St_Johns',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
] as const
export const ISOLATES = 5
/** The first users have their own key, and send their events with it. They are never erased. */
export const KEYED = 5

/** The size of a plan. */
export type Size = {
  users: number
  /**
   * The number of moves of the clock, the range of their lengths in minutes before scaling, and the total in
   * minutes after it.
   */
  steps: number
  minutes: readonly [number, number]
  inAll: number
  /** In each step: single events that are sent at once, events of a batch, and the number of batches. */
  live: number
  batch: number
  /** The largest number of users who do several things in a row. */
  lives: number
  batches: number
  profiles: number
  /** True if webhooks get all events. If not, they get only rare ones. */
  tellsAll: boolean
}

export const SIZES: Record<'small' | 'full', Size> = {
  small: {
    ...{ users: 30, steps: 7, minutes: [150, 1_080], inAll: 3 * 1_440 },
    ...{ live: 22, batch: 18, batches: 1, profiles: 6, lives: 4 },
    tellsAll: true,
  },
  full: {
    ...{ users: 2_100, steps: 7, minutes: [120, 330], inAll: 26 * 60 },
    ...{ live: 120, batch: 1_000, batches: 1, profiles: 40, lives: 30 },
    tellsAll: false,
  },
}

/** An event of a user, and how it is sent. */
export type Sent = {
  /** Its name, which is stored with it as an attribute. */
  mark: string
  step: number
  /**
   * The part of its step in which it is sent: after the user's other actions, alone, in a batch, or while the
   * clock moves to the next step.
   */
  phase: 'life' | 'live' | 'batch' | 'moving'
  user: string
  /** The zone that is passed with it. Null passes none. */
  tz: string | null
  metric: Metric
  /** In hundredths. */
  cents: number
  key: string | null
  /** The number of copies that are sent at once. More than 1 only with a key. */
  copies: number
  isolate: number
  kind: 'a' | 'b' | null
}

export type Profile = { user: string; tz: string; team: string | null; isolate: number }

/**
 * Actions of users, one after another, some of them with their own keys. Also the tenant's switch of streaks.
 */
export type LifeDeed =
  | { do: 'switch'; user: string; enabled: boolean; isolate: number }
  | { do: 'zone'; user: string; tz: string; isolate: number }
  | { do: 'field'; user: string; field: (typeof FIELDS)[number]; nth: number; isolate: number }
  | { do: 'event'; sent: Sent }
  /** The user's own days off. Null removes them. */
  | { do: 'days off'; user: string; daysOff: number[] | null; isolate: number }
  | { do: 'streaks'; enabled: boolean; daysOff: number[] }

/** Fields of a profile that do not affect streaks. */
export const FIELDS = [
  'name',
  'email',
  'subscribeToEmails',
  'deviceTokens',
  'attributes',
  'signUpDate',
] as const

export type StreakDeed =
  | { do: 'pause'; user: string; from: number; days: number }
  | { do: 'freeze' | 'restore' | 'reset'; user: string }

export type ConfigurationChange =
  | { do: 'toggle' }
  | { do: 'cap'; max: number }
  | { do: 'boost'; user: string; percent: number }
  | { do: 'open board' | 'open achievement' | 'rename' }

export type Disturbance =
  | { do: 'evict' | 'kill'; what: 'board' | 'timekeeper' | 'delivery'; which: number }
  | { do: 'recycle'; which: number }
  | { do: 'alarm' | 'cron' | 'redeliver' | 'lose keys' }

export type Step = {
  minutes: number
  /** The factor by which faults are more frequent during the step. */
  storm: number
  profiles: Profile[]
  streaks: StreakDeed[]
  lives: LifeDeed[]
  live: Sent[]
  batches: Sent[][]
  completions: { user: string; isolate: number }[]
  preferences: { user: string; channels: string[] }[]
  /** Changes of teams, at the same moment as the users' events. */
  teams: { user: string; team: string | null; isolate: number }[]
  reads: { path: string; isolate: number }[]
  configuration: ConfigurationChange[]
  erasures: string[]
  disturbances: Disturbance[]
  moving: Sent[]
}

export type Plan = {
  seed: number
  size: Size
  users: string[]
  /**
   * The zone whose clocks change on the second day, and the minute of the first day at which the plan begins.
   */
  zone: string
  minute: number
  freezes: { startCount: number; maxCount: number; interval: number | null; amount: number }
  /** The first zones of users. */
  zones: ReadonlyMap<string, string>
  steps: Step[]
}

export function planOf(seed: number, size: Size): Plan {
  const random = new Random(seed)
  const users = random.list(size.users, (n) => `u${n}`)
  // Users who earn freezes do not change zones: after a change of zone, the log alone does not say when
  // freezes were earned.
  const interval = random.maybe(0.5) ? 1 : null
  const maker = new Maker(random, size, users, interval === null)
  return {
    ...{ seed, size, users },
    zone: random.of(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Auckland']),
    minute: random.int(0, 1_439),
    freezes: { startCount: 1, maxCount: 3, interval, amount: 1 },
    zones: new Map(maker.zones),
    steps: inAll(
      size.inAll,
      random.list(size.steps, (n) => maker.step(n)),
    ),
  }
}

/** The steps, scaled so that they take `minutes` together. */
function inAll(minutes: number, steps: readonly Step[]): Step[] {
  const sum = steps.reduce((total, step) => total + step.minutes, 0)
  let left = minutes
  return steps.map((step, n) => {
    const own = n === steps.length - 1 ? left : Math.round((step.minutes * minutes) / sum)
    left -= own
    return { ...step, minutes: own }
  })
}

class Maker {
  readonly #random: Random
  readonly #size: Size
  readonly #users: readonly string[]
  readonly #moves: boolean
  readonly zones = new Map<string, string>()
  /** Users who certainly exist. */
  readonly #known = new Set<string>()
  #marks = 0
  #keys: Sent[] = []
  /** True if the tenant's streaks are on. */
  #isOn = true

  constructor(random: Random, size: Size, users: readonly string[], moves: boolean) {
    this.#random = random
    this.#size = size
    this.#users = users
    this.#moves = moves
    for (const user of users) this.zones.set(user, random.of(ZONES))
  }

  step(step: number): Step {
    const random = this.#random
    const { size } = { size: this.#size }
    const isStorm = random.maybe(0.35)
    const profiles = random.list(size.profiles, () => this.#profile())
    for (const { user } of profiles) this.#known.add(user)
    const lives = this.#lives(step)
    const live = this.#live(step)
    const batches = random.list(size.batches, () =>
      random.list(size.batch, () => this.#sent(step, 'batch', random.of(this.#users))),
    )
    const erasures = step > 1 && random.maybe(0.3) ? [random.of(this.#users.slice(KEYED))] : []
    const moving = random.list(random.int(0, 4), () => this.#sent(step, 'moving', random.of(this.#users)))
    const result: Step = {
      minutes: random.int(...size.minutes),
      storm: isStorm ? 5 : 1,
      profiles: [...new Map(profiles.map((one) => [one.user, one])).values()],
      streaks: random.list(random.int(0, 2), () => this.#streakDeed()),
      ...{ lives, live, batches },
      completions: random.list(random.int(0, 3), () => ({
        ...{ user: random.of([...this.#known]), isolate: this.#isolate() },
      })),
      preferences: random.list(random.int(0, 1), () => ({
        user: random.of([...this.#known]),
        channels: random.of([[], ['email'], ['push'], ['email', 'push']]),
      })),
      teams: random.list(random.int(2, 6), () => {
        const active = live.flatMap(({ user }) => (this.#known.has(user) ? [user] : []))
        const user = random.of([...active, ...this.#known])
        return { user, team: random.of([...TEAMS, null]), isolate: this.#isolate() }
      }),
      reads: random.list(3, () => ({ path: this.#read(), isolate: this.#isolate() })),
      configuration: random.list(random.int(0, 2), () => this.#configurationChange()),
      erasures,
      disturbances: random.list(random.int(1, 4), () => this.#disturbance()),
      moving: moving.filter(({ user }) => !erasures.includes(user)),
    }
    // An event that spends points may be refused. Then its user is never created.
    for (const { user, key, metric } of live) if (key !== null && metric !== 'spend') this.#known.add(user)
    for (const user of erasures) this.#known.delete(user)
    return result
  }

  #isolate(): number {
    return this.#random.maybe(0.6) ? 0 : this.#random.int(1, ISOLATES - 1)
  }

  #zoneOf(user: string): string {
    return this.zones.get(user) ?? 'UTC'
  }

  #profile(): Profile {
    const random = this.#random
    const user = random.of(this.#users)
    if (this.#moves && random.maybe(0.5)) this.zones.set(user, random.of(ZONES))
    const team = random.maybe(0.8) ? random.of(TEAMS) : null
    return { user, tz: this.#zoneOf(user), team, isolate: this.#isolate() }
  }

  #live(step: number): Sent[] {
    const random = this.#random
    // Some requests crowd on a few users, so that isolates compete. In every second step most requests do,
    // from all isolates at once.
    const crowd = random.list(3, () => random.of(this.#users))
    const isRush = random.maybe(0.5)
    return random.list(this.#size.live, (n) => {
      if (!isRush || n >= 45)
        return this.#sent(step, 'live', random.of(random.maybe(0.3) ? crowd : this.#users))
      return { ...this.#sent(step, 'live', crowd[n % 3] ?? ''), isolate: Math.floor(n / 3) % ISOLATES }
    })
  }

  #sent(step: number, phase: Sent['phase'], user: string): Sent {
    const random = this.#random
    this.#marks += 1
    const earlier = random.maybe(0.05) ? this.#keys.at(-random.int(1, 40)) : undefined
    const hasKey = random.maybe(0.6)
    const metric = random.of(['steps', 'steps', 'words', 'words', 'spend'] as const)
    const isKnown = this.#known.has(user)
    const sent: Sent = {
      ...{ mark: `e${this.#marks}`, step, phase, user },
      tz: isKnown && random.maybe(0.5) ? null : this.#zoneOf(user),
      metric,
      cents: random.maybe(0.12) ? -random.int(1, 300) : random.int(metric === 'spend' ? 100 : 0, 1_200),
      key: hasKey ? `k${this.#marks}` : null,
      copies: hasKey && random.maybe(0.2) ? random.int(2, 3) : 1,
      isolate: this.#isolate(),
      kind: random.maybe(0.5) ? random.of(['a', 'b'] as const) : null,
    }
    if (earlier !== undefined && earlier.user !== user) {
      // The key of another user has no effect. The user's own key makes a replay.
      return { ...sent, key: earlier.key }
    }
    if (earlier !== undefined) return { ...sent, key: earlier.key, metric: earlier.metric }
    if (hasKey) this.#keys.push(sent)
    return sent
  }

  #streakDeed(): StreakDeed {
    const random = this.#random
    const user = random.of([...this.#known])
    if (random.maybe(0.4)) return { do: 'pause', user, from: random.int(0, 1), days: random.int(0, 2) }
    return { do: random.of(['freeze', 'restore', 'reset', 'restore'] as const), user }
  }

  #daysOff(): number[] {
    return [0, 1, 2, 3, 4, 5].filter(() => this.#random.maybe(0.3))
  }

  /** The actions of some users in a row, and the tenant's switch. It is on at the end. */
  #lives(step: number): LifeDeed[] {
    const random = this.#random
    const isLast = step === this.#size.steps - 1
    const turns = random.maybe(this.#isOn ? 0.2 : 0.6) || (isLast && !this.#isOn)
    if (turns) this.#isOn = !this.#isOn
    const turn = (enabled: boolean): LifeDeed => ({ do: 'streaks', enabled, daysOff: this.#daysOff() })
    const switched = turns || random.maybe(0.2) ? [turn(this.#isOn)] : []
    const inBetween = random.maybe(0.2) && this.#isOn
    const toggled: LifeDeed[] = inBetween ? [turn(false), ...this.#life(step), turn(true)] : []
    const own = random.list(random.int(1, this.#size.lives), () => this.#life(step)).flat()
    return [...switched, ...toggled, ...own]
  }

  /**
   * A user switches the streak off and on, travels and comes back, and changes the profile, all at one
   * moment.
   */
  #life(step: number): LifeDeed[] {
    const random = this.#random
    const user = random.of([...this.#known])
    const isolate = this.#isolate()
    const home = this.#zoneOf(user)
    const perhaps = (): LifeDeed[] => {
      const sent = { ...this.#sent(step, 'life', user), tz: null, copies: 1 }
      return random.maybe(0.5) ? [{ do: 'event', sent }] : []
    }
    const turn = (enabled: boolean): LifeDeed => ({ do: 'switch', user, enabled, isolate })
    const goTo = (tz: string): LifeDeed[] => (this.#moves ? [{ do: 'zone', user, tz, isolate }] : [])
    const field: LifeDeed = {
      ...{ do: 'field', user, field: random.of(FIELDS), nth: random.int(0, 2), isolate },
    }
    const daysOff = random.maybe(0.2) ? null : this.#daysOff()
    const kinds = ['switch', 'switch', 'journey', 'journey', 'off', 'on', 'field', 'days off'] as const
    const kind = random.of(kinds)
    switch (kind) {
      case 'switch':
        return [...perhaps(), turn(false), ...perhaps(), turn(true), ...perhaps()]
      case 'journey':
        return [...goTo(random.of(ZONES)), ...perhaps(), field, ...goTo(home), ...perhaps()]
      case 'off':
      case 'on':
        return [...perhaps(), turn(kind === 'on'), ...perhaps()]
      case 'field':
        return [field, ...perhaps()]
      case 'days off':
        return [{ do: kind, user, daysOff, isolate }, ...perhaps()]
    }
  }

  #configurationChange(): ConfigurationChange {
    const random = this.#random
    const what = random.of(['toggle', 'toggle', 'cap', 'boost', 'open board', 'open achievement', 'rename'])
    if (what === 'cap') return { do: what, max: random.int(100, 900) }
    if (what === 'boost')
      return { do: what, user: random.of([...this.#known]), percent: random.int(110, 300) }
    if (what === 'toggle' || what === 'open board' || what === 'open achievement') return { do: what }
    return { do: 'rename' }
  }

  #read(): string {
    const random = this.#random
    const user = random.of([...this.#known])
    return random.of([
      '/leaderboards/daily?limit=10',
      '/leaderboards/streak?limit=10',
      `/users/${user}`,
      `/users/${user}/points/xp?awards=5`,
      `/users/${user}/streak`,
      `/users/${user}/metrics`,
      `/users/${user}/achievements`,
      '/points/xp/summary',
      '/streaks/rankings?limit=10',
    ])
  }

  #disturbance(): Disturbance {
    const random = this.#random
    const what = random.of([
      ...(['evict', 'evict', 'kill', 'kill', 'kill'] as const),
      ...(['alarm', 'cron', 'redeliver', 'lose keys', 'recycle', 'recycle'] as const),
    ])
    if (what === 'recycle') return { do: what, which: random.int(0, ISOLATES - 1) }
    if (what !== 'evict' && what !== 'kill') return { do: what }
    return {
      do: what,
      what: random.of(['board', 'timekeeper', 'delivery'] as const),
      which: random.int(0, 9),
    }
  }
}
