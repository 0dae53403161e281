/**
 * Laurel's own app, and the bare Worker of `baseline`, over databases that are as slow as a model says. All
 * isolates of a run are in this one process: each is an `Instance` of its own, and shares only the databases.
 */
import * as z from 'zod'
import { newInstance } from '../../src/configuration/configuration'
import { Groups, groupsOf } from '../../src/features/events/queues'
import { BUCKETS } from '../../src/lib/ids'
import { boundDatabases } from '../../src/platform/databases/bound'
import type { Bindings } from '../../src/platform/env'
import { createApp } from '../../src/worker/app'
import baseline from '../baseline/index'
import { ModelClock } from './clock'
import { SlowedDatabase } from './slowed'

export { Courier, DeletionList, LeaderboardObject, Timekeeper, UserLane } from '../../src/worker'

/** The database of the bare Worker is a further one. */
type ModelBindings = Bindings & { BARE: D1Database }

const Wish = z.object({
  kind: z.enum(['alone', 'group', 'bare']),
  isolates: z.int().min(1),
  databases: z.int().min(1),
  clients: z.int().min(1),
  /** The longest pause of a client between an answer and its next event, in milliseconds. */
  pause: z.number(),
  /** The parts of a run, in seconds of the model. Events of the warm-up do not count. */
  warmUp: z.number(),
  seconds: z.number(),
  times: z.object({ roundTrip: z.number(), read: z.number(), write: z.number() }),
})
type Wish = z.output<typeof Wish>

const Prepared = z.object({ bare: z.array(z.string()) })

/** Users of each client. Clients have no user in common, so there are no conflicts. */
const USERS = 20
const METRIC = 'lessons'

/** Sends an event of a user to an isolate. Throws unless it is stored. */
type SendEvent = (isolate: number, userId: string) => Promise<void>

/** Group commit that is switched off: each event is committed alone. */
class NoGroups extends Groups {
  override submit(): Promise<null> {
    return Promise.resolve(null)
  }
}

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url)
    if (pathname === '/health') return Response.json({ status: 'ok' })
    if (pathname === '/prepare')
      return Response.json(await prepare(env, Prepared.parse(await request.json())))
    if (pathname === '/run') return Response.json(await run(env, ctx, Wish.parse(await request.json())))
    return new Response(null, { status: 404 })
  },
} satisfies ExportedHandler<ModelBindings>

/** Makes the tables of the bare Worker. Those of Laurel are there. */
async function prepare(env: ModelBindings, { bare }: z.output<typeof Prepared>) {
  await env.BARE.batch(bare.map((sql) => env.BARE.prepare(sql)))
  return { databases: boundDatabases(env).length }
}

/** One measurement. */
async function run(env: ModelBindings, ctx: ExecutionContext, wish: Wish) {
  // Log lines are made and read here, but not printed: wrangler would need more time for them than the
  // Worker.
  const noted = { alone: 0, conflicts: 0, problems: 0, roundTrips: 0 }
  console.log = (text) => {
    const line = Line.safeParse(JSON.parse(String(text)))
    if (!line.success) return
    if (line.data.alone) noted.alone += 1
    noted.conflicts += line.data.conflicts ?? 0
    noted.roundTrips += line.data.d1.roundTrips
  }
  console.warn = (text) => {
    noted.problems += 1
    console.error(text)
  }
  const clock = new ModelClock()
  const real = wish.kind === 'bare' ? [{ name: 'DB', d1: env.BARE }] : boundDatabases(env)
  const databases = real
    .slice(0, wish.databases)
    .map(({ name, d1 }) => ({ name, d1, slowed: new SlowedDatabase(d1, wish.times, clock) }))
  const bound = (bindings: [string, D1Database][]): Bindings => ({
    ...env,
    TIMEKEEPER: asleep(env.TIMEKEEPER),
    ...Object.fromEntries(boundDatabases(env).map(({ name }) => [name, undefined])),
    ...Object.fromEntries(bindings),
  })
  const world: World = {
    env: bound(databases.map(({ name, slowed }) => [name, slowed.binding])),
    quick: bound(databases.map(({ name, d1 }) => [name, d1])),
    real: databases,
    ctx,
    wish,
  }
  const { warm, send, stored } = await (wish.kind === 'bare' ? bareWorker(world) : laurel(world))
  const measured = await clock.run(async () => {
    await warm()
    return rounds(clock, wish, databases, send)
  })
  const { all, ...figures } = measured
  const counted = await stored()
  if (counted !== all) throw new Error(`${all} events were answered, and ${counted} are stored`)
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

/** The clients of a run. Events of the warm-up do not count. */
async function rounds(
  clock: ModelClock,
  wish: Wish,
  databases: readonly { slowed: SlowedDatabase }[],
  send: SendEvent,
) {
  const began = clock.now()
  const from = began + wish.warmUp * 1000
  const to = from + wish.seconds * 1000
  let events = 0
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
      if (now < from || now >= to) continue
      events += 1
      waits.push(now - sent)
    }
  }
  const uses: { reads: number; writes: number; busy: number }[] = []
  const noteUse = async () => {
    await clock.until(from)
    const before = databases.map(({ slowed }) => ({ ...slowed.use }))
    await clock.until(to)
    uses.push(
      ...databases.map(({ slowed: { use } }, index) => ({
        reads: use.reads - (before[index]?.reads ?? 0),
        writes: use.writes - (before[index]?.writes ?? 0),
        busy: (use.busy - (before[index]?.busy ?? 0)) / (to - from),
      })),
    )
  }
  await Promise.all([noteUse(), ...Array.from({ length: wish.clients }, (_, nth) => client(nth))])
  waits.sort((a, b) => a - b)
  return {
    all,
    perSecond: events / wish.seconds,
    events,
    wait: { median: waits[Math.floor(waits.length / 2)], p95: waits[Math.floor(waits.length * 0.95)] },
    databases: uses,
  }
}

/** The bindings of a run, and its databases without the model. */
type World = {
  env: Bindings
  /** The same without the model. */
  quick: Bindings
  real: readonly { name: string; d1: D1Database }[]
  ctx: ExecutionContext
  wish: Wish
}

/** The side that is measured: how an event is sent to it, and how many it has stored. */
type Measured = { warm: () => Promise<unknown>; send: SendEvent; stored: () => Promise<number> }

/** Laurel, with a new tenant that has a metric and points, and is evenly spread over all databases. */
async function laurel({ env, quick, real, ctx, wish }: World): Promise<Measured> {
  const tenantId = crypto.randomUUID()
  const names = real.map(({ name }) => name)
  const [first] = real
  if (first === undefined) throw new Error('no database')
  await first.d1
    .prepare('INSERT INTO tenants (id, customer_id, name, created, updated) VALUES (?1, ?1, ?1, ?2, ?2)')
    .bind(tenantId, Date.now())
    .run()
  if (names.length > 1) {
    const places = names.map((name, index) => [Math.floor((index * BUCKETS) / names.length), name])
    await first.d1
      .prepare("INSERT INTO directory (tenant_id, version, places, placements) VALUES (?1, 1, ?2, '{}')")
      .bind(tenantId, JSON.stringify(places))
      .run()
  }
  const apps = Array.from({ length: wish.isolates }, () => {
    const instance = newInstance()
    if (wish.kind === 'alone') groupsOf.put(instance, new NoGroups())
    return createApp(instance)
  })
  const ask = async (
    app: (typeof apps)[number],
    bindings: Bindings,
    key: string,
    path: string,
    body: unknown,
    more = {},
  ) => {
    const request = new Request(`http://laurel.test${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key, 'tenant-id': tenantId, ...more },
      body: JSON.stringify(body),
    })
    const response = await app.fetch(request, bindings, ctx)
    const answer = await response.text()
    if (response.status !== 201) throw new Error(`${path} was answered ${response.status}: ${answer}`)
    return Created.safeParse(JSON.parse(answer)).data?.created[0]
  }
  const adminKey = env.ADMIN_API_KEY ?? ''
  const [app] = apps
  if (app === undefined) throw new Error('no isolate')
  const metric = await ask(app, quick, adminKey, '/admin/v1/metrics', [{ key: METRIC, name: METRIC }])
  const trigger = { type: 'metric', status: 'active', metricId: metric?.id, metricThreshold: 1, points: 10 }
  await ask(app, quick, adminKey, '/admin/v1/points', [{ key: 'xp', name: 'XP', triggers: [trigger] }])
  // A key as in a deployment, which the databases must confirm.
  const made = await ask(app, quick, adminKey, '/admin/v1/admin-api-keys', [{ name: 'bench' }])
  const key = made?.key ?? ''
  const event = (sender: typeof app, bindings: Bindings, userId: string) =>
    ask(
      sender,
      bindings,
      key,
      `/v1/metrics/${METRIC}/event`,
      { user: { id: userId }, value: 1 },
      { 'idempotency-key': crypto.randomUUID() },
    )
  return {
    // Each isolate knows the configuration, the key and the directory before the run.
    warm: () => Promise.all(apps.map((one, nth) => event(one, env, `first-${nth}`))),
    async send(isolate, userId) {
      await event(apps[isolate] ?? app, env, userId)
    },
    stored: async () => (await countOf(real, USERS_EVENTS, tenantId)) - apps.length,
  }
}

/** The bare Worker: a batch that reads and a batch that writes for each event. */
async function bareWorker({ env, real, ctx }: World): Promise<Measured> {
  const prefix = crypto.randomUUID()
  return {
    warm: async () => undefined,
    async send(_isolate, userId) {
      const request = new Request(`http://bare.test/v1/metrics/${METRIC}/event`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ user: { id: `${prefix}${userId}` }, value: 1 }),
      })
      const response = await baseline.fetch(request, env, ctx)
      if (response.status !== 201) throw new Error(`the bare Worker answered ${response.status}`)
      await response.text()
    },
    stored: () => countOf(real, BARE_EVENTS, prefix),
  }
}

const Line = z.object({
  alone: z.boolean().optional(),
  conflicts: z.number().optional(),
  d1: z.object({ roundTrips: z.number() }),
})
const Created = z.object({ created: z.array(z.object({ id: z.string(), key: z.string().optional() })) })

const USERS_EVENTS = 'SELECT coalesce(sum(seq), 0) AS sum FROM users WHERE tenant_id = ?1'
const BARE_EVENTS = "SELECT coalesce(sum(seq), 0) AS sum FROM users WHERE id GLOB ?1 || '*'"

/** The number of events in all databases together. */
async function countOf(real: World['real'], sql: string, param: string): Promise<number> {
  const sums = await Promise.all(real.map(({ d1 }) => d1.prepare(sql).bind(param).first<number>('sum')))
  return sums.reduce<number>((all, sum) => all + (sum ?? 0), 0)
}
