/** The audit log: a walk over all operations, secrets, filters, pages, erasure, faults, retention (Z1). */
import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import type { OperationSpec } from '../../src/api/endpoint'
import { deleteOutdatedEntries } from '../../src/configuration/audit.sql'
import { newInstance } from '../../src/configuration/configuration'
import { newContext } from '../../src/platform/context'
import { adminOperations } from '../../src/worker/operations'
import { present, START, TODAY } from '../helpers/time'
import { callsOf, carryOn, send as sendTo, type World } from '../helpers/walk'
import { intercepted, lost } from '../helpers/worker/faulty'
import {
  ADMIN_KEY,
  type Answer,
  account as accountThrough,
  at,
  call,
  databases,
  newApp,
  newTenant,
  nextPath,
  rowsEverywhere,
  type TestTenant,
} from '../helpers/worker/harness'
import { iidOf } from '../helpers/worker/stored-users'
import { walkIn } from '../helpers/worker/walked'

const ACCOUNT_KEY = { 'x-api-key': ADMIN_KEY }

const Entries = z.array(
  z.object({
    id: z.string(),
    at: z.string(),
    actor: z.object({ keyId: z.string().nullable(), name: z.string().nullable() }),
    action: z.string(),
    kind: z.string(),
    resourceId: z.string().nullable(),
    key: z.string().nullable(),
    fields: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
    requestId: z.string(),
  }),
)
type Entry = z.infer<typeof Entries>[number]

const app = newApp()

/** All entries of the log with a request's id. */
async function entriesOf(requestId: string): Promise<Record<string, unknown>[]> {
  return rowsEverywhere('SELECT * FROM audit_log WHERE request_id = ?1', requestId)
}

/** The number of entries of all logs. */
async function count(): Promise<number> {
  const rows = await rowsEverywhere<{ n: number }>('SELECT count(*) AS n FROM audit_log')
  return rows.reduce((sum, { n }) => sum + n, 0)
}

/** Calls an operation of the account through this file's app. */
const account = (method: string, path: string, body?: unknown) => accountThrough(method, path, body, app)

const requestIdOf = ({ headers }: Pick<Answer, 'headers'>) => headers.get('x-request-id') ?? 'none'

/** The entries that a request has left, newest first, as the interface shows them. */
async function left(tenant: TestTenant, answer: Answer): Promise<Entry[]> {
  const { body } = await tenant.admin('GET', '/audit-log?limit=100')
  return Entries.parse(body).filter(({ requestId }) => requestId === requestIdOf(answer))
}

/** The texts under these names anywhere in a value. */
function textsUnder(names: readonly string[], value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(names.includes(name) && typeof inner === 'string' ? [inner] : []),
    ...textsUnder(names, inner),
  ])
}

/** The operations that change nothing, although their method is that of a change. */
const CHANGES_NOTHING = [
  'admin_notification_templates_preview',
  'admin_notification_templates_preview_draft',
  'admin_user_tokens_create',
]

const isWrite = ({ id, method }: OperationSpec) => method !== 'get' && !CHANGES_NOTHING.includes(id)

// In order, because the last tests read the log that the walk leaves.
describe('[Z1] a walk over all admin operations', { shuffle: false }, () => {
  let world: World
  let tenant: TestTenant
  const secrets: string[] = []

  beforeAll(async () => {
    tenant = await newTenant(app)
    world = await walkIn(tenant, 'walker', ({ body }) => {
      secrets.push(...textsUnder(['secret'], body), ...keysIn(body))
    })
    await carryOn(world, 1)
    // A streak of cleo that was lost two days ago, so that the walk can restore it.
    await rowsEverywhere(
      "INSERT INTO streak_runs SELECT iid, ?2, ?2 + 4, ?2, '5e', 5, NULL FROM users WHERE tenant_id = ?1 AND id = 'cleo'",
      ...[tenant.id, TODAY - 7],
    )
  })

  /** The keys that a response shows, such as `app_….…`. */
  const keysIn = (body: unknown) =>
    textsUnder(['key'], body).filter((text) => /^(app|adm)_[\w-]{12}\./.test(text))

  it.each(adminOperations.filter(({ account }) => !account).map((spec) => [spec.id, spec] as const))(
    '%s leaves entries if it changes something',
    async (_id, spec) => {
      for (const one of callsOf(spec, world)) {
        const before = await count()
        const told = await sendTo(spec, one, world.ask)
        const entries = await entriesOf(requestIdOf(told))
        expect([spec.id, told.status, entries.length > 0]).toEqual([spec.id, told.status, isWrite(spec)])
        expect(await count()).toBe(before + entries.length)
        for (const { tenant_id: log } of entries) expect(log).toBe(tenant.id)
      }
    },
  )

  it('leaves no secret in any entry', async () => {
    expect(secrets.length).toBeGreaterThan(5)
    const text = JSON.stringify(await rowsEverywhere('SELECT * FROM audit_log'))
    for (const secret of [...secrets, ADMIN_KEY]) expect(text).not.toContain(secret)
    const stored = await rowsEverywhere<{ secret: string | null }>(
      'SELECT secret FROM webhooks UNION SELECT hash FROM api_keys UNION SELECT link_secret FROM tenants',
    )
    for (const { secret } of stored) if (secret) expect(text).not.toContain(secret)
  })

  it('has the key of each resource that has one', async () => {
    const results = await rowsEverywhere(
      `SELECT DISTINCT action, kind FROM audit_log WHERE tenant_id = ?1 AND key IS NULL
       AND kind IN ('attribute', 'metric', 'points_system', 'points_level', 'points_trigger', 'points_boost',
         'achievement', 'leaderboard', 'webhook', 'notification_template')`,
      tenant.id,
    )
    expect(results).toEqual([])
  })

  it('names no user by the external id in entries about users', async () => {
    const results = await rowsEverywhere(
      'SELECT fields, resource_id FROM audit_log WHERE tenant_id = ?1 AND user_iid IS NOT NULL',
      tenant.id,
    )
    expect(results.length).toBeGreaterThan(5)
    expect(JSON.stringify(results)).not.toMatch(/"(ada|bob|cleo|dora|eve|finn)\\?"/)
  })
})

describe('[Z1] operations of the account', () => {
  const tested = new Map<string, () => Promise<Answer>>()
  const idIn = (answer: Answer) => String(at(answer.body, 'created', 0, 'id'))

  const made = async () => idIn(await account('POST', '/tenants', [tenantItem()]))
  const tenantItem = () => ({ customerId: `audited-${crypto.randomUUID()}`, name: 'Audited' })
  const madeKey = async () => idIn(await account('POST', '/admin-api-keys', [{ name: 'Audited' }]))
  tested.set('admin_tenants_create', () => account('POST', '/tenants', [tenantItem()]))
  tested.set('admin_tenants_update', async () =>
    account('PATCH', '/tenants', [{ id: await made(), name: 'Renamed' }]),
  )
  tested.set('admin_tenants_delete', async () => account('DELETE', `/tenants?ids=${await made()}`))
  tested.set('admin_tenants_purge', async () => {
    const id = await made()
    await account('DELETE', `/tenants?ids=${id}`)
    return account('DELETE', `/tenants/${id}?purge=true`)
  })
  tested.set('admin_admin_keys_create', () => account('POST', '/admin-api-keys', [{ name: 'Audited' }]))
  tested.set('admin_admin_keys_delete', async () =>
    account('DELETE', `/admin-api-keys?ids=${await madeKey()}`),
  )
  tested.set('admin_admin_keys_rotate', async () =>
    account('POST', `/admin-api-keys/${await madeKey()}/rotate`),
  )
  tested.set('admin_test_clock_set', () => account('PUT', '/test-clock', { advance: 'PT1S' }))
  tested.set('admin_test_clock_reset', async () => {
    await account('PUT', '/test-clock', { advance: 'PT1S' })
    return account('DELETE', '/test-clock')
  })
  tested.set('admin_databases_rebalance', () =>
    account('POST', '/databases/rebalance', { weights: { DB: 2 } }),
  )

  afterEach(() => account('DELETE', '/test-clock'))

  it.each(adminOperations.filter((spec) => spec.account && isWrite(spec)).map((spec) => [spec.id]))(
    '%s leaves one entry in the log of the account',
    async (id) => {
      const before = await count()
      const request = tested.get(id)
      if (request === undefined) throw new Error(`add a request for ${id}`)
      const answer = await request()
      expect(answer.status).toBeLessThan(300)
      const entries = await entriesOf(requestIdOf(answer))
      expect(entries.map(({ tenant_id: log }) => log)).toEqual([''])
      expect(await count()).toBeGreaterThan(before)
      for (const key of textsUnder(['key'], answer.body)) expect(JSON.stringify(entries)).not.toContain(key)
    },
  )

  it('have their own list, and tenants have theirs', async () => {
    const created = await account('POST', '/tenants', [tenantItem()])
    const tenant = await newTenant(app)
    const metric = await tenant.admin('POST', '/metrics', [{ key: 'words', name: 'Words' }])
    const list = async (headers: Record<string, string>) => {
      const { body } = await call(app, 'GET', '/admin/v1/audit-log?limit=100', { headers })
      return Entries.parse(body).map(({ requestId }) => requestId)
    }
    const ofAccount = await list(ACCOUNT_KEY)
    expect(ofAccount).toContain(requestIdOf(created))
    expect(ofAccount).not.toContain(requestIdOf(metric))
    expect(await list({ ...ACCOUNT_KEY, 'tenant-id': tenant.id })).toEqual([requestIdOf(metric)])
  })

  it('share one log with everything else if there are no tenants', async () => {
    const single = newApp({ MULTI_TENANCY: 'off' })
    const key = await accountThrough('POST', '/admin-api-keys', [{ name: 'Only' }], single)
    const { body } = await accountThrough('GET', '/audit-log', undefined, single)
    expect(Entries.parse(body)[0]).toMatchObject({ requestId: requestIdOf(key), kind: 'admin_key' })
  })

  it('log a change of a tenant only if it is made, with the fields that it changes', async () => {
    const [first, second] = [tenantItem(), tenantItem()]
    const created = await account('POST', '/tenants', [first, second, first])
    expect((await entriesOf(requestIdOf(created))).length).toBe(2)
    const id = idIn(created)
    const taken = await account('PATCH', '/tenants', [{ id, customerId: second.customerId }])
    expect(await entriesOf(requestIdOf(taken))).toEqual([])
    const same = await account('PATCH', '/tenants', [{ id, name: first.name }])
    expect(await entriesOf(requestIdOf(same))).toEqual([])
    const renamed = await account('PATCH', '/tenants', [{ id, name: 'New', customerId: first.customerId }])
    const [entry] = await entriesOf(requestIdOf(renamed))
    expect(JSON.parse(String(entry?.fields))).toEqual({ name: { before: 'Audited', after: 'New' } })
    expect(entry).toMatchObject({ key: first.customerId, resource_id: id, action: 'update' })
    const archived = await account('DELETE', `/tenants?ids=${id}`)
    const again = await account('DELETE', `/tenants?ids=${id}`)
    expect((await entriesOf(requestIdOf(archived))).length).toBe(1)
    expect(await entriesOf(requestIdOf(again))).toEqual([])
    const active = await account(
      'DELETE',
      `/tenants/${String(at(created.body, 'created', 1, 'id'))}?purge=true`,
    )
    expect([active.status, await entriesOf(requestIdOf(active))]).toEqual([422, []])
  })

  it('[T3] about an erased tenant keep its id only', async () => {
    const item = { ...tenantItem(), name: 'Soon forgotten' }
    const id = idIn(await account('POST', '/tenants', [item]))
    await account('DELETE', `/tenants?ids=${id}`)
    await account('DELETE', `/tenants/${id}?purge=true`)
    const { results } = await env.DB.prepare('SELECT * FROM audit_log WHERE resource_id = ?1').bind(id).all()
    expect(results.map(({ action }) => action).sort()).toEqual(['archive', 'create', 'purge'])
    expect(JSON.stringify(results)).not.toContain(item.customerId)
    expect(JSON.stringify(results)).not.toContain('forgotten')
  })
})

describe('[Z1] an entry', () => {
  it('has the actor; an event leaves none', async () => {
    const tenant = await newTenant(app)
    const created = await tenant.admin('POST', '/metrics', [{ key: 'words', name: 'Words' }])
    expect(await left(tenant, created)).toMatchObject([{ actor: { keyId: null, name: 'ADMIN_API_KEY' } }])
    const { body } = await account('POST', '/admin-api-keys', [{ name: 'Ann' }])
    const headers = { 'x-api-key': String(at(body, 'created', 0, 'key')), 'tenant-id': tenant.id }
    const items = [{ key: 'words', name: 'W' }]
    const renamed = await call(app, 'PATCH', '/admin/v1/metrics', { headers, body: items })
    const actor = { keyId: at(body, 'created', 0, 'id'), name: 'Ann' }
    expect(await left(tenant, renamed)).toMatchObject([{ action: 'update', actor }])
    expect(await left(tenant, await tenant.event('words', 'ada', 5))).toEqual([])
  })

  it('is left by each resource that is deleted with another one', async () => {
    const tenant = await newTenant(app)
    const metricId = await tenant.metric('words')
    const systemId = await tenant.create('/points', { key: 'xp', name: 'XP' })
    const trigger = { type: 'metric', points: 1, metricId, metricThreshold: 1 }
    await tenant.admin('POST', `/points/${systemId}/triggers`, [trigger])
    await tenant.create('/leaderboards', { key: 'best', name: 'Best', rankBy: 'metric', metricId })
    const deleted = await tenant.admin('DELETE', `/metrics?ids=${metricId}`)
    const entries = await left(tenant, deleted)
    expect(entries.map(({ kind, action }) => `${action} ${kind}`).sort()).toEqual([
      'delete leaderboard',
      'delete metric',
      'delete points_trigger',
    ])
    for (const { fields } of entries) for (const { after } of Object.values(fields)) expect(after).toBeNull()
  })

  it('shows no query of a URL, and that a secret was replaced without its values', async () => {
    const tenant = await newTenant(app)
    const url = 'https://example.com/hooks?token=hush-hush#part'
    const id = await tenant.create('/webhooks', { url, events: ['*'], status: 'inactive' })
    const changed = await tenant.admin('PATCH', '/webhooks', [{ id, url: url.replace('token=', 'key=') }])
    expect((await left(tenant, changed))[0]?.fields).toEqual({
      url: { before: 'https://example.com/hooks', after: 'https://example.com/hooks' },
    })
    const rotated = await tenant.admin('POST', `/webhooks/${id}/rotate-secret`)
    expect((await left(tenant, rotated))[0]).toMatchObject({
      ...{ action: 'rotate', kind: 'webhook', resourceId: id },
      fields: { secret: { before: null, after: null } },
    })
    const badge = { url: 'https://example.com/badge.png?signature=hush-hush' }
    await tenant.create('/points', { key: 'xp', name: 'XP', badge })
    const named = { url: 'https://user:hush-hush@example.com/badge.png' }
    await tenant.create('/points', { key: 'gems', name: 'Gems', badge: named })
    const { body } = await tenant.admin('GET', '/audit-log?limit=100')
    expect(JSON.stringify(body)).not.toContain('hush')
  })

  it.each([
    ['is never long: texts are cut', 'long '.repeat(5_000), `${'long '.repeat(400)}…`],
    ['counts characters, not their halves', `${'x'.repeat(1_998)}😀😀😀`, `${'x'.repeat(1_998)}😀😀…`],
  ])('%s', async (_name, body, cut) => {
    const tenant = await newTenant(app)
    const template = { type: 'recap', channel: 'push', title: 'T', body }
    await tenant.create('/notifications/templates', template)
    const { body: log } = await tenant.admin('GET', '/audit-log')
    expect(Entries.parse(log)[0]?.fields.body?.after).toBe(cut)
  })
})

describe('[Z1, U8] an entry about a user', () => {
  it('names the internal id, and loses its fields when the user is erased', async () => {
    const tenant = await newTenant(app)
    await tenant.admin('PATCH', '/streaks/settings', { freezes: { startCount: 0, maxCount: 5 } })
    await tenant.app('PUT', '/users/ada', { name: 'Ada' })
    const start = new Date(START + 5 * 86_400_000).toISOString().slice(0, 10)
    const requests = [
      await tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId: 'ada' }, { userId: 'ada' }] }),
      await tenant.admin('POST', '/streaks/pauses', { pauses: [{ userId: 'ada', start, end: start }] }),
      await tenant.admin('POST', '/application-api-keys', [{ userId: 'ada' }]),
    ]
    const iid = await iidOf(tenant)
    const entries = (await Promise.all(requests.map((answer) => left(tenant, answer)))).flat()
    expect(entries.map(({ kind, action }) => `${action} ${kind}`)).toEqual([
      'grant streak_freezes',
      'create streak_pause',
      'create application_key',
    ])
    expect(entries[0]?.fields).toEqual({ freezes: { before: 0, after: 2 } })
    expect(entries[1]?.fields).toMatchObject({ start: { before: null, after: start } })
    for (const { resourceId } of entries) expect(resourceId).toBe(iid)

    const erased = await tenant.admin('DELETE', '/users/ada')
    expect(await left(tenant, erased)).toMatchObject([
      { action: 'delete', kind: 'user', resourceId: iid, fields: {} },
    ])
    for (const answer of requests) {
      const [entry] = await left(tenant, answer)
      expect(entry).toMatchObject({ resourceId: iid })
      expect(entry?.fields).toEqual({})
    }
    const again = await tenant.admin('DELETE', '/users/ada')
    expect(await left(tenant, again)).toEqual([])
  })

  it('has no id if the user of a key does not exist yet', async () => {
    const tenant = await newTenant(app)
    const answer = await tenant.admin('POST', '/application-api-keys', [{ userId: 'nobody-yet' }])
    const [entry] = await left(tenant, answer)
    expect(entry?.resourceId).toBeNull()
    expect(JSON.stringify(entry)).not.toContain('nobody-yet')
    const ids = String(at(answer.body, 'created', 0, 'id'))
    const deleted = await tenant.admin('DELETE', `/application-api-keys?ids=${ids}`)
    expect(await left(tenant, deleted)).toMatchObject([{ action: 'delete', kind: 'application_key' }])
  })
})

describe('[Z1] the list', () => {
  it('pages by a cursor, newest first, and filters by kind, key and actor', async () => {
    const tenant = await newTenant(app)
    for (const key of ['one', 'two', 'three']) await tenant.metric(key)
    await tenant.create('/attributes', { key: 'two', name: 'Two', type: 'user' })
    const keysOf = async (query: string) => {
      const found: (string | null)[] = []
      for (let path: string | null = `/audit-log?${query}`; path !== null; ) {
        const { body, headers } = await tenant.admin('GET', path)
        found.push(...Entries.parse(body).map(({ key }) => key))
        path = nextPath(headers)
      }
      return found
    }
    const all = await keysOf('limit=100')
    expect(all).toHaveLength(4)
    expect(await keysOf('limit=1')).toEqual(all)
    expect(await keysOf('limit=2')).toEqual(all)
    expect((await keysOf('kind=metric&limit=1')).sort()).toEqual(['one', 'three', 'two'])
    expect(await keysOf('key=two')).toEqual(['two', 'two'])
    expect(await keysOf('key=two&kind=attribute')).toEqual(['two'])
    expect(await keysOf('actor=ADMIN_API_KEY')).toEqual(all)
    expect(await keysOf(`actor=${crypto.randomUUID()}`)).toEqual([])
    const entries = Entries.parse((await tenant.admin('GET', '/audit-log?limit=100')).body)
    for (const entry of entries) {
      const alone = await tenant.admin('GET', `/audit-log?id=${entry.id.toUpperCase()}&limit=1`)
      expect([alone.body, alone.headers.get('link')]).toEqual([[entry], null])
    }
    expect((await tenant.admin('GET', `/audit-log?id=${entries[0]?.id}&kind=event`)).body).toEqual([])
    expect((await (await newTenant(app)).admin('GET', `/audit-log?id=${entries[0]?.id}`)).body).toEqual([])
    for (const query of ['id=x', 'kind=none', 'limit=101', 'after=x', 'key=a&key=b'])
      expect((await tenant.admin('GET', `/audit-log?${query}`)).status).toBe(422)
  })

  it('filters by the user, also behind many entries about others', async () => {
    const tenant = await newTenant(app)
    await tenant.admin('PATCH', '/streaks/settings', { freezes: { startCount: 0, maxCount: 5 } })
    for (const id of ['ada', 'bob']) await tenant.app('PUT', `/users/${id}`, { name: id })
    for (const userId of ['ada', 'bob', 'ada'])
      await tenant.admin('POST', '/streaks/freezes', { freezes: [{ userId }] })
    await tenant.admin('POST', '/application-api-keys', [{ userId: 'ada' }])
    await rowsEverywhere(
      `INSERT INTO audit_log (tenant_id, id, at, action, kind, request_id, fields)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
       SELECT ?1, printf('ffffffff-ffff-7fff-8fff-%012d', i), 0, 'update', 'metric', 'none', '{}' FROM n`,
      tenant.id,
    )
    const of = async (query: string) => tenant.admin('GET', `/audit-log?${query}`)
    const kinds = (answer: Answer) => Entries.parse(answer.body).map(({ kind }) => kind)
    const page = await of('userId=ada&limit=2')
    expect(kinds(page)).toEqual(['application_key', 'streak_freezes'])
    expect(kinds(await tenant.admin('GET', nextPath(page.headers) ?? ''))).toEqual(['streak_freezes'])
    expect(kinds(await of('userId=ada&kind=application_key'))).toEqual(['application_key'])
    expect(kinds(await of('userId=bob'))).toEqual(['streak_freezes'])
    const none = [await of('userId=nobody'), await account('GET', '/audit-log?userId=ada')]
    expect(none.map(({ status, body }) => [status, body])).toEqual([
      [200, []],
      [200, []],
    ])
    expect((await of('userId=a&userId=b')).status).toBe(422)
  })

  it('leaves changes of the test clock out, unless `kind` or `id` asks for them', async () => {
    const moved = await account('PUT', '/test-clock', { advance: 'PT1S' })
    const made = await account('POST', '/admin-api-keys', [{ name: 'After the move' }])
    const entries = async (query: string) => Entries.parse((await account('GET', `/audit-log?${query}`)).body)
    const all = await entries('limit=100')
    expect(all.map(({ requestId }) => requestId)).toContain(requestIdOf(made))
    expect(all.filter(({ kind }) => kind === 'test_clock')).toEqual([])
    const clocks = await entries('kind=test_clock&limit=100')
    const clock = clocks.find(({ requestId }) => requestId === requestIdOf(moved))
    expect(clock).toBeDefined()
    expect(await entries(`id=${clock?.id}`)).toEqual([clock])
  })

  it('continues after a scan without enough matches', async () => {
    const tenant = await newTenant(app)
    await tenant.metric('first')
    const many = `
      INSERT INTO audit_log (tenant_id, id, at, action, kind, request_id, fields)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      SELECT ?1, printf('ffffffff-ffff-7000-8000-%012x', i), 0, 'update', 'settings', 'many', '{}' FROM n`
    await env.DB.prepare(many).bind(tenant.id).run()
    const first = await tenant.admin('GET', '/audit-log?kind=metric')
    expect(first.body).toEqual([])
    const second = await tenant.admin('GET', nextPath(first.headers) ?? '')
    expect(Entries.parse(second.body).map(({ key }) => key)).toEqual(['first'])
    expect(second.headers.get('link')).toBeNull()
  })

  it('needs an admin key, and an existing tenant', async () => {
    const tenant = await newTenant(app)
    const key = await tenant.key('ada')
    const asked = (headers: Record<string, string>) => call(app, 'GET', '/admin/v1/audit-log', { headers })
    expect((await asked({ 'x-api-key': key })).status).toBe(403)
    expect((await asked({ 'x-api-key': key, 'tenant-id': tenant.id })).status).toBe(403)
    expect((await asked({ ...ACCOUNT_KEY, 'tenant-id': crypto.randomUUID() })).status).toBe(404)
  })

  it('has entries of the last year only, and older ones are deleted', async () => {
    const tenant = await newTenant(app)
    const old = async (id: string) =>
      env.DB.prepare(
        "INSERT INTO audit_log (tenant_id, id, at, action, kind, request_id, fields) VALUES (?1, ?2, 0, 'update', 'settings', 'old', '{}')",
      )
        .bind(tenant.id, id)
        .run()
    const idAt = (ms: number) => {
      const time = Math.floor(ms).toString(16).padStart(12, '0')
      return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
    }
    const year = 365 * 86_400_000
    await old(idAt(present() - year - 60_000))
    const kept = idAt(present() - year + 60_000)
    await old(kept)
    const { body } = await tenant.admin('GET', '/audit-log')
    expect(Entries.parse(body).map(({ id }) => id)).toEqual([kept])
    await deleteOutdatedEntries(newContext(newInstance(), env, () => undefined))
    const { results } = await env.DB.prepare('SELECT id FROM audit_log WHERE tenant_id = ?1')
      .bind(tenant.id)
      .all()
    expect(results).toEqual([{ id: kept }])
  })
})

// It loses batches of the only database.
describe.skipIf(databases().length > 1)('[Z1] a batch that fails', () => {
  /** D1 that loses the next batch with an entry, before or after it is stored. */
  const losing = (when: 'before' | 'after') => {
    let left = 1
    const DB = intercepted(env.DB, async ({ texts, run }) => {
      if (left === 0 || !texts.some((text) => text.includes('INTO audit_log'))) return run()
      left -= 1
      if (when === 'after') await run()
      throw lost()
    })
    return newApp({ DB })
  }
  const requests = [
    ['POST', '/metrics', [{ key: 'words', name: 'Words' }], 'SELECT 1 FROM metrics WHERE tenant_id = ?1'],
    ['POST', '/application-api-keys', [{ userId: 'ada' }], 'SELECT 1 FROM api_keys WHERE tenant_id = ?1'],
    [
      ...['POST', '/streaks/pauses'],
      { pauses: [{ userId: 'ada', start: '2100-01-01', end: '2100-01-02' }] },
      'SELECT 1 FROM streak_pauses WHERE tenant_id = ?1',
    ],
    [
      'DELETE',
      '/users/ada',
      undefined,
      'SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM users WHERE tenant_id = ?1)',
    ],
  ] as [string, string, unknown, string][]

  it.each(requests.flatMap((one) => [['before', ...one] as const, ['after', ...one] as const]))(
    'leaves an entry if and only if the change is stored: lost %s it is stored: %s %s',
    async (when, method, path, body, changed) => {
      const tenant = await newTenant(app)
      await tenant.app('PUT', '/users/ada', {})
      const request = new Request(`http://laurel.test/admin/v1${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...ACCOUNT_KEY, 'tenant-id': tenant.id },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      await losing(when)(request)
      const { results } = await env.DB.prepare(changed).bind(tenant.id).all()
      const entries = await env.DB.prepare('SELECT 1 FROM audit_log WHERE tenant_id = ?1')
        .bind(tenant.id)
        .all()
      expect(entries.results.length).toBe(results.length)
    },
  )
})
