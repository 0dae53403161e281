/**
 * Nothing crosses tenants (T3): a walk through every operation, and through everything else that tenants
 * share.
 */
import { runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { IMPLICIT_TENANT_ID } from '../../src/access/tenants.sql'
import type { OperationSpec } from '../../src/api/endpoint'
import { casesOf, runs } from '../helpers/runs'
import { START } from '../helpers/time'
import {
  type Ask,
  calls,
  callsOf,
  carryOn,
  fault,
  operations,
  pathOf,
  send,
  settle,
  specOf,
  type World,
} from '../helpers/walk'
import { words } from '../helpers/words'
import {
  ADMIN_KEY,
  account,
  at,
  call,
  everything,
  list,
  newApp,
  newTenant,
  newTenantInLast,
  pick,
  rowsEverywhere,
  toApp,
} from '../helpers/worker/harness'
import { manyUsers } from '../helpers/worker/many-users'
import { ASLEEP } from '../helpers/worker/objects'

const DAY = 86_400_000
const MARKS = { alpha: 777, beta: 3 } as const
type PeriodKind = keyof typeof MARKS

/**
 * The operations of the whole account, which take no `Tenant-ID`: tenants and admin keys are above tenants,
 * and there is one clock and one state of the service (K4, T2, C1, G12). tenants-admin.test.ts, keys.test.ts,
 * clock.test.ts and status.test.ts test them.
 */
const OF_THE_ACCOUNT = words`
  admin_tenants_list admin_tenants_create admin_tenants_update admin_tenants_delete admin_tenants_get
  admin_tenants_purge admin_admin_keys_list admin_admin_keys_create admin_admin_keys_delete
  admin_admin_keys_rotate admin_test_clock_get admin_test_clock_set admin_test_clock_reset admin_status
  admin_session_get admin_environments_list admin_databases admin_databases_rebalance
`

const ofTenants = operations.filter(({ account }) => !account)
const reads = ofTenants.filter(({ method }) => method === 'get')
/**
 * The reads of a life, which is compared with a life without another tenant. The audit log and the analytics
 * are not among them: both keep what tests before the walk did, also about users who were erased since (Z1,
 * I1).
 */
const readsOfLife = reads.filter(
  ({ id }) => id !== 'admin_audit_log' && !id.endsWith('_analytics') && id !== 'admin_analytics_overview',
)
const writes = ofTenants.filter(({ method }) => method !== 'get')

/** Noon of a day some days ahead. The year does not end during the walk. */
const start = START + 2 * DAY
const date = (days: number) => new Date(start + days * DAY).toISOString().slice(0, 10)

const admin = async (method: string, path: string, body?: unknown) => {
  const answer = await account(method, path, body)
  expect(answer.status).toBeLessThan(300)
  return answer.body
}

/** Moves the clock, which runs the due work of all tenants. */
const move = (days: number) =>
  admin('PUT', '/test-clock', { now: new Date(start + days * DAY).toISOString() })

/* A tenant's data */

/** A tenant and its side of the walk. */
type Side = { id: string; customerId: string; world: World }

/**
 * Makes a tenant. Calls name it by the customer's identifier and by the UUID in turn. Beta's calls use the
 * older base, `/api`, so that the walk covers every operation under both (G1).
 */
async function newSide(
  mark: PeriodKind,
): Promise<{ id: string; customerId: string; world: Omit<World, 'ids'> }> {
  const customerId = `customer ${mark}`
  const body = await admin('POST', '/tenants', [{ customerId, name: `Tenant ${mark}` }])
  const id = String(at(body, 'created', 0, 'id'))
  let asked = 0
  const ask: Ask = (method, path, headers, content) => {
    asked += 1
    const tenant = asked % 2 === 0 ? id : customerId
    const all = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant, ...headers }
    const under = mark === 'beta' ? path.replace(/^\/v1\//, '/api/') : path
    return call(toApp, method, under, { body: content, headers: all })
  }
  return { id, customerId, world: { ask, mark, factor: MARKS[mark], day: date } }
}

/** Sets up tenants of these marks, one after another, and lets three days pass in all of them. */
async function settled(...marks: PeriodKind[]): Promise<Side[]> {
  await move(0)
  const sides: Side[] = []
  for (const mark of marks) {
    const { world, ...rest } = await newSide(mark)
    sides.push({ ...rest, world: await settle(world) })
  }
  for (const day of [1, 2, 3]) {
    await move(day)
    for (const { world } of sides) await carryOn(world, day)
    // Ranks among all users exist from the next day on.
    for (const side of sides) await walk(side, [specOf('users_wrapped')], new Transcript())
  }
  return sides
}

const Row = z.record(z.string(), z.unknown())

/** Every row of all databases, also as JSON after the name of its table. The prefixes of deleted keys have no owner. */
async function allRows() {
  const { deleted_keys: _, ...tables } = await everything()
  return Object.entries(tables).flatMap(([table, rows]) =>
    rows.map((text) => ({ table, owned: Row.parse(JSON.parse(text)), text: `${table} ${text}` })),
  )
}

const textsOfAll = async () => (await allRows()).map(({ text }) => text)

/** Ids of tenants' users and triggers, by tenant. Ids of deleted ones stay. */
const inner = new Map<string, Set<string>>()

/** The rows of a tenant, and all other rows, both sorted. */
async function rowsOf(tenantId: string): Promise<{ own: string[]; others: string[] }> {
  const rows = await allRows()
  const known = inner.get(tenantId) ?? new Set()
  inner.set(tenantId, known)
  for (const { table, owned } of rows) {
    if (owned.tenant_id !== tenantId) continue
    if (table === 'users') known.add(String(owned.iid))
    if (table === 'points_triggers') known.add(String(owned.id))
  }
  const isOwn = ({ table, owned }: (typeof rows)[number]) =>
    table === 'tenants'
      ? owned.id === tenantId
      : owned.tenant_id === tenantId ||
        known.has(String(owned.user_iid)) ||
        known.has(String(owned.trigger_id))
  const [own, others]: [string[], string[]] = [[], []]
  for (const row of rows) (isOwn(row) ? own : others).push(row.text)
  return { own: own.sort(), others: others.sort() }
}

const UUIDS = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g
const uuidsIn = (texts: readonly string[]) => new Set(texts.flatMap((text) => text.match(UUIDS) ?? []))

/* The walk */

/**
 * A request and its response. Ids, keys and secrets differ each time, so they are numbered in the order of
 * appearance.
 */
type Entry = [request: string, status: number, body: string]

/**
 * An export lists items by ids. Ids of one moment have no defined order, so this sorts by the rest of each
 * item.
 */
function ordered(body: unknown): unknown {
  const exported = z.looseObject({ exported: z.string() }).safeParse(body).data
  if (exported === undefined) return body
  const text = (item: unknown) => JSON.stringify(item).replaceAll(UUIDS, '')
  const sorted = Object.entries(exported).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.toSorted((a, b) => (text(a) < text(b) ? -1 : 1)) : value,
  ])
  return Object.fromEntries(sorted)
}

class Transcript {
  readonly entries: Entry[] = []
  readonly #names = new Map<string, string>()

  #numbered(text: string): string {
    const pattern =
      /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|app_[\w-]+(?:\.[\w-]+)?|eyJ[\w-]+(?:\.[\w-]+){2}|whsec_[\w+/]+=*|unsubscribe\/[\w.-]+/g
    return text.replaceAll(pattern, (found) => {
      const name = this.#names.get(found) ?? `<${this.#names.size}>`
      this.#names.set(found, name)
      return name
    })
  }

  add(request: string, status: number, body: unknown): void {
    // A ticket ends by real time (Y2), everything else by the test clock.
    const told = request.endsWith('/live-tickets') ? { ticket: at(body, 'ticket') } : body
    this.entries.push([this.#numbered(request), status, this.#numbered(JSON.stringify(ordered(told)))])
  }
}

/** Checks that two transcripts are equal. Fails with the first response that differs. */
function expectSame(one: Transcript, other: Transcript): void {
  const parsed = ([request, status, body]: Entry) => [request, status, JSON.parse(body)]
  for (const [index, entry] of one.entries.entries()) {
    const twin = other.entries[index]
    // Parsed first, so that a failure is easy to read.
    if (JSON.stringify(entry) !== JSON.stringify(twin)) expect(parsed(entry)).toEqual(twin && parsed(twin))
    expect(entry).toEqual(twin)
  }
  expect(one.entries).toHaveLength(other.entries.length)
}

/** Calls operations in a world and records the responses. Runs `check` after each call. */
async function walk(
  { world }: Side,
  specs: readonly OperationSpec[],
  into = new Transcript(),
  check?: (request: string, body: unknown) => Promise<void>,
): Promise<Transcript> {
  for (const spec of specs) {
    for (const one of callsOf(spec, world)) {
      const told = await send(spec, one, world.ask)
      const wrong = fault(spec, told)
      if (wrong !== null) throw new Error(wrong)
      const request = `${spec.method} ${pathOf(spec, one)}`
      into.add(request, told.status, told.body)
      await check?.(request, told.body)
    }
  }
  return into
}

/**
 * The whole life of a tenant: reads everything, writes everything, and reads everything again. The work that
 * a write makes due is done before the next write, so that the order is the same each time.
 */
async function live(side: Side, into: Transcript, check?: (request: string, body: unknown) => Promise<void>) {
  await walk(side, readsOfLife, into, check)
  for (const spec of writes) {
    await walk(side, [spec], into, check)
    await move(3)
  }
  return walk(side, readsOfLife, into, check)
}

/** The texts that are not among the others. */
const without = (texts: Iterable<string>, others: Iterable<string>) => {
  const known = new Set(others)
  return [...new Set(texts)].filter((text) => !known.has(text))
}

/** The rows that are not in both lists. */
const changed = (before: readonly string[], after: readonly string[]) => [
  ...without(before, after),
  ...without(after, before),
]

/** After how many writes the rows of other tenants are compared. */
const OFTEN = runs(10, 1)

/**
 * Checks for each response of one tenant that it contains nothing of the other's. `end` checks that no row of other
 * tenants changed, as some of the responses do, so that a change tells what made it.
 */
async function keepingTo(mine: Side, theirs: Side) {
  const before = await rowsOf(mine.id)
  const foreign = without(uuidsIn((await rowsOf(theirs.id)).own), uuidsIn(before.own))
  expect(foreign.length).toBeGreaterThan(50)
  const end = async (request = 'the last one') => {
    const rows = changed(before.others, (await rowsOf(mine.id)).others)
    expect({ request, rows }).toEqual({ request, rows: [] })
  }
  let written = 0
  const check = async (request: string, body: unknown) => {
    const text = JSON.stringify(body)
    const told = [theirs.world.mark, theirs.id, ...foreign].filter((one) => text.includes(one))
    expect({ request, told }).toEqual({ request, told: [] })
    if (request.startsWith('get ')) return
    written += 1
    if (written % OFTEN === 0) await end(request)
  }
  return { check, end }
}

/** The names of the ids that calls of an operation use. */
function idsIn(spec: OperationSpec, world: World): string[] {
  const used = new Set<string>()
  const ids = (name: string) => {
    used.add(name)
    return world.ids(name)
  }
  callsOf(spec, { ...world, ids })
  return [...used]
}

const Parts = z.object({
  created: z.array(z.unknown()).optional(),
  updated: z.array(z.unknown()).optional(),
  deleted: z.array(z.unknown()).optional(),
  issues: z.array(z.unknown()),
})

/**
 * Calls operations in a tenant with one id of another tenant at a time. Returns the responses that are not
 * refused.
 */
async function trespass(mine: Side, theirs: Side): Promise<string[]> {
  const found: string[] = []
  let tried = 0
  for (const spec of ofTenants) {
    for (const foreign of idsIn(spec, mine.world)) {
      const ids = (name: string) => (name === foreign ? theirs.world.ids(name) : mine.world.ids(name))
      for (const one of callsOf(spec, { ...mine.world, ids })) {
        const { status, body } = await send(spec, one, mine.world.ask)
        tried += 1
        const parts = Parts.safeParse(body).data
        const isRefused =
          status === 404 ||
          (parts !== undefined &&
            parts.issues.length > 0 &&
            [parts.created, parts.updated, parts.deleted].every((list) => !list?.length))
        if (!isRefused) found.push(`${spec.id}, ${foreign}: ${status} ${JSON.stringify(body)}`)
      }
    }
  }
  expect(tried).toBeGreaterThan(40)
  return found
}

const errors = vi.spyOn(console, 'error')
afterEach(() => {
  const logged = errors.mock.calls.flat()
  errors.mockClear()
  expect(logged).toEqual([])
})

it('[T3] the walk knows every operation of both interfaces, and which operations are above tenants', () => {
  expect(operations.filter(({ account }) => account).map(({ id }) => id)).toEqual(OF_THE_ACCOUNT)
  expect([...calls.keys()].toSorted()).toEqual(ofTenants.map(({ id }) => id).toSorted())
})

// test/helpers/conformance.ts checks that no other operation shows a secret, and that caches may store no response.
it('[K1, W1, N3] operations that return secrets say so in the documents', () => {
  expect(operations.filter(({ secret }) => secret).map(({ id }) => id)).toEqual(words`
    live_tickets_create admin_users_export admin_webhooks_create admin_webhooks_rotate_secret
    admin_notification_templates_preview admin_notification_templates_preview_draft admin_notifications_log
    admin_application_api_keys_create admin_user_tokens_create admin_admin_keys_create admin_admin_keys_rotate
  `)
})

// In order, because it is one story: figures, then the walks, then archived tenants.
describe('[T3] two tenants with the same keys, users and idempotency keys', { shuffle: false }, () => {
  let alpha: Side
  let beta: Side
  /** Beta's whole life without another tenant. */
  let alone: Transcript
  let inCompany: Transcript

  beforeAll(async () => {
    const [only] = await settled('beta')
    if (only === undefined) throw new Error('nobody')
    alone = await live(only, new Transcript())
    await move(4)
    await walk(only, readsOfLife, alone)
    await admin('DELETE', `/tenants?ids=${only.id}`)
    await admin('DELETE', '/test-clock')

    const [first, second] = await settled('alpha', 'beta')
    if (first === undefined || second === undefined) throw new Error('nobody')
    alpha = first
    beta = second
  }, 120_000)
  afterAll(() => admin('DELETE', '/test-clock'))

  it('an application key is unknown in the other tenant, and in its own it reads the same as the tenant’s admin', async () => {
    for (const mine of [alpha, beta]) {
      const theirs = mine === alpha ? beta : alpha
      const { ask } = mine.world
      const made = await ask('POST', '/admin/v1/application-api-keys', {}, [{ userId: 'ada' }])
      const { id, key } = Object(at(made.body, 'created', 0))
      let same = 0
      for (const spec of ofTenants) {
        for (const one of callsOf(spec, mine.world)) {
          const as =
            (headers: Record<string, string>) => (method: string, path: string, _: unknown, body: unknown) =>
              call(toApp, method, path, { body, headers: { 'x-api-key': key, ...headers } })
          const tenant = spec.method === 'get' ? theirs.id : theirs.customerId
          const refused = await send(spec, one, as({ 'tenant-id': tenant }))
          expect([spec.id, refused.status]).toEqual([spec.id, 403])
          if (spec.surface === 'admin' || spec.method !== 'get') continue
          const { status, body } = await send(spec, one, as({}))
          if (status === 403) continue
          expect([spec.id, body]).toEqual([spec.id, (await send(spec, one, ask)).body])
          same += 1
        }
      }
      expect(same).toBeGreaterThan(20)
      const deleted = await ask('DELETE', `/admin/v1/application-api-keys?ids=${id}`, {}, undefined)
      expect(deleted.body).toMatchObject({ deleted: [{ id }] })
    }
  })

  it('a user of one tenant does not exist in the other', async () => {
    const [id, user] = ['only-alpha', { userId: 'only-alpha' }]
    const before = await textsOfAll()
    const ask = (method: string, path: string, body?: unknown) => beta.world.ask(method, path, {}, body)
    for (const spec of ofTenants) {
      if (!spec.path.startsWith('/users/{id}') || ['put', 'delete'].includes(spec.method)) continue
      for (const one of callsOf(spec, beta.world)) {
        const told = await send(spec, { ...one, params: { ...one.params, id } }, beta.world.ask)
        expect([spec.id, told.status]).toEqual([spec.id, 404])
      }
    }
    const found = await ask('GET', '/admin/v1/users?search=only')
    expect(found.body).toMatchObject([{ id: 'only-beta' }])
    expect((await ask('GET', `/v1/streaks?userIds=${id}`)).body).toEqual([])
    expect((await ask('GET', `/v1/leaderboards/words?userId=${id}`)).body).toMatchObject({ rankings: [] })
    const { ids, day } = beta.world
    for (const [path, body] of [
      ['/streaks/freezes', { freezes: [user] }],
      ['/streaks/restore', { users: [{ id }] }],
      ['/streaks/pauses', { pauses: [{ ...user, start: day(90), end: day(91) }] }],
      [`/points/${ids('system')}/boosts`, [{ ...user, name: 'B', start: day(0), multiplier: 2 }]],
    ] as const) {
      const answer = await ask('POST', `/admin/v1${path}`, body)
      expect([answer.status, answer.body]).toMatchObject([200, { issues: [{}] }])
    }
    expect(changed(before, await textsOfAll())).toEqual([])
  })

  it('an id of the other tenant is unknown, also in deletions', async () => {
    const before = await textsOfAll()
    expect(await trespass(beta, alpha)).toEqual([])
    expect(await trespass(alpha, beta)).toEqual([])
    expect(changed(before, await textsOfAll())).toEqual([])
  })

  it('a walk through one tenant shows, changes and counts nothing of the other', async () => {
    inCompany = new Transcript()
    for (const mine of casesOf(1, [beta, alpha])) {
      const theirs = mine === beta ? alpha : beta
      // A move brings the analytics of both up to date. After the next one no pass is due (C1, I1).
      await move(3)
      await move(3)
      const before = await walk(theirs, reads)
      const { check, end } = await keepingTo(mine, theirs)
      await live(mine, mine === beta ? inCompany : new Transcript(), check)
      await end()
      // Boards and caches keep data outside D1.
      expectSame(await walk(theirs, reads), before)
    }
  })

  it('a life, with ticks, midnights and batches, is the same with another tenant as alone', async () => {
    await move(4)
    expectSame(await walk(beta, readsOfLife, inCompany), alone)
  })

  it('no due work runs for an archived tenant, and its events stay in the inbox', async () => {
    const sent = await call(newApp({ TIMEKEEPER: ASLEEP }), 'POST', '/admin/v1/metrics/events', {
      headers: { 'x-api-key': ADMIN_KEY, 'tenant-id': alpha.id },
      body: [{ key: 'minutes', user: { id: 'bob' }, value: 1 }],
    })
    expect(sent.status).toBe(202)
    await admin('DELETE', `/tenants?ids=${alpha.id}`)
    const keeper = env.TIMEKEEPER.getByName(alpha.id)
    await runDurableObjectAlarm(keeper)
    const before = (await rowsOf(alpha.id)).own
    expect(before.some((row) => row.startsWith('inbox '))).toBe(true)
    const xp = async () =>
      Number(at((await beta.world.ask('GET', '/v1/users/ada/points/xp', {}, undefined)).body, 'total'))
    const had = await xp()
    await send(specOf('admin_users_delete'), { params: { id: 'bob' } }, beta.world.ask)
    await move(6)
    expect(await xp()).toBe(had + 4 * 5 * beta.world.factor * 2 * 3)
    await keeper.wake(alpha.id, 5)
    expect(await runDurableObjectAlarm(keeper)).toBe(false)
    expect(changed(before, (await rowsOf(alpha.id)).own)).toEqual([])
  })
})

/** A tenant with a metric and a points system, with the same keys in every such tenant. */
async function twin(points: number, make = newTenant) {
  const tenant = await make()
  const metric = await tenant.metric('words')
  const trigger = { type: 'metric', points, status: 'active', metricId: metric, metricThreshold: 1 }
  const levels = [{ key: 'l', name: 'L', points: 1 }]
  const system = await tenant.create('/points', { key: 'xp', name: 'XP', triggers: [trigger], levels })
  return { tenant, metric, system }
}

describe('two tenants at the same time', () => {
  it('[T3] 40 parallel events of the same user and key in two tenants, through one app, do not mix', async () => {
    const [one, two] = [await twin(1), await twin(100)]
    const responses = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const mine = n % 2 === 0 ? one : two
        return { mine, ...(await mine.tenant.event('words', 'ada', 1, { idempotencyKey: `k${n >> 2}` })) }
      }),
    )
    for (const { tenant, metric } of [one, two]) {
      const own = responses.filter(({ mine }) => mine.tenant === tenant)
      expect(own.filter(({ status }) => status === 201)).toHaveLength(10)
      expect(own.filter(({ status }) => status === 202)).toHaveLength(10)
      expect(new Set(own.map(({ body }) => at(body, 'metricId')))).toEqual(new Set([metric]))
      expect((await tenant.app('GET', '/users/ada/metrics/words')).body).toMatchObject({ current: 10 })
    }
  })

  it('[T3] cached rankings and summaries of large tenants are separate for each tenant', async () => {
    const [one, two] = [await twin(1, newTenantInLast), await twin(1, newTenantInLast)]
    const sizes = [
      { ...one, users: 10_001, points: 7 },
      { ...two, users: 10_002, points: 9 },
    ]
    for (const { tenant, system, users, points } of sizes) {
      await tenant.event('words', `first-${points}`, points)
      await manyUsers(tenant, users - 1, { points: `json_object('${system}', ${points})` })
      await rowsEverywhere(
        "UPDATE tenant_counters SET count = ?2 WHERE tenant_id = ?1 AND name = 'users'",
        ...[tenant.id, users],
      )
    }
    // The second read comes from the cache.
    for (const _ of [1, 2]) {
      for (const { tenant, users, points } of sizes) {
        const ranked = await tenant.app('GET', '/streaks/rankings?limit=1')
        expect(ranked.body).toMatchObject([{ userId: `first-${points}`, streakLength: 1 }])
        const summary = list((await tenant.app('GET', '/points/xp/summary')).body)
        expect(summary.find((range) => at(range, 'from') === points)).toMatchObject({ users })
        const levels = await tenant.app('GET', '/points/xp/level-summary')
        expect(pick(levels.body, 'users')).toEqual([users])
      }
    }
  })
})

describe('[T1] with multi-tenancy off', () => {
  const off = newApp({ MULTI_TENANCY: 'off' })
  const headers = { 'x-api-key': ADMIN_KEY }

  it('[T1] there is one implicit tenant, and a Tenant-ID header is 422, after 401 and 403', async () => {
    const key = crypto.randomUUID()
    const metric = await account('POST', '/metrics', [{ key, name: 'N' }], off)
    expect(metric.status).toBe(201)
    const event = { user: { id: key }, value: 2 }
    for (const path of [`/v1/metrics/${key}/event`, `/api/metrics/${key}/event`]) {
      expect((await call(off, 'POST', path, { body: event, headers })).status).toBe(201)
    }
    const current = async () =>
      at((await call(off, 'GET', `/v1/users/${key}/metrics/${key}`, { headers })).body, 'current')
    expect(await current()).toBe(4)
    const made = await account('POST', '/application-api-keys', [{ userId: key }], off)
    const own = { 'x-api-key': String(at(made.body, 'created', 0, 'key')) }
    expect((await call(off, 'GET', `/v1/users/${key}`, { headers: own })).status).toBe(200)
    for (const id of [IMPLICIT_TENANT_ID, 'default', 'anything']) {
      const more = { 'tenant-id': id }
      for (const [path, method, body] of [
        ['/admin/v1/metrics', 'GET', undefined],
        ['/admin/v1/settings', 'PATCH', {}],
        [`/v1/users/${key}`, 'GET', undefined],
        [`/v1/metrics/${key}/event`, 'POST', event],
        ['/v1/metrics/none/event', 'POST', event],
      ] as const) {
        const answer = await call(off, method, path, { body, headers: { ...headers, ...more } })
        const error = expect.stringContaining('Tenant-ID')
        expect([answer.status, at(answer.body, 'error')], path).toEqual([422, error])
      }
      const asOwn = { headers: { ...own, ...more } }
      const { status } = await call(off, 'POST', `/v1/metrics/${key}/event`, { body: event, ...asOwn })
      expect(status).toBe(422)
      expect((await call(off, 'GET', '/admin/v1/metrics', asOwn)).status).toBe(403)
      expect((await call(off, 'GET', '/admin/v1/metrics', { headers: more })).status).toBe(401)
    }
    expect(await current()).toBe(4)
  })

  it('[T1] the implicit tenant is separate: it has nothing of the others', async () => {
    const { tenant } = await twin(1)
    await tenant.app('PUT', '/users/only-there', {})
    expect((await call(off, 'GET', '/v1/users/only-there', { headers })).status).toBe(404)
    expect((await call(off, 'GET', '/v1/points/xp', { headers })).status).toBe(404)
  })
})
