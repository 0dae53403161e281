/**
 * Laurel's own app over databases that are as slow as a model says. All isolates of a run are in this one
 * process: each is an `Instance` of its own, and shares only the databases.
 */
import { newInstance } from '../../src/configuration/configuration'
import { BUCKETS } from '../../src/lib/ids'
import { boundDatabases } from '../../src/platform/context'
import type { Bindings } from '../../src/platform/env'
import { createApp } from '../../src/worker/app'
import { ModelClock } from './clock'
import { SlowedDatabase, type Times } from './slowed'

export { Courier, DeletionList, LeaderboardObject, Timekeeper, UserLane } from '../../src/worker'

/** One run of the model, as bench/model.mjs sends it. */
type Wish = {
  isolates: number
  databases: number
  clients: number
  /** The longest pause of a client between an answer and its next event, in milliseconds. */
  pause: number
  /** The parts of a run, in seconds of the model. Events of the warm-up do not count. */
  warmUp: number
  seconds: number
  times: Times
}

/** Users of each client. Clients have no user in common, so there are no conflicts. */
const USERS = 20
const METRIC = 'lessons'

/** Sends an event of a user to an isolate. Throws unless it is stored. */
type SendEvent = (isolate: number, userId: string) => Promise<unknown>

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    if (pathname === '/health') return Response.json({ status: 'ok' })
    if (pathname === '/run') return Response.json(await run(env, ctx, await request.json<Wish>()))
    return new Response(null, { status: 404 })
  },
} satisfies ExportedHandler<Bindings>

/** One measurement. */
async function run(env: Bindings, ctx: ExecutionContext, wish: Wish) {
  // Log lines are made and read here, but not printed: wrangler would need more time for them than the
  // Worker.
  const noted = { conflicts: 0, problems: 0 }
  console.log = (text) => {
    const { conflicts = 0 }: { conflicts?: number } = JSON.parse(String(text))
    noted.conflicts += conflicts
  }
  console.warn = (text) => {
    noted.problems += 1
    console.error(text)
  }
  const clock = new ModelClock()
  const real = boundDatabases(env).slice(0, wish.databases)
  const slowed = real.map(({ d1 }) => new SlowedDatabase(d1, wish.times, clock))
  const bound = (bindings: readonly D1Database[]): Bindings => ({
    ...env,
    TIMEKEEPER: asleep(env.TIMEKEEPER),
    ...Object.fromEntries(boundDatabases(env).map(({ name }, index) => [name, bindings[index]])),
  })
  const slow = bound(slowed.map(({ binding }) => binding))
  const tenantId = await newTenant(real)
  const apps = Array.from({ length: wish.isolates }, () => {
    const instance = newInstance()
    return createApp(() => instance)
  })
  const ask = askerOf(tenantId, ctx)
  // The configuration is made without the model.
  const key = await configure((path, body) =>
    ask(apps[0], bound(real.map(({ d1 }) => d1)), path, body, { 'x-api-key': env.ADMIN_API_KEY ?? '' }),
  )
  const send: SendEvent = (isolate, userId) =>
    ask(
      apps[isolate],
      slow,
      `/v1/metrics/${METRIC}/event`,
      { user: { id: userId }, value: 1 },
      { 'x-api-key': key, 'idempotency-key': crypto.randomUUID() },
    )
  const { all, ...figures } = await clock.run(async () => {
    // Each isolate knows the configuration, the key and the directory before the run.
    await Promise.all(apps.map((_, isolate) => send(isolate, `first-${isolate}`)))
    return rounds(clock, wish, slowed, send)
  })
  const counted = await countEvents(real, tenantId)
  if (counted !== all + apps.length) throw new Error(`${all} events were answered, and ${counted} are stored`)
  return { ...figures, noted }
}

/** Timekeepers that do nothing, so that no due work disturbs a run. */
const asleep = (real: Bindings['TIMEKEEPER']): Bindings['TIMEKEEPER'] =>
  new Proxy(real, {
    get(target, name) {
      if (name !== 'getByName') throw new Error(`the Timekeepers were asked for ${String(name)}`)
      return (id: string) => new Proxy(target.getByName(id), { get: () => async () => undefined })
    },
  })

type Databases = readonly { name: string; d1: D1Database }[]

/** A new tenant that is evenly spread over the databases. */
async function newTenant(databases: Databases): Promise<string> {
  const tenantId = crypto.randomUUID()
  const places = databases.map(({ name }, index) => [Math.floor((index * BUCKETS) / databases.length), name])
  const first = databases[0]?.d1
  await first
    ?.prepare('INSERT INTO tenants (id, customer_id, name, created, updated) VALUES (?1, ?1, ?1, ?2, ?2)')
    .bind(tenantId, Date.now())
    .run()
  if (databases.length > 1)
    await first
      ?.prepare("INSERT INTO directory (tenant_id, version, places, placements) VALUES (?1, 1, ?2, '{}')")
      .bind(tenantId, JSON.stringify(places))
      .run()
  return tenantId
}

/** Sends requests of a tenant to an app. Throws unless the answer is 201. */
const askerOf =
  (tenantId: string, ctx: ExecutionContext) =>
  async (
    app: ReturnType<typeof createApp> | undefined,
    env: Bindings,
    path: string,
    body: unknown,
    headers: Record<string, string>,
  ) => {
    const request = new Request(`http://laurel.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'tenant-id': tenantId, ...headers },
      body: JSON.stringify(body),
    })
    const response = await app?.fetch(request, env, ctx)
    const answer = await response?.text()
    if (response?.status !== 201) throw new Error(`${path} was answered ${response?.status}: ${answer}`)
    const { created }: { created?: { id: string; key?: string }[] } = JSON.parse(answer ?? '')
    return created?.[0]
  }

/** Makes a metric with points. Returns an admin key as in a deployment, which the databases must confirm. */
async function configure(
  create: (path: string, body: unknown) => Promise<{ id: string; key?: string } | undefined>,
): Promise<string> {
  const metric = await create('/admin/v1/metrics', [{ key: METRIC, name: METRIC }])
  const trigger = { type: 'metric', status: 'active', metricId: metric?.id, metricThreshold: 1, points: 10 }
  await create('/admin/v1/points', [{ key: 'xp', name: 'XP', triggers: [trigger] }])
  return (await create('/admin/v1/admin-api-keys', [{ name: 'bench' }]))?.key ?? ''
}

/** The clients of a run. Events of the warm-up do not count. */
async function rounds(clock: ModelClock, wish: Wish, slowed: readonly SlowedDatabase[], send: SendEvent) {
  const began = clock.now()
  const from = began + wish.warmUp * 1000
  const to = from + wish.seconds * 1000
  let all = 0
  const waits: number[] = []
  const client = async (nth: number) => {
    // The clients begin one after another. Otherwise all reads would come first, and then all writes.
    await clock.until(began + (wish.warmUp * 500 * nth) / wish.clients)
    while (clock.now() < to) {
      await clock.until(clock.now() + Math.random() * wish.pause)
      const sent = clock.now()
      await send(nth % wish.isolates, `u${nth}-${Math.floor(Math.random() * USERS)}`)
      const now = clock.now()
      all += 1
      if (now >= from && now < to) waits.push(now - sent)
    }
  }
  const measureUse = async () => {
    await clock.until(from)
    const before = slowed.map(({ use }) => ({ ...use }))
    await clock.until(to)
    return slowed.map(({ use }, index) => ({
      writes: use.writes - (before[index]?.writes ?? 0),
      busy: (use.busy - (before[index]?.busy ?? 0)) / (to - from),
    }))
  }
  const clients = Array.from({ length: wish.clients }, (_, nth) => client(nth))
  const [uses] = await Promise.all([measureUse(), ...clients])
  waits.sort((a, b) => a - b)
  const wait = waits[Math.floor(waits.length / 2)]
  return { all, perSecond: waits.length / wish.seconds, events: waits.length, wait, uses }
}

/** The number of events in all databases together. */
async function countEvents(databases: Databases, tenantId: string): Promise<number> {
  const sql = 'SELECT coalesce(sum(seq), 0) AS sum FROM users WHERE tenant_id = ?1'
  const sums = await Promise.all(
    databases.map(({ d1 }) => d1.prepare(sql).bind(tenantId).first<number>('sum')),
  )
  return sums.reduce<number>((sum, one) => sum + (one ?? 0), 0)
}
