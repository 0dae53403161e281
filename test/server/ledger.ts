/**
 * What clients have sent to a server, what became of it as far as they know, and what that must have come to: counted anew by the rules of
 * the configuration below, with nothing of the service's own code.
 */

/** What is configured: figures that the recount and the set-up share. */
export const RULES = {
  creation: 3,
  /** Points for each so many lessons. */
  lessons: { threshold: 5, points: 2 },
  /** Points for each extension to a multiple of a length. */
  streak: { length: 2, points: 7 },
  profile: 10,
  /** Points from which on a level is had. */
  levels: [1, 15, 30, 45, 60, 90],
  much: 40,
  days: 3,
} as const

export type Metric = 'lessons' | 'minutes'

/** One event that was sent, alone or in a batch; its value is in tenths, so that sums are exact. */
export type Entry = {
  /** Its own, which the service stores with it as an attribute. */
  ref: string
  user: string
  metric: Metric
  tenths: number
  key: string | null
  /** The batch that it was sent in. */
  batch: number | null
  /** The day on which it was sent, counted from the first. */
  day: number
  /** Whether a client was told that it counts, whether it was found or has come by a retry. */
  counted: boolean
  /** Whether the one 201 that there can be was given, or can't be given any more. */
  isTaken: boolean
  /** By the answer. */
  eventId?: string
}

/** What a client did to a user besides: it is done again until it is answered, on the same day. */
export type AchievementInput = { user: string; what: 'identify' | 'profile'; day: number; answered: boolean }

/** All of it. */
export type Ledger = { entries: Entry[]; deeds: AchievementInput[] }

/** What a user must have: sums in tenths, days counted from the first. */
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

/** What a user must have on a day, after all that the ledger says. */
export function recount({ entries, deeds }: Ledger, user: string, today: number): Expected {
  const mine = entries.filter((entry) => entry.counted && entry.user === user)
  const done = deeds.filter((deed) => deed.answered && deed.user === user)
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

/** A leaderboard as it must be: by score, then who reached it first, then id. */
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
 * Configures what the recount knows of, by a function that creates one thing at an admin path and answers its id; boards begin the day
 * before the first one, `noon` of which is given in milliseconds.
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
