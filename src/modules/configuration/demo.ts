import type { Scope } from '../../context'
import { createMetrics } from '../metrics/metrics.service'
import { createSystems } from '../points/systems.service'
import type { Configuration } from './configuration'
import { configurationOf } from './configuration.service'

const METRICS: Parameters<typeof createMetrics>[1] = [
  { key: 'demo-lessons', name: 'Lessons completed', unitType: 'number', units: 'lessons' },
  { key: 'demo-minutes', name: 'Minutes learned', unitType: 'number', units: 'minutes' },
]

/** The demo is made by two changes of the configuration: the metrics, and then what refers to them. */
const CHANGES = 2

/** Whether the demo is still to be loaded: nothing was ever configured but a part of the demo itself. */
export function isDemoDue({ variables }: Pick<Scope, 'variables'>, config: Configuration): boolean {
  return (
    variables.DEMO === 'on' &&
    variables.MULTI_TENANCY === 'off' &&
    config.version < CHANGES &&
    config.systems.length === 0 &&
    config.attributes.length === 0 &&
    config.metrics.every(({ key }) => METRICS.some((metric) => metric.key === key))
  )
}

/** Loads the demo, a learning app: two metrics, XP with levels, and energy. Takes up where an earlier try broke off. */
export async function loadDemo(scope: Scope): Promise<void> {
  const config = await configurationOf(scope)
  if (!isDemoDue(scope, config)) return
  if (config.metrics.length === 0) await createMetrics(scope, METRICS)
  const { metrics } = await configurationOf({
    ...scope,
    tenant: { ...scope.tenant, configVersion: CHANGES - 1 },
  })
  const [lessons, minutes] = METRICS.map(({ key }) => metrics.find((metric) => metric.key === key)?.id)
  await createSystems(scope, [
    {
      key: 'demo-xp',
      name: 'XP',
      description: 'Experience: 10 points a lesson, 5 more for every 10 minutes.',
      levels: [
        { key: 'novice', name: 'Novice', points: 0 },
        { key: 'apprentice', name: 'Apprentice', points: 50 },
        { key: 'scholar', name: 'Scholar', points: 200 },
        { key: 'master', name: 'Master', points: 1_000 },
      ].map((level) => ({ ...level, description: undefined, badge: undefined })),
      triggers: [earn(lessons, 1, 10), earn(minutes, 10, 5)],
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
  ])
}

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
