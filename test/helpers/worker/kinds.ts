import type { AuditKind } from '../../../src/configuration/model'
import { filter, NOBODY, NOON } from '../known'
import type { World } from './world'

/**
 * The kinds of admin resources, as test/worker/resources.test.ts and the walk need them. To test a new one, add
 * it here.
 */

export type Item = Readonly<Record<string, unknown>>

const STAMP = new Date(NOON).toISOString()

export type Kind = {
  /** The path of its list. A points system in it is named by its key. */
  path: string
  /** The beginning of the ids of its operations. */
  operations: string
  /** Its name in the audit log. */
  audit: AuditKind
  /** Whether an update can change its key, and whether a create can leave it out (O1, O2, A1). */
  keys: 'fixed' | 'given' | 'derived' | 'made'
  /** How many there are at most (G7). */
  most: number
  /** What is shown of the fields that such an item leaves out. */
  defaults: Item
  /** Other values of all fields that an update can change. */
  change: (world: World) => Item
  /** The fields that `null` removes in an update, so that they are shown as the default is. */
  removable: string[]
  needed: string[]
  /** Values of fields that are refused. */
  wrong: Item & Record<string, unknown[]>
  /** The same for fields that only a create has. */
  wrongNew?: Record<string, unknown[]>
  /** Fields that refer to something that does not exist, or that does not fit, and what the issue names. */
  unknown: (world: World) => [field: string, value: unknown, named: string][]
} & (Alone | Dependent)

/** Items with a name that refer to no other thing. The walk makes its items from here. */
type Alone = {
  isAlone: true
  /** An item with as few fields as possible beside the key. */
  least: (key: string) => Item
}
type Dependent = { isAlone?: never; least: (key: string, world: World) => Item }

const LONG = 'x'.repeat(256)
const NAME = ['', LONG, 5]
const TEXT = ['x'.repeat(2_001), 5]
const FILTERS = [{}, 'x', [{}], [{ attributeId: 'x', attributeValue: 'y' }], [{ attributeId: NOBODY }]]
const SCRIPT = { url: 'javascript:alert(1)' }
const BADGE = ['https://b.example', {}, { url: '' }, SCRIPT, { url: `https://b.example/${LONG.repeat(8)}` }]
const NEW_BADGE = { url: 'https://b.example/u' }
const WHOLE = [0, -1, 1.5, 2_147_483_648, 1e308, '1', []]
const TIME = ['24:00', '9:00', '09:60', '09:00:60']
const DATE = ['2026-02-29', '2026-1-1', '20260101', '2026-01-01T00:00:00Z', '', '10000-01-01', 5]

const filtersOf = (field: string, other: string): [string, unknown, string][] => [
  [field, filter(NOBODY), NOBODY],
  [field, filter(other), other],
]

const ofMetric: Kind['unknown'] = ({ plan, page }) => [
  ['metricId', NOBODY, 'metricId'],
  ...filtersOf('userAttributes', page),
  ...filtersOf('eventAttributes', plan),
]

/** Different points for different keys: the levels of a system have different points (P9). */
const pointsOf = (key: string) =>
  [...key].reduce((sum, letter) => (sum * 37 + letter.charCodeAt(0)) % 1_000_003, 0)

const boost = {
  ...{ path: '/points/xp/boosts', operations: 'admin_points_boosts', audit: 'points_boost', keys: 'derived' },
  defaults: { status: 'scheduled', end: null, rounding: 'down', userId: null, userAttributes: [] },
  needed: ['name', 'start', 'multiplier'],
  wrong: {
    ...{ name: NAME, start: DATE, end: DATE, multiplier: [0, 1, 100, -1, 1e308, '2'] },
    ...{ rounding: ['half'], userAttributes: FILTERS },
  },
} satisfies Partial<Kind>
const boostItem = (key: string) => ({ key, name: 'N', start: '2026-06-10', multiplier: 2 })
const boostChange = { name: 'M', start: '2026-06-11', end: '2026-06-30', multiplier: 99.999, rounding: 'up' }

/** All kinds of admin resources. A boost of one user is stored in another way than the others, so it is here too. */
export const KINDS: Record<string, Kind> = {
  metric: {
    ...{ path: '/metrics', operations: 'admin_metrics', audit: 'metric', keys: 'fixed' },
    isAlone: true,
    most: 1_000,
    least: (key) => ({ key, name: 'N' }),
    defaults: { unitType: 'number', units: '' },
    change: () => ({ name: 'M', unitType: 'currency', units: 'EUR' }),
    removable: [],
    needed: ['key', 'name'],
    wrong: { name: NAME, unitType: ['money', 5], units: [LONG, 5] },
    unknown: () => [],
  },
  attribute: {
    ...{ path: '/attributes', operations: 'admin_attributes', audit: 'attribute', keys: 'fixed' },
    isAlone: true,
    most: 200,
    least: (key) => ({ key, name: 'N', type: 'user' }),
    defaults: { writableBy: 'admin' },
    change: () => ({ name: 'M', writableBy: 'user' }),
    removable: [],
    needed: ['key', 'name', 'type'],
    wrong: { name: NAME, type: ['group', 5], writableBy: ['nobody', 5] },
    unknown: () => [],
  },
  'points system': {
    ...{ path: '/points', operations: 'admin_points_systems', audit: 'points_system', keys: 'fixed' },
    most: 1_000,
    least: (key) => ({ key, name: 'N' }),
    defaults: { description: '', status: 'active', badge: null, maxPoints: null },
    change: () => ({ name: 'M', description: 'D', badge: NEW_BADGE, maxPoints: 2_147_483_647 }),
    removable: ['badge', 'maxPoints'],
    needed: ['key', 'name'],
    wrong: { name: NAME, description: TEXT, badge: BADGE, maxPoints: WHOLE },
    wrongNew: { levels: [{}, [{}]], boosts: [{}, [{}]], triggers: [{}, [{}], Array(101).fill({})] },
    unknown: () => [
      ['boosts', [{ ...boostItem('b'), userId: 'nobody' }], 'boosts.0: No user has this userId'],
      ['triggers', [{ type: 'achievement', achievementId: NOBODY, points: 1 }], 'triggers.0: '],
    ],
  },
  level: {
    ...{ path: '/points/xp/levels', operations: 'admin_points_levels', audit: 'points_level', keys: 'fixed' },
    most: 1_000,
    least: (key) => ({ key, name: 'N', points: pointsOf(key) }),
    defaults: { description: '', badge: null },
    change: () => ({ name: 'M', points: 2_147_483_647, description: 'D', badge: NEW_BADGE }),
    removable: ['badge'],
    needed: ['key', 'name', 'points'],
    wrong: { name: NAME, points: WHOLE.slice(1), description: TEXT, badge: BADGE },
    unknown: () => [],
  },
  trigger: {
    ...{ path: '/points/xp/triggers', operations: 'admin_points_triggers' },
    ...{ audit: 'points_trigger', keys: 'derived' },
    most: 1_000,
    least: (key, { words }) => ({ key, type: 'metric', points: 1, metricId: words, metricThreshold: 1 }),
    defaults: { status: 'inactive', userAttributes: [], eventAttributes: [], blockIfOutOfPoints: false },
    change: ({ pages, plan, page }) => ({
      ...{ points: -1_000_000, status: 'active', metricId: pages, metricThreshold: 2_147_483_647 },
      ...{ userAttributes: filter(plan), eventAttributes: filter(page, ''), blockIfOutOfPoints: true },
    }),
    removable: ['userAttributes', 'eventAttributes'],
    needed: ['type', 'points', 'metricId', 'metricThreshold'],
    wrong: {
      ...{ type: ['metrics', 5], status: ['archived'], metricId: ['words', 5], metricThreshold: WHOLE },
      points: [0, -0, 0.5, 1_000_001, -1_000_001, 1e308, '1', true, [1]],
      ...{ streakLength: WHOLE, timeUnit: ['hour', 'weeks'], timeInterval: WHOLE, achievementId: ['first'] },
      ...{ userAttributes: FILTERS, eventAttributes: FILTERS, blockIfOutOfPoints: ['yes', 1] },
    },
    unknown: ofMetric,
  },
  boost: {
    ...boost,
    most: 1_000,
    least: boostItem,
    change: ({ plan }) => ({ ...boostChange, userAttributes: filter(plan) }),
    removable: ['end', 'userAttributes'],
    wrongNew: { userId: ['', 5, 'x'.repeat(256)] },
    unknown: ({ page }) => filtersOf('userAttributes', page),
  },
  "user's own boost": {
    ...boost,
    most: 100,
    least: (key) => ({ ...boostItem(key), userId: 'ada' }),
    change: () => boostChange,
    removable: ['end'],
    unknown: () => [],
  },
  achievement: {
    ...{ path: '/achievements', operations: 'admin_achievements', audit: 'achievement', keys: 'made' },
    most: 1_000,
    least: (key, { words }) => ({ key, name: 'N', trigger: 'metric', metricId: words, metricValue: 10 }),
    defaults: { description: '', badge: null, status: 'inactive', userAttributes: [], eventAttributes: [] },
    change: ({ pages, plan, page }) => ({
      ...{ name: 'M', description: 'D', badge: NEW_BADGE, status: 'active' },
      ...{ metricId: pages, metricValue: 9_007_199_254 },
      ...{ userAttributes: filter(plan), eventAttributes: filter(page) },
    }),
    removable: ['description', 'badge', 'userAttributes', 'eventAttributes'],
    needed: ['name', 'trigger'],
    wrong: {
      ...{ name: NAME, description: TEXT, badge: BADGE, status: ['finished'], trigger: ['points'] },
      ...{ metricId: ['words'], metricValue: [0, -1, 9_007_199_254.1, '1'], streakLength: WHOLE },
      achievementIds: [['x'], Array(101).fill(NOBODY)],
      ...{ userAttributes: FILTERS, eventAttributes: FILTERS },
    },
    wrongNew: { achievementIds: [[]] },
    unknown: ofMetric,
  },
  leaderboard: {
    ...{ path: '/leaderboards', operations: 'admin_leaderboards', audit: 'leaderboard', keys: 'given' },
    most: 1_000,
    least: (key, { words }) => ({ key, name: 'N', rankBy: 'metric', metricId: words }),
    defaults: {
      ...{ status: 'inactive', maxParticipants: 1_000, start: '2026-06-06' },
      ...{ breakdownAttributes: [], userAttributes: [] },
    },
    change: ({ pages, plan }) => ({
      ...{ name: 'M', description: 'D', metricId: pages, maxParticipants: 1, breakdownAttributes: [plan] },
      ...{ start: '2026-06-01', end: '2026-12-31', startTime: '22:00', endTime: '02:30:15' },
      ...{ runUnit: 'month', runInterval: 3, userAttributes: filter(plan) },
    }),
    removable: ['maxParticipants', 'end', 'startTime', 'endTime', 'runUnit', 'runInterval', 'userAttributes'],
    needed: ['key', 'name', 'rankBy'],
    wrong: {
      ...{ name: NAME, description: TEXT, status: ['paused'], rankBy: ['luck'], metricId: ['words'] },
      ...{ pointsSystemId: ['xp'], maxParticipants: [0, 1.5, 1_001, '1'], start: DATE, end: DATE },
      ...{ startTime: TIME, endTime: TIME, runUnit: ['week'], runInterval: WHOLE, userAttributes: FILTERS },
      breakdownAttributes: [['plan'], 'plan', Array(11).fill(NOBODY)],
    },
    unknown: ({ page }) => [
      ['metricId', NOBODY, 'No metric has this metricId'],
      ['breakdownAttributes', [NOBODY], 'breakdownAttributes: no user attribute'],
      ['breakdownAttributes', [page], 'breakdownAttributes: no user attribute'],
      ...filtersOf('userAttributes', page),
    ],
  },
  webhook: {
    ...{ path: '/webhooks', operations: 'admin_webhooks', audit: 'webhook', keys: 'derived' },
    most: 20,
    least: (key) => ({ key, url: 'https://example.com/', events: ['streak.lost'] }),
    defaults: { status: 'active', goneAt: null, previousSecretEnds: null, created: STAMP, updated: STAMP },
    change: () => ({ url: 'https://example.org/x', events: ['*'], status: 'inactive' }),
    removable: [],
    needed: ['url', 'events'],
    wrong: {
      url: ['', 'x', 5, 'http://example.com/', 'https://10.0.0.1/', `https://example.com/${LONG.repeat(8)}`],
      events: [[], '*', 'streak.lost', {}, [1], [null], [['*']], ['STREAK.LOST'], ['streak.won']],
      status: ['paused', '', 1],
    },
    unknown: () => [],
  },
  template: {
    ...{ path: '/notifications/templates', operations: 'admin_notification_templates' },
    ...{ audit: 'notification_template', keys: 'derived' },
    most: 100,
    least: (key) => ({ key, type: 'recap', channel: 'push', title: 'T', body: 'B' }),
    defaults: { userAttributes: [], status: 'inactive', created: STAMP, updated: STAMP },
    change: ({ plan }) => ({
      ...{ type: 'streak_reminder', title: 'U', body: 'C', userAttributes: filter(plan), status: 'active' },
    }),
    removable: ['userAttributes'],
    needed: ['type', 'channel', 'title', 'body'],
    wrong: {
      type: ['news'],
      channel: ['fax'],
      title: ['', ' ', 5, 'x'.repeat(1_001), '{% fo %}', `${'😀'.repeat(600)}{% fo %}`],
      subject: ['', ' ', 5, 'x'.repeat(1_001), '{% fo %}'],
      body: ['', 5, 'x'.repeat(65_537), '{% if %}'],
      userAttributes: FILTERS,
      status: ['on'],
    },
    unknown: ({ page }) => filtersOf('userAttributes', page),
  },
}
