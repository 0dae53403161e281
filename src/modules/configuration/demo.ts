import type { Scope } from '../../context'
import { bucketStart } from '../../shared/civil'
import type { Instant } from '../../shared/clock'
import { civilDateAt } from '../../shared/zone'
import { CreateAchievementsRequest } from '../achievements/achievements.admin.schemas'
import { createAchievements } from '../achievements/achievements.admin.service'
import { CreateLeaderboardsRequest } from '../leaderboards/leaderboards.admin.schemas'
import { createLeaderboards } from '../leaderboards/leaderboards.admin.service'
import { createMetrics } from '../metrics/metrics.service'
import { createSystems } from '../points/systems.service'
import { UpdateStreakSettingsRequest } from '../streaks/settings.schemas'
import { updateStreakSettings } from '../streaks/settings.service'
import type { Configuration } from './configuration'
import { configurationOf, presentConfiguration } from './configuration.service'

const METRICS: Parameters<typeof createMetrics>[1] = [
  { key: 'demo-lessons', name: 'Lessons completed', unitType: 'number', units: 'lessons' },
  { key: 'demo-minutes', name: 'Minutes learned', unitType: 'number', units: 'minutes' },
]

/** A day counts for a streak with a lesson or ten minutes; one freeze to begin with, and another one each week. */
const STREAKS = UpdateStreakSettingsRequest.parse({
  metrics: [
    { key: 'demo-lessons', threshold: 1 },
    { key: 'demo-minutes', threshold: 10 },
  ],
  freezes: { initial: 1, max: 2, autoEarnInterval: 7, autoEarnAmount: 1 },
})

/** The demo is made by five changes of the configuration, some of which refer to the one before. */
const CHANGES = 5

/** Whether the demo is still to be loaded: nothing was ever configured but a part of the demo itself. */
export function isDemoDue({ variables }: Pick<Scope, 'variables'>, config: Configuration): boolean {
  const { streaks } = config
  return (
    variables.DEMO === 'on' &&
    variables.MULTI_TENANCY === 'off' &&
    config.version < CHANGES &&
    config.attributes.length === 0 &&
    config.leaderboards.length === 0 &&
    config.webhooks.length === 0 &&
    (config.metrics.length > 0 || (streaks.metrics.length === 0 && streaks.freezes === null)) &&
    [...config.metrics, ...config.systems, ...config.achievements].every(({ key }) => key.startsWith('demo-'))
  )
}

/**
 * Loads the demo, a learning app: two metrics, a daily streak, XP with levels, energy, three achievements and two leaderboards. Takes up
 * where an earlier try broke off.
 */
export async function loadDemo(scope: Scope): Promise<void> {
  const config = await configurationOf(scope)
  if (!isDemoDue(scope, config)) return
  const at = async () => {
    const { version, metrics, systems } = await presentConfiguration(scope)
    const ids = new Map([...metrics, ...systems].map(({ key, id }) => [key, id]))
    return { ids, scope: { ...scope, tenant: { ...scope.tenant, configVersion: version } } }
  }
  if (config.metrics.length === 0) await createMetrics(scope, METRICS)
  if (config.streaks.freezes === null) await updateStreakSettings((await at()).scope, STREAKS)
  if (config.systems.length === 0) {
    const { ids, scope: present } = await at()
    await createSystems(present, systemsFor(ids.get('demo-lessons'), ids.get('demo-minutes')))
  }
  if (config.achievements.length === 0) {
    const { ids, scope: present } = await at()
    await createAchievements(present, achievementsFor(ids.get('demo-lessons')))
  }
  const { ids, scope: present } = await at()
  await createLeaderboards(present, leaderboardsFor(ids, scope.now))
}

const systemsFor = (
  lessons: string | undefined,
  minutes: string | undefined,
): Parameters<typeof createSystems>[1] => [
  {
    key: 'demo-xp',
    name: 'XP',
    description: 'Experience: 10 points a lesson, 5 more for every 10 minutes, 50 for each week of a streak.',
    levels: [
      { key: 'novice', name: 'Novice', points: 0 },
      { key: 'apprentice', name: 'Apprentice', points: 50 },
      { key: 'scholar', name: 'Scholar', points: 200 },
      { key: 'master', name: 'Master', points: 1_000 },
    ].map((level) => ({ ...level, description: undefined, badge: undefined })),
    triggers: [
      earn(lessons, 1, 10),
      earn(minutes, 10, 5),
      { ...NO_TRIGGER, type: 'streak', streakLength: 7, points: 50 },
    ],
    boosts: undefined,
  },
  {
    key: 'demo-energy',
    name: 'Energy',
    description: 'One point an hour, up to 30; a lesson takes five.',
    maxPoints: 30,
    triggers: [
      { ...NO_TRIGGER, type: 'time', points: 1, timeUnit: 'hours', timeInterval: 1 },
      earn(lessons, 1, -5),
    ],
    levels: undefined,
    boosts: undefined,
  },
]

/** One by a metric, one by the streak, and one that the product itself completes. */
const achievementsFor = (lessons: string | undefined) =>
  CreateAchievementsRequest.parse([
    {
      key: 'demo-first-lesson',
      name: 'First lesson',
      trigger: 'metric',
      metricId: lessons,
      metricValue: 1,
      status: 'active',
    },
    { key: 'demo-on-fire', name: 'On fire: a week', trigger: 'streak', streakLength: 7, status: 'active' },
    { key: 'demo-profile', name: 'Profile complete', trigger: 'api', status: 'active' },
  ])

/** A board of this week's XP, which begins anew each Monday, and one of all lessons ever. */
const leaderboardsFor = (ids: ReadonlyMap<string, string>, now: Instant) =>
  CreateLeaderboardsRequest.parse([
    {
      key: 'demo-weekly-xp',
      name: 'XP this week',
      rankBy: 'points',
      pointsSystemId: ids.get('demo-xp'),
      start: bucketStart(civilDateAt(now, 0), 'weekly'),
      runUnit: 'day',
      runInterval: 7,
      status: 'active',
    },
    {
      key: 'demo-all-time',
      name: 'Lessons of all time',
      rankBy: 'metric',
      metricId: ids.get('demo-lessons'),
      status: 'active',
    },
  ])

const NO_TRIGGER = {
  status: 'active',
  metricId: undefined,
  metricThreshold: undefined,
  achievementId: undefined,
  streakLength: undefined,
  timeUnit: undefined,
  timeInterval: undefined,
  blockIfOutOfPoints: false,
} as const

/** A trigger that awards points each time the metric passes another `metricThreshold`. */
const earn = (metricId: string | undefined, metricThreshold: number, points: number) =>
  ({ ...NO_TRIGGER, type: 'metric', metricId, metricThreshold, points }) as const
