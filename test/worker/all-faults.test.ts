/** A 422 names all validation errors (G3): of the shape, of the configuration, and of stored data. */
import { beforeAll, describe, expect, it } from 'vitest'
import { callsOf, operations, pathOf } from '../helpers/walk'
import { ADMIN_KEY, at, call, newTenant, type TestTenant, toApp } from '../helpers/worker/harness'
import { walkIn } from '../helpers/worker/walked'

const ofUsers = (keys: string) =>
  `Invalid attribute keys: ${keys}. Attribute keys must match those configured for users.`
const ofEvents = (keys: string) =>
  `Invalid attribute keys: ${keys}. Attribute keys must match those configured for events.`
const ZONE = 'must be an IANA time zone, such as Europe/Paris, not "+02:00"'
const NO_ADDRESS = 'subscribeToEmails: this user has no email address to subscribe'

let tenant: TestTenant
/** Another tenant, whose users may not customise their streaks. */
let other: TestTenant
let before: Record<string, string[]>[]

/** All rows of both. */
const stored = () => Promise.all([tenant.stored(), other.stored()])

beforeAll(async () => {
  tenant = await newTenant()
  await tenant.metric('words')
  await tenant.metric('pages')
  const plan = await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
  await tenant.create('/attributes', { key: 'page', name: 'Page', type: 'event' })
  await tenant.create('/achievements', { key: 'profile', name: 'P', status: 'active', trigger: 'api' })
  const streak = { key: 'streak', name: 'S', status: 'active', trigger: 'streak', streakLength: 2 }
  await tenant.create('/achievements', streak)
  const api = { key: 'locked', name: 'L', status: 'active', trigger: 'api' }
  const locked = await tenant.create('/achievements', api)
  await tenant.app('POST', '/achievements/locked/complete', { user: { id: 'had' } })
  await tenant.admin('PATCH', '/achievements', [{ id: locked, status: 'locked' }])
  await tenant.create('/points', { key: 'xp', name: 'XP' })
  const board = { name: 'B', rankBy: 'streak', status: 'active', start: '2020-01-01', maxParticipants: 5 }
  await tenant.create('/leaderboards', { ...board, key: 'plain' })
  await tenant.create('/leaderboards', { ...board, key: 'groups', breakdownAttributes: [plan] })
  await tenant.app('PUT', '/users/ada', { email: 'ada@example.com' })
  await tenant.app('PUT', '/users/bob', {})
  const goal = { customizationEnabled: true, metrics: [{ key: 'words', threshold: 1 }] }
  const freezes = { startCount: 2, maxCount: 3 }
  await tenant.admin('PATCH', '/streaks/settings', { ...goal, freezes })
  other = await newTenant()
  await other.app('PUT', '/users/bob', {})
  before = await stored()
})

/** Expects a 422 whose error contains all of `faults` and none of `without`. */
async function refused(
  [method, path, body, headers = {}]: [string, string, unknown?, Record<string, string>?],
  faults: readonly string[],
  without: readonly string[] = [],
): Promise<void> {
  const answer = await call(tenant.send, method, path, {
    ...(body !== undefined && { body }),
    headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id, ...headers },
  })
  const error = String(at(answer.body, 'error'))
  expect([path, answer.status, error]).toEqual([path, 422, error])
  for (const fault of faults) expect(error).toContain(fault)
  for (const fault of without) expect(error).not.toContain(fault)
  expect(error).not.toMatch(/\.\.|;\.|\.;/)
}

describe('[G3] a 422 names the errors of the shape and all others', () => {
  const profile = { tz: '+02:00', subscribeToEmails: true, attributes: { pln: null, x: {}, plan: 'b' } }

  it.each([
    ['POST', '/v1/users', { id: 'bob', ...profile }],
    ['PUT', '/v1/users/bob', profile],
    ['PUT', '/v1/users/nobody', profile],
    ['PATCH', '/v1/users/bob', profile],
  ])('[U4] of a user: %s %s', async (method, path, body) => {
    const faults = ['tz: must be an IANA', 'attributes.x: must be a string', NO_ADDRESS, ofUsers('pln, x')]
    await refused([method, path, body], faults)
    const named = ['email: must be', ofUsers('pln, x')]
    await refused([method, path, { ...body, email: 'x' }], named, [NO_ADDRESS])
  })

  it('[U4] of a user with a stored address, who may subscribe', async () => {
    await refused(['PUT', '/v1/users/ada', profile], ['tz: must be', ofUsers('pln, x')], [NO_ADDRESS])
  })

  it.each([
    ...[{}, null, [[]], 'x', 5, { attributes: [] }, { attributes: 'pln' }, { email: '', attributes: null }],
  ])('of a user with an unreadable shape: %j', async (user) => {
    const event = { user, value: 'x', attributes: { pge: 1 } }
    const faults = ['value: must be a number', ofEvents('pge')]
    await refused(['POST', '/v1/metrics/words/event', event], faults, ['for users'])
  })

  it('[E6, U4] of an event, its user, its attributes and its idempotency key', async () => {
    const event = (user: object) => ({ user: { ...profile, ...user }, value: '12', attributes: { pge: 1 } })
    const headers = { 'idempotency-key': 'k'.repeat(256) }
    const faults = [
      ...['user.tz: must be', 'value: must be a number', 'idempotency-key: must have at most 255'],
      ...[`user.${NO_ADDRESS}`, ofUsers('pln, x'), ofEvents('pge')],
    ]
    await refused(['POST', '/v1/metrics/words/event', event({ id: 'bob' }), headers], faults)
    await refused(['POST', '/v1/metrics/words/event', event({ id: '' })], [`user.${NO_ADDRESS}`, 'user.id'])
    const ofAda = event({ id: 'ada' })
    await refused(['POST', '/v1/metrics/words/event', ofAda], [ofUsers('pln, x')], [NO_ADDRESS])
    // If only attribute keys are wrong, the error has only the sentences about them.
    const user = { id: 'bob', attributes: { pln: 'a', x: 'b' } }
    const unknown = { user, value: 1, attributes: { pge: 'a' } }
    const { body } = await tenant.app('POST', '/metrics/words/event', unknown)
    expect(at(body, 'error')).toBe(`${ofEvents('pge')} ${ofUsers('pln, x')}`)
  })

  it('[G3] as a list too, one entry for each problem, with its path', async () => {
    const event = { user: { id: 'bob', tz: '+02:00', attributes: { pln: 'a' } }, value: '12' }
    const { body } = await tenant.app('POST', '/metrics/words/event', event)
    expect(body).toEqual({
      error: `user.tz: ${ZONE}; value: must be a number. ${ofUsers('pln')}`,
      issues: [
        { path: 'user.tz', message: ZONE },
        { path: 'value', message: 'must be a number' },
        { path: '', message: ofUsers('pln') },
      ],
    })
    // Errors that only the decision about a change finds, which another object may make.
    const { body: later } = await tenant.app('PUT', '/users/bob', { subscribeToEmails: true })
    const message = expect.stringMatching(/^this user has no email address/)
    expect(at(later, 'issues')).toEqual([{ path: 'subscribeToEmails', message }])
    // An error that is one sentence.
    const { body: one } = await tenant.app('GET', '/leaderboards/plain/groups')
    expect(at(one, 'issues')).toEqual([{ path: '', message: at(one, 'error') }])
    const { body: other } = await tenant.app('GET', '/users/nobody')
    expect(other).toEqual({ error: expect.any(String) })
  })

  it('[G3] as a list of at most 1,000, and of how many more there are', async () => {
    const levels = Array.from({ length: 100 }, () => Object.fromEntries([]))
    const systems = Array.from({ length: 6 }, () => ({ key: 'a', name: 'A', levels }))
    const { status, body } = await tenant.admin('POST', '/points', systems)
    const issues = at(body, 'issues')
    expect([status, Array.isArray(issues) && issues.length]).toEqual([422, 1_001])
    const message = expect.stringMatching(/^And \d+ more problems\.$/)
    expect(at(body, 'issues', 1_000)).toEqual({ path: '', message })
  })

  it('[A3] of a completion', async () => {
    const user = { id: 'bob', ...profile }
    const faults = ['user.tz: must be', `user.${NO_ADDRESS}`, ofUsers('pln, x')]
    const complete = (key: string) => `/v1/achievements/${key}/complete`
    await refused(['POST', complete('profile'), { user }], faults)
    await refused(['POST', complete('streak'), { user }], [...faults, 'the trigger "streak"'])
    await refused(['POST', complete('locked'), { user }], [...faults, 'This achievement is locked'])
    // A user who has it may complete it again.
    await refused(['POST', complete('locked'), { user: { ...user, id: 'had' } }], faults, ['locked'])
    const known = { user: { id: 'bob', attributes: { pln: 'a' } } }
    await refused(['POST', complete('locked'), known], ['This achievement is locked', ofUsers('pln')])
  })

  it('[E9] of every event of a batch', async () => {
    const event = (user: object, more = {}) => ({ key: 'words', user, value: 1, ...more })
    const batch = [
      event({ id: 'bob', tz: 'x', attributes: { pln: 'a' } }, { attributes: { pge: 'a' } }),
      event({ id: 'bob', subscribeToEmails: true }),
      event({ id: 'ada', subscribeToEmails: true }),
      null,
      event({ id: 'new', email: 'x' }),
      event({ id: 'new', subscribeToEmails: true }),
    ]
    const faults = [
      ...['0.user.tz: must be', '3: must be an object', '4.user.email: must be'],
      '0: Invalid attribute keys: pge. Attribute keys must match those configured for events',
      '0: Invalid attribute keys: pln. Attribute keys must match those configured for users',
      `1.user.${NO_ADDRESS}`,
    ]
    await refused(['POST', '/admin/v1/metrics/events', batch], faults, ['2.user', '5.user'])
  })

  it('[U7, G2] of preferences, before the 403 for a setting that users may not change', async () => {
    const streak = { evaluationMode: 'x', metrics: [{ key: 'pages', threshold: 0 }, 5, { key: 'none' }] }
    const body = { notifications: { recap: 'x' }, streak }
    const faults = [
      ...['notifications.recap: must be', 'streak.evaluationMode: must be', 'streak.metrics.0.threshold'],
      ...['streak.metrics.1: must be', 'streak.metrics.0.key: "pages"', 'streak.metrics.2.key: "none"'],
    ]
    await refused(['PATCH', '/v1/users/bob/preferences', body], faults)
    const patch = (own: unknown, more = {}) =>
      other.app('PATCH', '/users/bob/preferences', { streak: own, ...more })
    for (const own of [streak, { metrics: 'x' }, { evaluationMode: 5 }, { enabled: 'x', metrics: null }])
      expect((await patch(own)).status).toBe(422)
    const rightStreak = { evaluationMode: 'OR', metrics: [{ key: 'none', threshold: 1 }] }
    expect((await patch(rightStreak, { notifications: { recap: 'x' } })).status).toBe(422)
    expect((await patch(rightStreak)).status).toBe(403)
    expect(await stored()).toEqual(before)
  })

  it('[S1] of streak settings', async () => {
    const metrics = [{ key: 'none', threshold: 'x' }, { key: 'words', threshold: 1 }, null]
    const path = '/admin/v1/streaks/settings'
    const faults = ['metrics.0.key: there is no metric "none"', 'metrics.0.threshold', 'metrics.2: must be']
    const above = 'freezes.startCount: must not be above maxCount'
    const half = 'freezes.autoEarnAmount: must be set together'
    const patched = (change: object, named: string[], without?: string[]) =>
      refused(['PATCH', path, change], named, without)
    const several = { frequency: 'x', metrics, freezes: { startCount: 5, autoEarnInterval: 1 } }
    await patched(several, [...faults, 'frequency: must be', half, 'freezes.maxCount: must'])
    await patched({ metrics, freezes: { startCount: 5, maxCount: 4 } }, [...faults, above])
    await patched({ freezes: { startCount: 5, maxCount: 'x' } }, ['freezes.maxCount: must'], [above])
    const twice = [...metrics.slice(0, 2), { key: 'words', threshold: 1 }]
    await patched({ metrics: twice }, ['metrics: must name each metric once', faults[0] ?? ''])
  })

  it('[L6, L9] of a page of a leaderboard', async () => {
    const board = (key: string, query: string) =>
      ['GET', `/v1/leaderboards/${key}?${query}`] as [string, string]
    const tooLong = 'limit: must be at most 5'
    await refused(board('plain', 'offset=x&limit=6&userAttributes=plan:a'), [
      ...['offset: must be one whole number', tooLong, 'userAttributes: this leaderboard has no breakdown'],
    ])
    await refused(board('groups', 'offset=-1&limit=6'), [
      ...['offset: must not be negative without userId', tooLong, 'userAttributes: must name a group'],
    ])
    await refused(board('groups', 'run=x&userAttributes=tm:a'), ['run: must be a date', 'must not name tm'])
    const unreadable = ['userAttributes: must be key:value pairs', tooLong]
    await refused(board('groups', 'limit=6&userAttributes=x'), unreadable, ['must name a group'])
  })

  it('[P11] of a level summary', async () => {
    const path = '/v1/points/xp/level-summary?userAttributes='
    await refused(['GET', `${path}x`], ['userAttributes: must be key:value', 'has no levels'])
    await refused(['GET', `${path}pln:x`], ['has no levels', ofUsers('pln')])
  })

  it('and stores nothing', async () => {
    expect(await stored()).toEqual(before)
  })
})

describe('[G3] every operation with a body', () => {
  const SPOILT = { spoilt: { spoilt: true } }

  /** The paths of all fields of a body that hold no object with fields. */
  function fieldsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value).flatMap(([name, inner]) => {
      const own = [...path, name]
      const within = fieldsOf(inner, own)
      return within.length > 0 ? within : [own]
    })
  }

  /** The body with another value in each of these places: by default an object that no field accepts. */
  function spoilt(value: unknown, fields: readonly (readonly string[])[], by: unknown = SPOILT): unknown {
    if (fields.some((field) => field.length === 0)) return by
    if (fields.length === 0 || typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([name, inner]) => {
      const within = fields.filter(([first]) => first === name).map((field) => field.slice(1))
      return [name, spoilt(inner, within, by)]
    })
    return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
  }

  it('names each wrong field, also if all others are wrong too', async () => {
    const world = await walkIn(await newTenant(), 'faults')
    const { ask } = world
    /** Names of what does not exist: a 404 comes before a 422 (G2). */
    const unknown = new Set<string>()
    let fields = 0
    for (const spec of operations) {
      if (spec.account || !spec.body) continue
      for (const one of callsOf(spec, world)) {
        const errorOf = async (body: unknown) => {
          const answer = await ask(spec.method.toUpperCase(), pathOf(spec, one), one.headers ?? {}, body)
          return answer.status === 422 ? String(at(answer.body, 'error')).replace(/\.$/, '') : null
        }
        const alone: [readonly string[], string][] = []
        for (const field of fieldsOf(one.body)) {
          const error = await errorOf(spoilt(one.body, [field]))
          if (error !== null) alone.push([field, error])
          const broken = await errorOf(spoilt(one.body, [field], 'a\ud800'))
          const problem = expect.stringContaining(`${field.join('.')}: must have no unpaired surrogates`)
          if (broken === null) unknown.add(`${spec.id} ${field.at(-1)}`)
          else expect([spec.id, field, broken]).toEqual([spec.id, field, problem])
        }
        const wrong = alone.map(([field]) => field)
        const together = await errorOf(spoilt(one.body, wrong))
        for (const [field, error] of alone)
          expect([spec.id, field, together]).toEqual([spec.id, field, expect.stringContaining(error)])
        fields += alone.length
      }
    }
    // The operations of the account are not called with a body that would change something.
    const ofAccount = operations.filter((spec) => spec.account && spec.body && !spec.path.includes('{'))
    for (const spec of ofAccount) {
      const headers = { 'x-api-key': ADMIN_KEY }
      for (const [body, place] of [
        [{ new: [{ name: 'a\udc00' }] }, 'new.0.name'],
        [[{ name: 'a\udc00' }], '0.name'],
        ['\ud800', 'body'],
      ]) {
        const method = spec.method.toUpperCase()
        const answer = await call(toApp, method, `/admin/v1${spec.path}`, { body, headers })
        const problem = expect.stringContaining(`${place}: must have no unpaired surrogates`)
        expect([spec.id, answer.status, at(answer.body, 'error')]).toEqual([spec.id, 422, problem])
      }
    }
    expect([ofAccount.length > 4, fields > 100]).toEqual([true, true])
    expect([...unknown]).toEqual(['admin_metrics_batch_events key', 'admin_user_tokens_create userId'])
  })
})
