import { env } from 'cloudflare:workers'
import type { Step } from '../helpers/receiver'
import { TODAY } from '../helpers/time'
import { at, databases, spread } from '../helpers/worker/harness'
import { Hook } from '../helpers/worker/receiver'
import { offsetAt } from '../oracle/calendar.oracle'
import { Client } from './client'
import { chaos } from './faults'
import type { Plan } from './plan'
import { ISOLATES, KEYED } from './plan'
import { chance } from './random'

/** A tenant with all features, all switched on. */
export type World = {
  tenantId: string
  client: Client
  /** The time of the clock when the configuration was complete, in milliseconds. */
  began: number
  /** Ids by the names that the plan uses. */
  ids: Readonly<Record<string, string>>
  /** Webhooks: one gets messages about the configured things, and one has a destination that fails often. */
  hooks: readonly { id: string; hook: Hook }[]
  /** The destination of emails and push messages. */
  mail: Hook
}

const DAY = 86_400_000

/** The points of the levels, in order, of the system that only increases. */
export const LEVELS: readonly number[] = [60, 100, 200]

/**
 * The day before the next clock change of a zone, at least a week ahead. The clock may be moved up to 400
 * days ahead.
 */
function dayBeforeChange(zone: string): number {
  const from = (TODAY + 7) * DAY
  for (let day = from; ; day += DAY) {
    if (offsetAt(zone, day) !== offsetAt(zone, day + DAY)) return day - DAY
  }
}

/** The beginning of a plan: a day later, all clocks of the zones that it names change. */
export const beginningOf = ({ zone, minute }: Plan): number => dayBeforeChange(zone) + minute * 60_000

/**
 * The responses of a webhook's destination. The first destination fails now and then, the second mostly,
 * until the test repairs both at the end.
 */
function answersOf({ seed, size }: Plan, nth: number): Step[] {
  const count = size.tellsAll ? [1_500, 80] : [2_000, 150]
  return Array.from({ length: count[nth] ?? 0 }, (_, index) => {
    const draw = chance(seed, 'answer', nth, index)
    if (draw < (nth === 0 ? 0.8 : 0.15)) return {}
    return draw < 0.997 ? { status: 500 } : { drop: true }
  })
}

/** Configures the tenant of a plan, without faults. `mail` is the destination of the providers. */
export async function build(plan: Plan, mail: Hook): Promise<World> {
  const tenantId = crypto.randomUUID()
  chaos.tenantId = tenantId
  await env.DB.prepare(
    'INSERT INTO tenants (id, customer_id, name, created, updated) VALUES (?1, ?2, ?2, 0, 0)',
  )
    .bind(tenantId, `customer-${tenantId}`)
    .run()
  if (databases().length > 1) await spread(tenantId)
  const client = new Client(tenantId, ISOLATES)
  const began = beginningOf(plan)
  await client.sure('PUT', '/admin/v1/test-clock', { now: new Date(began).toISOString() })

  const ids: Record<string, string> = {}
  const create = async (name: string, path: string, item: object) => {
    const body = await client.sure('POST', `/admin/v1${path}`, [item])
    const id = at(body, 'created', 0, 'id')
    if (typeof id !== 'string') throw new Error(`${name}: ${JSON.stringify(body)}`)
    ids[name] = id
    return id
  }

  const metric = (key: string) => create(key, '/metrics', { key, name: key })
  const [steps, words, spend] = [await metric('steps'), await metric('words'), await metric('spend')]
  const attribute = (key: string, type: string) => create(key, '/attributes', { key, name: key, type })
  const team = await attribute('team', 'user')
  await attribute('mark', 'event')
  const kind = await attribute('kind', 'event')
  const { freezes } = plan
  await client.sure('PATCH', '/admin/v1/streaks/settings', {
    customizationEnabled: true,
    freezes: {
      ...{ startCount: freezes.startCount, maxCount: freezes.maxCount },
      ...{ autoEarnInterval: freezes.interval, autoEarnAmount: freezes.interval && freezes.amount },
    },
  })

  await client.sure('PATCH', '/admin/v1/settings', {
    branding: { appName: '<App>' },
    experimentation: { userActivationWindow: 3 + (plan.seed % 28) },
    aggregationPeriod: plan.seed % 3 === 0 ? 'monthly' : 'weekly',
  })

  const hooks: World['hooks'][number][] = []
  // Three worlds of four leave out changes of single ranks, because nearly every user has one in each quarter
  // of an hour.
  const common = [
    ...['achievement.completed', 'leaderboard.changed', 'leaderboard.finished', 'leaderboard.started'],
    ...['points.changed', 'points.level_changed', 'points.boost_started', 'points.boost_finished'],
    ...['streak.started', 'streak.extended', 'streak.lost', 'streak.freeze_consumed', 'streak.freeze_earned'],
    ...[
      'emails.achievement_due',
      'emails.recap_due',
      'emails.streak_reminder_due',
      'emails.reactivation_due',
    ],
  ]
  const most = plan.seed % 4 === 0 ? ['*'] : common
  const rare = ['streak.lost', 'achievement.completed', 'leaderboard.finished', 'leaderboard.changed']
  const second = plan.size.tellsAll ? ['achievement.completed', 'streak.started'] : ['streak.lost']
  for (const events of [plan.size.tellsAll ? most : rare, second]) {
    const hook = new Hook()
    await hook.plan(...answersOf(plan, hooks.length))
    hooks.push({ id: await create(`hook ${hooks.length}`, '/webhooks', { url: hook.url, events }), hook })
  }

  const red = [{ attributeId: team, attributeValue: 'red' }]
  const active = { status: 'active' }
  const achievement = (key: string, item: object) =>
    create(key, '/achievements', { key, name: key, ...active, ...item })
  const far = await achievement('far', { trigger: 'metric', metricId: steps, metricValue: 20 })
  const hello = await achievement('hello', { trigger: 'api' })
  await achievement('loyal', { trigger: 'streak', streakLength: 2 })
  await achievement('both', { trigger: 'achievement', achievementIds: [far, hello] })
  await achievement('kinds', {
    ...{ trigger: 'metric', metricId: words, metricValue: 10 },
    eventAttributes: [{ attributeId: kind, attributeValue: 'a' }],
  })
  // It gives no points: those of a silent completion come without messages (A4).
  await achievement('year', { trigger: 'anniversary', anniversaryYears: 1 })
  await achievement('later', { trigger: 'metric', metricId: words, metricValue: 15, status: 'inactive' })

  // One system that only its triggers change, and one with all features that modify points.
  const xp = await create('xp', '/points', { key: 'xp', name: 'XP' })
  const trigger = (system: string, name: string, item: object) =>
    create(name, `/points/${system}/triggers`, { ...active, ...item })
  const by = (metricId: string, metricThreshold: number, points: number) => ({
    ...{ type: 'metric', metricId, metricThreshold, points },
  })
  await trigger(xp, 'xp steps', by(steps, 10, 5))
  await trigger(xp, 'xp words', by(words, 3, 2))
  await trigger(xp, 'xp welcome', { type: 'user_creation', points: 50 })
  await trigger(xp, 'xp hours', { type: 'time', timeUnit: 'hours', timeInterval: 6, points: 1 })
  await trigger(xp, 'xp hello', { type: 'achievement', achievementId: hello, points: 30 })
  await trigger(xp, 'xp loyal', { type: 'streak', streakLength: 2, points: 20 })
  for (const points of LEVELS) {
    await create(`level ${points}`, `/points/${xp}/levels`, { key: `l${points}`, name: `L${points}`, points })
  }
  const gems = await create('gems', '/points', { key: 'gems', name: 'Gems', maxPoints: 400 })
  await trigger(gems, 'gems words', by(words, 5, 10))
  await trigger(gems, 'gems spend', { ...by(spend, 1, -3), blockIfOutOfPoints: true })
  await trigger(gems, 'gems toggle', by(steps, 4, 3))
  await trigger(gems, 'gems hours', {
    ...{ type: 'time', timeUnit: 'hours', timeInterval: 7, points: 4, userAttributes: red },
  })
  const boost = { name: 'all', start: new Date(began - 2 * DAY).toISOString().slice(0, 10), multiplier: 1.5 }
  await create('boost', `/points/${gems}/boosts`, boost)
  await create('boost red', `/points/${gems}/boosts`, { ...boost, name: 'red', userAttributes: red })

  const board = (key: string, item: object) =>
    create(`board ${key}`, '/leaderboards', { key, name: key, ...active, ...item })
  const daily = { runUnit: 'day', runInterval: 1 }
  const ofSteps = { rankBy: 'metric', metricId: steps }
  await board('daily', { ...ofSteps, ...daily, maxParticipants: plan.size.tellsAll ? 10 : 1_000 })
  // Each active leaderboard gets an hourly check, so a small world has only one of the two kinds.
  const has = (nth: number) => !plan.size.tellsAll || plan.seed % 2 === nth
  if (has(0))
    await board('teams', {
      ...{ rankBy: 'metric', metricId: words, breakdownAttributes: [team] },
      ...{ startTime: '20:00', endTime: '12:00' },
    })
  if (has(1)) {
    await board('xp', { rankBy: 'points', pointsSystemId: xp, ...daily })
    await board('reds', { rankBy: 'metric', metricId: words, userAttributes: red })
  }
  await board('streak', { rankBy: 'streak' })
  await board('later', { rankBy: 'metric', metricId: words, status: 'inactive' })

  const template = (type: string, channel: string) =>
    create(`template ${type}`, '/notifications/templates', {
      ...{ type, channel, ...active, body: '{{ branding.appName }}: well done, {{ user.id }}' },
      ...(channel === 'email' ? { subject: 'Hello' } : { title: 'Hello' }),
    })
  await template('achievement_completed', 'email')
  await template('streak_reminder', 'push')
  await template('recap', 'email')
  const made = await client.sure(
    'POST',
    '/admin/v1/application-api-keys',
    plan.users.slice(0, KEYED).map((userId) => ({ userId })),
  )
  for (const [n, user] of plan.users.slice(0, KEYED).entries())
    client.keys.set(user, String(at(made, 'created', n, 'key')))
  const admin = await client.sure('POST', '/admin/v1/admin-api-keys', [{ name: 'Simulation' }])
  client.adminKey = String(at(admin, 'created', 0, 'key'))
  return { tenantId, client, began, ids, hooks, mail }
}
