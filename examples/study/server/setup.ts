/** Makes what the app needs in Laurel. It can run again and again: it leaves alone what is there. */
import { LAUREL_URL, laurel } from './laurel.ts'

const METRIC = 'study-lessons'
const XP = 'study-xp'

interface Collection<Item> {
  list(): { toArray(): Promise<{ key: string | null }[]> }
  create(items: Item[]): PromiseLike<{ issues: { message: string }[] }>
}

/** Creates the items whose keys do not exist yet. */
async function ensure<Item extends { key?: string | null }>(collection: Collection<Item>, items: Item[]) {
  const existing = new Set((await collection.list().toArray()).map(({ key }) => key))
  const missing = items.filter(({ key }) => !existing.has(key ?? null))
  if (missing.length === 0) return
  const { issues } = await collection.create(missing)
  if (issues.length > 0) throw new Error(issues.map(({ message }) => message).join('\n'))
}

async function setUp() {
  const { admin } = laurel
  await ensure(admin.metrics, [{ key: METRIC, name: 'Lessons', units: 'lessons' }])
  await ensure(admin.attributes, [
    { key: 'study-lesson', name: 'Lesson', type: 'event' },
    { key: 'study-flawless', name: 'Without a mistake', type: 'event' },
  ])

  const flawless = [{ attributeKey: 'study-flawless', attributeValue: 'yes' }]
  const perLesson = { type: 'metric', metricKey: METRIC, metricThreshold: 1, status: 'active' } as const
  await ensure(admin.points, [
    {
      key: XP,
      name: 'XP',
      levels: [
        { key: 'cadet', name: 'Cadet', points: 0 },
        { key: 'observer', name: 'Observer', points: 30 },
        { key: 'navigator', name: 'Navigator', points: 100 },
        { key: 'astronomer', name: 'Astronomer', points: 250 },
        { key: 'cosmologist', name: 'Cosmologist', points: 600 },
      ],
      triggers: [
        { ...perLesson, key: 'lesson', points: 10 },
        { ...perLesson, key: 'flawless-lesson', points: 5, eventAttributes: flawless },
        { type: 'streak', streakLength: 7, points: 50, status: 'active' },
      ],
    },
  ])

  const byLessons = { trigger: 'metric', metricKey: METRIC, status: 'active' } as const
  const byStreak = { trigger: 'streak', status: 'active' } as const
  const achievements = [
    {
      ...byLessons,
      key: 'study-first-light',
      name: 'First light',
      description: 'Finish a lesson',
      metricValue: 1,
    },
    {
      ...byLessons,
      key: 'study-flawless',
      name: 'Clear sky',
      description: 'Finish a lesson without a mistake',
      metricValue: 1,
      eventAttributes: flawless,
    },
    {
      ...byLessons,
      key: 'study-ten',
      name: 'Bright mind',
      description: 'Finish ten lessons',
      metricValue: 10,
    },
    {
      ...byStreak,
      key: 'study-three-days',
      name: 'In orbit',
      description: 'Learn on three days in a row',
      streakLength: 3,
    },
    {
      ...byStreak,
      key: 'study-week',
      name: 'Full moon',
      description: 'Learn for a whole week',
      streakLength: 7,
    },
  ]
  await ensure(admin.achievements, achievements)
  // After the others, since it needs them.
  await ensure(admin.achievements, [
    {
      key: 'study-all',
      name: 'Constellation',
      description: 'Complete all others',
      trigger: 'achievement',
      achievementKeys: achievements.map(({ key }) => key),
      status: 'active',
    },
  ])

  // From a Monday on, so each week begins on Monday, at the midnight of each user.
  await ensure(admin.leaderboards, [
    {
      key: 'study-week',
      name: 'XP this week',
      rankBy: 'points',
      pointsSystemKey: XP,
      start: '2026-01-05',
      runUnit: 'day',
      runInterval: 7,
      status: 'active',
    },
  ])

  // The settings of streaks are for all of Laurel, so those of other apps stay: this adds the lessons to them.
  const { metrics, freezes } = await admin.streaks.settings.get()
  const countsAnyway = metrics.length === 0 || metrics.some(({ key }) => key === METRIC)
  await admin.streaks.settings.update({
    metrics: countsAnyway ? metrics : [...metrics, { key: METRIC, threshold: 1 }],
    freezes: freezes ?? { startCount: 1, maxCount: 2, autoEarnInterval: 7, autoEarnAmount: 1 },
  })
}

try {
  await setUp()
  console.log(`Laurel at ${LAUREL_URL} has all that the app needs.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
