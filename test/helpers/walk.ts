/**
 * A walk through every operation of both interfaces: the data that it creates in a tenant, and a call of each
 * operation. If you add an operation to src/worker/operations.ts, add it here too. Otherwise the tests that
 * use the walk fail. Those of resources that refer to no other thing are made from `worker/kinds.ts`.
 */
import * as z from 'zod'
import type { OperationSpec } from '../../src/api/endpoint'
import { adminOperations, applicationOperations } from '../../src/worker/operations'
import { KINDS } from './worker/kinds'

/** All operations, in the order of the documents. */
export const operations: readonly OperationSpec[] = [...applicationOperations, ...adminOperations]

/** The input of an operation, with its path parameters. */
export type Call = {
  params?: Record<string, string>
  query?: Record<string, string | string[]>
  headers?: Record<string, string>
  body?: unknown
}

/** A response, with its body parsed as JSON. */
export type Told = { status: number; headers: Headers; body: unknown }

/** Sends a request in a tenant: the method, the path from its first slash, headers and body. */
type Headed = Record<string, string>
export type Ask = (method: string, path: string, headers: Headed, body: unknown) => Promise<Told>

/** The walk's name of something that has an internal id. Names that begin with `spare` are for deletion. */
type IdName = string
/** Ids by name. */
export type Ids = (name: IdName) => string

/**
 * One tenant of the walk. Keys and user ids are the same in each tenant. Mark and factor make everything else
 * different.
 */
export type World = {
  ask: Ask
  ids: Ids
  /** Part of every text. */
  mark: string
  /** Every number is a multiple of it. */
  factor: number
  /** The local date some days after the world began. */
  day: (days: number) => string
}

/* Requests */

/** The bases under which an operation is served. The document shows the first one (G1). */
export const basesOf = ({ surface }: OperationSpec): readonly [string, ...string[]] =>
  surface === 'admin' ? ['/admin/v1'] : ['/v1', '/api']

export function pathOf(spec: OperationSpec, { params = {}, query = {} }: Call): string {
  const path = spec.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] ?? ''))
  const entries = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, one]),
  )
  const search = new URLSearchParams(entries).toString()
  return `${basesOf(spec)[0]}${path}${search && `?${search}`}`
}

export function send(spec: OperationSpec, call: Call, ask: Ask): Promise<Told> {
  return ask(spec.method.toUpperCase(), pathOf(spec, call), call.headers ?? {}, call.body)
}

/** The operation with an id. Throws if there is none. */
export function specOf(id: string): OperationSpec {
  const spec = operations.find((one) => one.id === id)
  if (spec === undefined) throw new Error(`there is no operation ${id}`)
  return spec
}

/** The problem of a response that should be a success without issues. Null if there is none. */
export function fault(spec: OperationSpec, { status, body }: Told): string | null {
  const { success, data } = z.object({ issues: z.array(z.unknown()) }).safeParse(body)
  const isAnswer = Object.keys(spec.responses).includes(String(status))
  return isAnswer && !(success && data.issues.length > 0)
    ? null
    : `${spec.id}: ${status} ${JSON.stringify(body)}`
}

async function done(ask: Ask, id: string, call: Call): Promise<Told> {
  const spec = specOf(id)
  const told = await send(spec, call, ask)
  const wrong = fault(spec, told)
  if (wrong !== null) throw new Error(wrong)
  return told
}

/* The world */

const Id = z.object({ id: z.string() })
const Many = z.array(Id)
const Created = z.object({ created: Many })
const System = Id.extend({ levels: Many, triggers: Many, boosts: Many })
const CreatedSystems = z.object({ created: z.array(System) })
const Awards = z.object({ awards: z.tuple([Id], z.unknown()) })

/** A destination for webhooks on this machine. Nothing listens there, so a walk calls no other machine. */
const NOWHERE = 'http://127.0.0.1:9'

/** The users of a world, each with the words of the first day's event. */
const USERS = { ada: 3, bob: 2, cleo: 1, dora: 4 } as const

const person = (mark: string, id: string) => ({
  ...{ name: `${mark} ${id}`, email: `${id}@${mark}.example`, attributes: { plan: 'pro' } },
})

/** The kinds of things that refer to no other thing, with their names in the walk. */
const ALONE = Object.entries(KINDS).flatMap(([name, kind]) => (kind.isAlone ? [{ name, ...kind }] : []))

/** The walk's name of something for deletion. */
const spareOf = (name: IdName) => `spare${name[0]?.toUpperCase()}${name.slice(1)}`

/** Creates a world on the day on which it begins. */
export async function settle(world: Omit<World, 'ids'>): Promise<World> {
  const { ask, mark, factor, day } = world
  const ids = new Map<IdName, string>()
  const create = async (names: IdName[], id: string, body: unknown[], params: Headed = {}) => {
    const { created } = Created.parse((await done(ask, id, { params, body })).body)
    for (const [index, name] of names.entries()) ids.set(name, created[index]?.id ?? '')
  }
  const of = (name: IdName): string => {
    const id = ids.get(name)
    if (id === undefined) throw new Error(`the world has nothing with the name ${name}`)
    return id
  }

  const own: Record<string, object> = { attribute: { key: 'plan' }, metric: { key: 'words', units: mark } }
  for (const { name, operations, least } of ALONE)
    await create([name, spareOf(name)], `${operations}_create`, [
      { ...least('main'), name: `${mark} ${name}`, ...own[name] },
      { ...least('spare'), name: `${mark} spare` },
    ])
  await create(['eventAttribute'], 'admin_attributes_create', [
    { key: 'device', name: `${mark} device`, type: 'event' },
  ])
  await create(['minutes'], 'admin_metrics_create', [{ key: 'minutes', name: `${mark} minutes` }])
  await create(['achievement', 'profile', 'spareAchievement'], 'admin_achievements_create', [
    {
      ...{ key: 'writer', name: `${mark} writer`, status: 'active' },
      ...{ trigger: 'metric', metricId: of('metric'), metricValue: factor },
    },
    { key: 'profile', name: `${mark} profile`, status: 'active', trigger: 'api' },
    { key: 'spare', name: `${mark} spare`, trigger: 'api' },
  ])
  const levels = [
    { key: 'one', name: `${mark} one`, points: factor },
    { key: 'spare', name: `${mark} spare`, points: 99 * factor },
  ]
  const words = { metricId: of('metric'), metricThreshold: factor }
  const triggers = [
    { type: 'metric', points: factor, status: 'active', ...words },
    { type: 'user_creation', points: 2 * factor, status: 'active' },
    { type: 'time', points: 5 * factor, status: 'active', timeUnit: 'hours', timeInterval: 12 },
    { type: 'streak', points: 7 * factor, status: 'active', streakLength: 2 },
    { type: 'user_creation', points: 3 * factor },
  ]
  const boosts = [
    { name: `${mark} boost`, start: day(0), multiplier: 2 },
    { name: `${mark} spare`, start: day(300), multiplier: 3 },
  ]
  const systems = [
    { key: 'xp', name: `${mark} XP`, levels, triggers, boosts },
    { key: 'spare', name: `${mark} spare`, levels: [], triggers: [], boosts: [] },
  ]
  const { body } = await done(ask, 'admin_points_systems_create', { body: systems })
  const [xp, spare] = CreatedSystems.parse(body).created
  ids.set('system', xp?.id ?? '').set('spareSystem', spare?.id ?? '')
  ids.set('level', xp?.levels[0]?.id ?? '').set('spareLevel', xp?.levels[1]?.id ?? '')
  ids.set('trigger', xp?.triggers[0]?.id ?? '').set('spareTrigger', xp?.triggers[4]?.id ?? '')
  ids.set('boost', xp?.boosts[0]?.id ?? '').set('spareBoost', xp?.boosts[1]?.id ?? '')
  const board = (key: string, more: object) => ({
    ...{ key, name: `${mark} ${key}`, status: 'active', start: day(0), ...more },
  })
  const boards = ['board', 'pointsBoard', 'streakBoard', 'spareBoard', 'groupBoard']
  await create(boards, 'admin_leaderboards_create', [
    board('words', { rankBy: 'metric', metricId: of('metric') }),
    board('daily', { rankBy: 'points', pointsSystemId: of('system'), runUnit: 'day', runInterval: 1 }),
    board('streaks', { rankBy: 'streak' }),
    board('spare', { rankBy: 'metric', metricId: of('metric') }),
    board('plans', { rankBy: 'metric', metricId: of('minutes'), breakdownAttributes: [of('attribute')] }),
  ])
  const freezes = { startCount: 1, maxCount: 2 }
  await done(ask, 'admin_streaks_settings_update', { body: { metrics: [], freezes } })

  const users = Object.entries(USERS)
  for (const [id] of users) await done(ask, 'users_identify', { params: { id }, body: person(mark, id) })
  await done(ask, 'users_identify', { params: { id: `only-${mark}` }, body: person(mark, `only-${mark}`) })
  const boost = { key: 'own', name: `${mark} own`, start: day(0), multiplier: 3, userId: 'ada' }
  await create(['ownBoost'], 'admin_points_boosts_create', [boost], { systemId: of('system') })
  for (const [id, words] of users) {
    const { body } = await done(ask, 'metrics_event', {
      params: { key: 'words' },
      headers: { 'idempotency-key': 'first' },
      body: { user: { id }, value: words * factor, attributes: { device: mark } },
    })
    ids.set(`event of ${id}`, z.object({ eventId: z.string() }).parse(body).eventId)
  }
  const points = await done(ask, 'users_points', { params: { id: 'ada', key: 'xp' } })
  ids.set('award', Awards.parse(points.body).awards[0].id)
  const preferences = { notifications: { recap: ['push'] } }
  await done(ask, 'users_update_preferences', { params: { id: 'ada' }, body: preferences })
  const pauses = [
    { userId: 'bob', start: day(50), end: day(50 + factor) },
    { userId: 'cleo', start: day(60), end: day(60 + factor) },
  ]
  const paused = await done(ask, 'admin_streaks_pauses_create', { body: { pauses } })
  const { created } = Created.parse(paused.body)
  ids.set('pause', created[0]?.id ?? '').set('sparePause', created[1]?.id ?? '')
  await create(['webhook', 'spareWebhook', 'quietWebhook'], 'admin_webhooks_create', [
    { url: `${NOWHERE}/${mark}/hooks`, events: ['*'], status: 'inactive' },
    { url: `${NOWHERE}/${mark}/spare`, events: ['achievement.completed'], status: 'inactive' },
    { url: `${NOWHERE}/${mark}/quiet`, events: ['points.boost_finished'] },
  ])
  const quiet = { id: of('quietWebhook') }
  const sample = await done(ask, 'admin_webhooks_test', { params: quiet, body: { type: 'streak.started' } })
  ids.set('delivery', Id.parse(sample.body).id)
  const text = `${mark} {{ user.name }} {{ metrics.words }}`
  const template = (channel: object) => ({ type: 'streak_reminder', body: text, ...channel })
  await create(['template', 'spareTemplate'], 'admin_notification_templates_create', [
    template({ channel: 'email', subject: `${mark} {{ user.id }}` }),
    template({ channel: 'push', title: `${mark} spare` }),
  ])
  const keys = ['ada', 'cleo', 'dora'].map((userId) => ({ userId }))
  await create(['key', 'spareKey', 'doraKey'], 'admin_application_api_keys_create', keys)
  const { headers } = await done(ask, 'admin_metrics_batch_events', { body: batch('settled', factor, mark) })
  ids.set('batch', headers.get('x-batch-id') ?? '')
  return { ...world, ids: of }
}

/** A batch of events, two of which share an idempotency key. */
function batch(name: string, factor: number, mark: string): unknown[] {
  const event = (id: string, value: number, idempotencyKey: string) => ({
    ...{ key: 'minutes', user: { id, name: `${mark} ${id}` }, value: value * factor, idempotencyKey },
  })
  return [event('ada', 1, name), event('bob', 2, name), event('bob', 3, name), event('ada', 4, `${name}-2`)]
}

/** The events of a day after the first one. ada and bob keep their streaks, cleo and dora lose theirs. */
export async function carryOn({ ask, factor, mark }: World, day: number): Promise<void> {
  for (const id of ['ada', 'bob']) {
    await done(ask, 'metrics_event', {
      params: { key: 'words' },
      headers: { 'idempotency-key': `day-${day}` },
      body: { user: { id }, value: day * factor, attributes: { device: mark } },
    })
  }
}

/* The calls */

type Calls = (world: World) => Call | Call[]

const ada = { id: 'ada' }
const inXp = { params: { key: 'xp' } }
const ofAda = (): Call => ({ params: ada })
const nothing = (): Call => ({})
const page = (): Call => ({ query: { limit: '100' } })
const change = ({ day }: World) => ({ aggregation: 'daily', startDate: day(-1), endDate: day(6) })

/** The calls of an admin resource whose items have these names. `ahead` are the parameters before its own. */
function resource(
  prefix: string,
  name: IdName,
  make: (world: World) => object,
  ahead: (world: World) => Record<string, string> = () => ({}),
): [string, Calls][] {
  const changed = (world: World) => ({ id: world.ids(name), ...renamed(prefix, world) })
  return [
    [`${prefix}_list`, (world) => ({ params: ahead(world), query: { limit: '100' } })],
    [`${prefix}_create`, (world) => ({ params: ahead(world), body: [make(world)] })],
    [`${prefix}_update`, (world) => ({ params: ahead(world), body: [changed(world)] })],
    [`${prefix}_delete`, (world) => ({ params: ahead(world), query: { ids: world.ids(spareOf(name)) } })],
    [`${prefix}_get`, (world) => ({ params: { ...ahead(world), id: world.ids(name) } })],
  ]
}

/** Triggers, webhooks and templates have no name. */
function renamed(prefix: string, { mark, factor }: World): object {
  if (prefix === 'admin_points_triggers') return { points: 11 * factor }
  if (prefix === 'admin_webhooks') return { url: `${NOWHERE}/${mark}/renamed`, status: 'inactive' }
  if (prefix === 'admin_notification_templates') return { subject: `${mark} renamed` }
  return { name: `${mark} renamed` }
}

const inSystem = ({ ids }: World) => ({ systemId: ids('system') })

const pro = ({ ids }: World) => [{ attributeId: ids('attribute'), attributeValue: 'pro' }]
const named = ({ mark }: World) => ({ key: 'new', name: `${mark} new` })

const resources: [string, Calls][] = [
  ...ALONE.flatMap(({ name, operations, least }) =>
    resource(operations, name, ({ mark }) => ({ ...least('new'), name: `${mark} new` })),
  ),
  ...resource('admin_points_systems', 'system', (world) => ({
    ...named(world),
    triggers: [{ type: 'achievement', points: world.factor, achievementId: world.ids('achievement') }],
    boosts: [{ name: `${world.mark} new`, start: '2020-01-01', multiplier: 2, userAttributes: pro(world) }],
  })),
  ...resource(
    'admin_points_levels',
    'level',
    (world) => ({ ...named(world), points: 98 * world.factor }),
    inSystem,
  ),
  ...resource(
    'admin_points_triggers',
    'trigger',
    (world) => ({
      ...{ type: 'metric', points: world.factor, metricId: world.ids('metric') },
      ...{ metricThreshold: world.factor, userAttributes: pro(world) },
      eventAttributes: [{ attributeId: world.ids('eventAttribute'), attributeValue: 'phone' }],
    }),
    inSystem,
  ),
  ...resource(
    'admin_points_boosts',
    'boost',
    (world) => ({ ...named(world), start: world.day(200), multiplier: 2, userId: 'bob' }),
    inSystem,
  ),
  ...resource('admin_achievements', 'achievement', (world) => ({
    ...{ ...named(world), status: 'active', trigger: 'achievement', userAttributes: pro(world) },
    achievementIds: [world.ids('achievement')],
  })),
  ...resource('admin_leaderboards', 'board', (world) => ({
    ...{ ...named(world), rankBy: 'points', pointsSystemId: world.ids('system') },
    breakdownAttributes: [world.ids('attribute')],
  })),
  ...resource('admin_webhooks', 'webhook', ({ mark }) => ({
    ...{ url: `${NOWHERE}/${mark}/new`, events: ['streak.lost', 'points.changed'] },
  })),
  ...resource('admin_notification_templates', 'template', (world) => ({
    ...{ type: 'recap', channel: 'email', subject: `${world.mark} {{ recap.periodEnd }}` },
    ...{ body: `${world.mark} {{ user.name }}`, userAttributes: pro(world) },
  })),
]

const ofQuiet = ({ ids }: World) => ({ params: { id: ids('quietWebhook') } })
const ofDelivery = ({ ids }: World) => ({ params: { id: ids('quietWebhook'), deliveryId: ids('delivery') } })

/** The calls of the other operations. */
const OTHERS: Record<string, Calls> = {
  achievements_all: () => [{}, { query: { userAttributes: 'plan:pro' } }],
  achievements_complete: ({ mark }) => ({
    params: { key: 'profile' },
    body: { user: { ...ada, name: mark } },
  }),
  metrics_event: ({ factor, mark }) => [
    {
      params: { key: 'words' },
      headers: { 'idempotency-key': 'walk' },
      body: { user: { ...ada, name: `${mark} ada` }, value: 5 * factor, attributes: { device: mark } },
    },
    // A replay.
    { params: { key: 'words' }, headers: { 'idempotency-key': 'first' }, body: { user: ada, value: factor } },
  ],
  users_create: ({ mark }) => ({ body: { id: 'eve', ...person(mark, 'eve') } }),
  users_get: ofAda,
  users_identify: ({ mark }) => ({ params: { id: 'finn' }, body: person(mark, 'finn') }),
  users_update: ({ mark }) => ({ params: { id: 'bob' }, body: { name: `${mark} Robert` } }),
  users_overview: ofAda,
  users_all_metrics: ofAda,
  users_single_metric: () => ({ params: { ...ada, key: 'words' } }),
  users_metric_event_summary: (world) => ({ params: { ...ada, key: 'words' }, query: change(world) }),
  users_achievements: () => ({ params: ada, query: { includeIncomplete: 'true' } }),
  users_all_points: () => ({ params: ada, query: { awards: '100' } }),
  users_points: () => ({ params: { ...ada, key: 'xp' }, query: { awards: '100' } }),
  users_points_boosts: () => ({ params: { ...ada, key: 'xp' } }),
  users_points_event_summary: (world) => ({ params: { ...ada, key: 'xp' }, query: change(world) }),
  points_all: nothing,
  points_system: () => inXp,
  points_levels: () => inXp,
  points_boosts: () => ({ ...inXp, query: { includeFinished: 'true' } }),
  points_summary: () => [inXp, { ...inXp, query: { userAttributes: 'plan:pro' } }],
  points_level_summary: () => [inXp, { ...inXp, query: { userAttributes: 'plan:pro' } }],
  users_all_leaderboards: () => ({ params: ada, query: { includeFinished: 'true', numEvents: '100' } }),
  users_leaderboard: () =>
    ['words', 'daily', 'streaks'].map((key) => ({ params: { ...ada, key }, query: { numEvents: '100' } })),
  users_wrapped: ({ day }) => ({ params: ada, query: { year: day(0).slice(0, 4) } }),
  leaderboards_all: () => ({ query: { includeFinished: 'true' } }),
  leaderboards_get: ({ day }) => [
    ...['words', 'daily', 'streaks'].map((key) => ({ params: { key } })),
    { params: { key: 'daily' }, query: { run: day(0) } },
    { params: { key: 'words' }, query: { userId: 'bob', offset: '-1' } },
  ],
  leaderboards_groups: () => ({ params: { key: 'plans' } }),
  leaderboards_live: () => ({ params: { key: 'words' } }),
  live_tickets_create: () => ({}),
  users_get_preferences: ofAda,
  users_update_preferences: () => ({
    params: { id: 'bob' },
    body: { notifications: { reactivation: ['email'] } },
  }),
  users_streak: () => ({ params: ada, query: { historyPeriods: '10' } }),
  streaks_list: ({ mark }) => ({ query: { userIds: [...Object.keys(USERS), `only-${mark}`] } }),
  streaks_rankings: () => [{}, { query: { type: 'longest', limit: '100' } }],
  admin_metrics_batch_events: ({ factor, mark }) => ({ body: batch('walk', factor, mark) }),
  admin_metrics_batch_get: ({ ids }) => ({ params: { id: ids('batch') } }),
  admin_streaks_settings_get: nothing,
  admin_streaks_settings_update: ({ factor }) => ({
    body: { daysOff: [factor % 7], freezes: { startCount: 1, maxCount: 3 + (factor % 90) } },
  }),
  admin_streaks_freezes_create: () => ({ body: { freezes: [{ userId: 'ada' }] } }),
  admin_streaks_pauses_list: () => ({ query: { userId: 'bob', limit: '100' } }),
  admin_streaks_pauses_create: ({ day, factor }) => ({
    body: { pauses: [{ userId: 'ada', start: day(70), end: day(70 + factor) }] },
  }),
  admin_streaks_pauses_delete: ({ ids }) => ({ query: { ids: ids('sparePause') } }),
  admin_streaks_restore: () => ({ body: { users: [{ id: 'cleo' }] } }),
  admin_streaks_reset: () => ({ body: { users: [{ id: 'cleo' }] } }),
  admin_points_adjustments_create: ({ mark, factor }) => ({
    params: { systemId: 'xp' },
    body: [{ userId: 'ada', amount: factor, reason: mark, idempotencyKey: 'first' }],
  }),
  admin_users_void_event: ({ ids, mark }) => ({
    ...{ params: { id: 'cleo', eventId: ids('event of cleo') }, body: { reason: mark } },
  }),
  admin_users_revoke_achievement: () => ({
    params: { id: 'bob', key: 'writer' },
    query: { points: 'revoke' },
  }),
  admin_users_list: () =>
    [{ limit: '100' }, { search: 'AD' }, { userAttributes: 'plan:pro' }].map((query) => ({ query })),
  admin_users_export: ofAda,
  admin_users_explain_award: ({ ids }) => ({ params: { id: 'ada', key: 'xp', awardId: ids('award') } }),
  admin_users_timeline: () =>
    [{ limit: '100' }, { types: 'award,change' }].map((query) => ({ params: ada, query })),
  admin_analytics_overview: nothing,
  admin_metrics_analytics: () => ({ params: { key: 'words' } }),
  admin_points_analytics: () => inXp,
  admin_leaderboards_analytics: () => ({ params: { key: 'words' } }),
  admin_achievements_analytics: () => ({ params: { key: 'writer' } }),
  admin_users_delete: () => ({ params: { id: 'dora' } }),
  admin_settings_get: nothing,
  admin_settings_update: () => ({
    body: { branding: { appName: 'Walk' }, experimentation: { controlRatio: 100 } },
  }),
  admin_notification_templates_preview: ({ ids }) => ({
    params: { id: ids('template') },
    body: { userId: 'ada' },
  }),
  admin_notification_templates_preview_draft: () => ({
    body: { userId: 'ada', template: { type: 'recap', channel: 'push', title: 'T', body: '{{ user.id }}' } },
  }),
  admin_notification_templates_test: ({ ids }) => ({
    params: { id: ids('template') },
    body: { userId: 'ada' },
  }),
  admin_notifications_channels: () => ({}),
  admin_notifications_log: page,
  admin_audit_log: page,
  admin_webhooks_rotate_secret: ({ ids }) => ({ params: { id: ids('webhook') } }),
  admin_webhooks_deliveries_list: (world) => ({ ...page(), ...ofQuiet(world) }),
  admin_webhooks_deliveries_get: ofDelivery,
  admin_webhooks_deliveries_redeliver: ofDelivery,
  admin_webhooks_test: (world) => ({ ...ofQuiet(world), body: { type: 'streak.lost' } }),
  admin_webhooks_try: ofQuiet,
  admin_webhooks_redeliver: (world) => ({ ...ofQuiet(world), body: { since: '2026-01-01T00:00:00Z' } }),
  admin_webhooks_redeliver_get: ofQuiet,
  admin_application_api_keys_list: page,
  admin_application_api_keys_create: () => ({ body: [{ userId: 'bob' }] }),
  admin_application_api_keys_delete: ({ ids }) => ({ query: { ids: ids('spareKey') } }),
  admin_user_tokens_create: () => ({ body: { userId: 'ada', scope: 'read', ttl: 60 } }),
}

/**
 * The call of each operation of a tenant, by its id. It succeeds in a settled world, and each write is done
 * once. Operations of the whole account are not here.
 */
export const calls: ReadonlyMap<string, Calls> = new Map([...resources, ...Object.entries(OTHERS)])

/** The calls of an operation in a world. Throws if the walk does not know the operation. */
export function callsOf({ id }: OperationSpec, world: World): Call[] {
  const made = calls.get(id)?.(world)
  if (made === undefined)
    throw new Error(`test/helpers/walk.ts has no call of ${id}: add one to its list of calls`)
  return [made].flat()
}
