import { beforeEach, describe, expect, it } from 'vitest'
import { at, list, NOBODY, newTenant, pick, type TestTenant } from '../helpers/worker/harness'
import { filter, type World, world } from '../helpers/worker/world'

/* Keys in the place of ids, beside what resources.test.ts tests of all resources (O1). */

let s: World
let tenant: TestTenant
beforeEach(async () => {
  s = await world()
  tenant = s.tenant
})

const ask = (method: string, path: string, body?: unknown) => tenant.admin(method, path, body)
const TRIGGERS = '/points/xp/triggers'
const metric = (more: object) => ({ type: 'metric', metricThreshold: 1, points: 1, ...more })

describe('[O1] references by key', () => {
  /** Creates an item. Returns it, or the message of the issue. */
  const created = async (path: string, item: object) => {
    const { body } = await ask('POST', path, [item])
    return at(body, 'issues', 0, 'message') ?? at(body, 'created', 0)
  }
  const unknown = (field: string) => expect.stringMatching(new RegExp(`^${field}: no .* has the key "none"`))
  const differ = (fields: string) => expect.stringMatching(new RegExp(`^${fields} name different resources`))

  it('of a trigger', async () => {
    const first = await tenant.create('/achievements', { key: 'first', name: 'F', trigger: 'api' })
    const { words: metricId } = s
    for (const [item, shown] of [
      [metric({ metricKey: 'words' }), expect.objectContaining({ metricId })],
      [metric({ metricKey: 'words', metricId }), expect.objectContaining({ metricId })],
      [metric({ metricKey: 'none' }), unknown('metricKey')],
      [metric({ metricKey: 'words', metricId: NOBODY }), differ('metricId and metricKey')],
      [
        { type: 'achievement', achievementKey: 'first', points: 1 },
        expect.objectContaining({ achievementId: first }),
      ],
    ] as const)
      expect([item, await created(TRIGGERS, item)]).toEqual([item, shown])
    expect((await ask('POST', TRIGGERS, [metric({})])).status).toBe(422)
    const changed = await ask('PATCH', TRIGGERS, [{ key: 'metric-words-1', metricKey: 'pages' }])
    expect(at(changed.body, 'updated', 0)).toMatchObject({ key: 'metric-words-1', metricId: s.pages })
    const nested = { key: 'coins', name: 'C', triggers: [metric({ metricKey: 'none' })] }
    expect(await created('/points', nested)).toMatch(/^triggers\.0: metricKey: no metric/)
  })

  it('of filters, each by attributes of its type', async () => {
    const event = await tenant.create('/attributes', { key: 'plan', name: 'P', type: 'event' })
    const byKey = [{ attributeKey: 'plan', attributeValue: 'pro' }]
    const both = { userAttributes: byKey, eventAttributes: byKey }
    const ofUser = { userAttributes: filter(s.plan, 'pro') }
    const ofBoth = { ...ofUser, eventAttributes: filter(event, 'pro') }
    const achievement = { key: 'a', name: 'A', trigger: 'metric', metricKey: 'words', metricValue: 1 }
    const boost = { name: 'B', start: '2026-01-01', multiplier: 2 }
    const template = { type: 'recap', channel: 'push', title: 'T', body: 'B' }
    for (const [path, item, shown] of [
      [TRIGGERS, metric({ metricId: s.words, ...both }), ofBoth],
      ['/achievements', { ...achievement, ...both }, { metricId: s.words, ...ofBoth }],
      ['/points/xp/boosts', { ...boost, userAttributes: byKey }, ofUser],
      ['/notifications/templates', { ...template, userAttributes: byKey }, ofUser],
    ] as const)
      expect([path, await created(path, item)]).toEqual([path, expect.objectContaining(shown)])
    for (const [wrong, message] of [
      [{ attributeKey: 'none' }, unknown('attributeKey')],
      [{ attributeKey: 'plan', attributeId: event }, differ('attributeId and attributeKey')],
    ] as const) {
      const userAttributes = [{ attributeValue: 'x', ...wrong }]
      expect(await created(TRIGGERS, metric({ metricId: s.words, userAttributes }))).toEqual(message)
    }
    const nameless = metric({ metricId: s.words, userAttributes: [{ attributeValue: 'x' }] })
    const { status, body } = await ask('POST', TRIGGERS, [nameless])
    expect([status, at(body, 'error')]).toEqual([422, expect.stringContaining('attributeId: must be a UUID')])
    // The filters work: the trigger and the boost apply to the user and the event with these values.
    await ask('PATCH', TRIGGERS, [{ key: 'metric-words-1', status: 'active' }])
    const pro = { id: 'bob', attributes: { plan: 'pro' } }
    const answer = await tenant.event('words', pro, 1, { attributes: { plan: 'pro' } })
    expect(at(answer.body, 'points', 'xp', 'added')).toBe(2)
  })

  it('of a composite, also to achievements of the same request', async () => {
    const composite = (key: string, ...achievementKeys: string[]) => ({
      ...{ key, name: key, trigger: 'achievement', achievementKeys },
    })
    const { body } = await ask('POST', '/achievements', [
      ...['one', 'two'].map((key) => ({ key, name: key, trigger: 'api' })),
      ...[composite('both', 'two', 'one'), composite('odd', 'none')],
    ])
    const [one, two] = pick(at(body, 'created'), 'id')
    expect(at(body, 'created', 2, 'achievementIds')).toEqual([two, one])
    expect(at(body, 'issues', 0)).toMatchObject({ index: 3, message: unknown('achievementKeys') })
    const change = { key: 'both', achievementKeys: ['one'], achievementIds: [NOBODY] }
    const changed = await ask('PATCH', '/achievements', [change])
    expect(at(changed.body, 'issues', 0, 'message')).toEqual(differ('achievementIds and achievementKeys'))
  })

  it('of a leaderboard', async () => {
    const ofWords = { rankBy: 'metric', metricKey: 'words' }
    for (const [key, item, shown] of [
      [
        'a',
        {
          ...{ ...ofWords, breakdownAttributeKeys: ['plan'] },
          userAttributes: [{ attributeKey: 'plan', attributeValue: 'pro' }],
        },
        {
          ...{ metricId: s.words, breakdownAttributes: [s.plan] },
          userAttributes: [{ attributeId: s.plan, attributeValue: 'pro' }],
        },
      ],
      ['b', { rankBy: 'points', pointsSystemKey: 'xp' }, { pointsSystemId: s.xp }],
    ] as const)
      expect(await created('/leaderboards', { key, name: 'B', ...item })).toMatchObject(shown)
    const wrong = { key: 'c', name: 'B', rankBy: 'streak', breakdownAttributeKeys: ['page'] }
    expect(await created('/leaderboards', wrong)).toMatch(
      /^breakdownAttributeKeys: no user attribute has the key "page"/,
    )
    const { body } = await ask('PATCH', '/leaderboards', [{ key: 'b', ...ofWords }])
    expect(at(body, 'updated', 0)).toMatchObject({ key: 'b', metricId: s.words })
  })

  it('never name a resource of another tenant, nor a deleted one', async () => {
    await (await newTenant()).metric('theirs')
    await ask('DELETE', '/metrics?keys=pages')
    const keys = ['theirs', 'pages', '__proto__', 'constructor', 'toString']
    const items = keys.map((metricKey) => metric({ metricKey }))
    const { status, body } = await ask('POST', TRIGGERS, items)
    expect([status, pick(at(body, 'issues'), 'message')]).toEqual([
      200,
      keys.map((key) => expect.stringContaining(`no metric has the key "${key}"`)),
    ])
  })
})

describe('[O1] a user attribute and an event attribute with the same key', () => {
  it('are told apart by type', async () => {
    const user = s.plan
    const event = await tenant.create('/attributes', { key: 'plan', name: 'E', type: 'event' })
    const both = await ask('GET', '/attributes/plan')
    expect([both.status, at(both.body, 'error')]).toEqual([
      422,
      expect.stringContaining('?type=user or ?type=event'),
    ])
    for (const [path, id] of [
      ['plan?type=user', user],
      ['plan?type=event', event],
      [user, user],
      [event, event],
    ])
      expect([path, at((await ask('GET', `/attributes/${path}`)).body, 'id')]).toEqual([path, id])
    expect((await ask('GET', '/attributes/plan?type=x')).status).toBe(422)
    expect(pick((await ask('GET', '/attributes?key=plan')).body, 'key')).toEqual(['plan', 'plan'])
    const { body } = await ask('PATCH', '/attributes', [
      { key: 'plan', name: 'Any' },
      { key: 'plan', type: 'event', name: 'Of events' },
      { id: user, type: 'event', name: 'Of users' },
    ])
    expect(at(body, 'updated')).toMatchObject([
      { id: event, name: 'Of events' },
      { id: user, type: 'user', name: 'Of users' },
    ])
    const never = expect.stringContaining('The type of an attribute never changes')
    expect(at(body, 'issues')).toMatchObject([
      { key: 'plan', severity: 'error', message: expect.stringContaining('Pass type too') },
      { id: user, severity: 'warning', message: never },
    ])
    const unclear = await ask('DELETE', '/attributes?keys=plan')
    expect(unclear.body).toMatchObject({ deleted: [], issues: [{ key: 'plan' }] })
    const { body: gone } = await ask('DELETE', '/attributes?keys=plan&type=user')
    expect(list(at(gone, 'deleted'))).toEqual([{ id: user }])
    expect(at((await ask('GET', '/attributes/plan')).body, 'id')).toBe(event)
  })
})

it('[O1] operations on a webhook and a template take its key', async () => {
  const hook = { key: 'hook', url: 'https://example.com', events: ['*'], status: 'inactive' }
  await tenant.create('/webhooks', hook)
  const template = { key: 'recap', type: 'recap', channel: 'push', title: 'T', body: 'B' }
  await tenant.create('/notifications/templates', template)
  expect((await ask('GET', '/webhooks/hook/deliveries')).status).toBe(200)
  expect(at((await ask('POST', '/webhooks/hook/rotate-secret')).body, 'key')).toBe('hook')
  expect((await ask('POST', '/webhooks/hook/test', { type: 'streak.lost' })).status).toBe(422)
  const preview = await ask('POST', '/notifications/templates/recap/preview', { userId: 'ada' })
  expect([preview.status, at(preview.body, 'title')]).toEqual([200, 'T'])
  for (const path of ['/webhooks/none/deliveries', '/points/none/levels', '/points/none/boosts/x'])
    expect([path, (await ask('GET', path)).status]).toEqual([path, 404])
})
