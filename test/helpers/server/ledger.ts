/**
 * The changes that clients have sent to a server, their known outcomes, and the state that must result. The
 * state is counted from the rules of the configuration below, without any code of the service.
 */

/** The configuration. The recount and the set-up share these numbers. */
export const RULES = {
  creation: 3,
  /** Points for every `threshold` lessons. */
  lessons: { threshold: 5, points: 2 },
  /** Points for each extension to a multiple of `length`. */
  streak: { length: 2, points: 7 },
  profile: 10,
  /** The points from which a user has each level. */
  levels: [1, 15, 30, 45, 60, 90],
  much: 40,
  days: 3,
} as const

export type Metric = 'lessons' | 'minutes'

/** One sent event, alone or in a batch. Its value is in tenths, so sums are exact. */
export type Entry = {
  /** The event's own reference. The service stores it as an attribute. */
  ref: string
  user: string
  metric: Metric
  tenths: number
  key: string | null
  /** The number of its batch. Null if it was sent alone. */
  batch: number | null
  /** The day on which it was sent, counted from the first day. */
  day: number
  /** True if a client knows that it counts: by a response, by reading the state, or by a retry. */
  counted: boolean
  /** True if the only possible 201 was returned, or can no longer be returned. */
  isTaken: boolean
  /** From the response. */
  eventId?: string
}

/** Another change of a user. It is repeated on the same day until there is a response. */
export type ProfileChange = { user: string; what: 'identify' | 'profile'; day: number; answered: boolean }

/** All sent changes. */
export type Ledger = { entries: Entry[]; profileChanges: ProfileChange[] }

/** The expected state of a user: sums in tenths, days counted from the first day. */
export type Expected = {
  lessons: number
  minutes: number
  byDay: { lessons: number; minutes: number }[]
  xp: number
  level: string | null
  streak: number
  achievements: string[]
  refs: string[]
  /** The days on which the scores last changed. */
  changed: { lessons: number; xp: number; streak: number }
}

/** The expected state of a user on a day, after all changes in the ledger. */
export function recount({ entries, profileChanges }: Ledger, user: string, today: number): Expected {
  const mine = entries.filter((entry) => entry.counted && entry.user === user)
  const done = profileChanges.filter((change) => change.answered && change.user === user)
  const days = Array.from({ length: today + 1 }, (_, day) => day)
  const sumOn = (day: number, metric: Metric) =>
    mine
      .filter((entry) => entry.day === day && entry.metric === metric)
      .reduce((sum, { tenths }) => sum + tenths, 0)
  const byDay = days.map((day) => ({ lessons: sumOn(day, 'lessons'), minutes: sumOn(day, 'minutes') }))
  const created = Math.min(...[...mine, ...done].map(({ day }) => day))
  const profile = done.filter(({ what }) => what === 'profile').map(({ day }) => day)

  let [lessons, xp, streak, longest] = [0, 0, 0, 0]
  const changed = { lessons: -1, xp: -1, streak: -1 }
  for (const day of days) {
    let earned = day === created ? RULES.creation : 0
    if (day === Math.min(...profile)) earned += RULES.profile
    const more = lessons + (byDay[day]?.lessons ?? 0)
    const step = RULES.lessons.threshold * 10
    earned += RULES.lessons.points * (Math.floor(more / step) - Math.floor(lessons / step))
    if (more !== lessons) changed.lessons = day
    lessons = more
    if (mine.some((entry) => entry.day === day && entry.tenths > 0)) {
      streak += 1
      longest = Math.max(longest, streak)
      changed.streak = day
      if (streak % RULES.streak.length === 0) earned += RULES.streak.points
    } else if (day < today) streak = 0
    if (earned > 0) changed.xp = day
    xp += earned
  }
  const level = RULES.levels.findLast((points) => points <= xp)
  const first = lessons >= 10
  return {
    lessons,
    minutes: byDay.reduce((sum, { minutes }) => sum + minutes, 0),
    byDay,
    xp,
    level: level === undefined ? null : `l${level}`,
    streak,
    achievements: [
      ...(first && profile.length > 0 ? ['both'] : []),
      ...(longest >= RULES.days ? ['days'] : []),
      ...(first ? ['first'] : []),
      ...(lessons >= RULES.much * 10 ? ['much'] : []),
      ...(profile.length > 0 ? ['profile'] : []),
    ],
    refs: mine.map(({ ref }) => ref).toSorted(),
    changed,
  }
}

/** The expected leaderboard: by score, then by the time at which it was reached, then by id. */
export function ranking(
  users: ReadonlyMap<string, Expected>,
  by: 'lessons' | 'xp' | 'streak',
): [user: string, value: number][] {
  return [...users]
    .filter(([, expected]) => expected[by] > 0)
    .toSorted(
      ([a, one], [b, other]) =>
        other[by] - one[by] || one.changed[by] - other.changed[by] || (a < b ? -1 : 1),
    )
    .map(([id, expected]) => [id, by === 'lessons' ? Math.floor(expected[by] / 10) : expected[by]])
}

/**
 * Creates the configuration of the recount. `create` creates one thing at an admin path and returns its id.
 * Leaderboards begin the day before the first day. `noon` is the noon of the first day, in milliseconds.
 */
export async function configure(
  create: (path: string, item: object) => Promise<string>,
  noon: number,
): Promise<void> {
  await create('/attributes', { key: 'ref', name: 'Reference', type: 'event' })
  const lessons = await create('/metrics', { key: 'lessons', name: 'Lessons' })
  await create('/metrics', { key: 'minutes', name: 'Minutes' })
  const achievement = (key: string, more: object) =>
    create('/achievements', { key, name: key, status: 'active', ...more })
  const first = await achievement('first', { trigger: 'metric', metricId: lessons, metricValue: 1 })
  const profile = await achievement('profile', { trigger: 'api' })
  await achievement('much', { trigger: 'metric', metricId: lessons, metricValue: RULES.much })
  await achievement('days', { trigger: 'streak', streakLength: RULES.days })
  await achievement('both', { trigger: 'achievement', achievementIds: [first, profile] })
  const { threshold: metricThreshold, points } = RULES.lessons
  const xp = await create('/points', {
    key: 'xp',
    name: 'XP',
    levels: RULES.levels.map((from) => ({ key: `l${from}`, name: `From ${from}`, points: from })),
    triggers: [
      { type: 'user_creation', points: RULES.creation },
      { type: 'metric', metricId: lessons, metricThreshold, points },
      { type: 'streak', streakLength: RULES.streak.length, points: RULES.streak.points },
      { type: 'achievement', achievementId: profile, points: RULES.profile },
    ].map((trigger) => ({ ...trigger, status: 'active' })),
  })
  const board = { status: 'active', start: new Date(noon - 86_400_000).toISOString().slice(0, 10) }
  for (const rank of [
    { key: 'lessons', rankBy: 'metric', metricId: lessons },
    { key: 'xp', rankBy: 'points', pointsSystemId: xp },
    { key: 'streak', rankBy: 'streak' },
  ])
    await create('/leaderboards', { ...board, name: rank.key, ...rank })
}
