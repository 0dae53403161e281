/**
 * The alternative to Laurel that a team would write: one Node process with Fastify, and Redis, which stores
 * everything. An event is one call of event.lua. All calls of one turn of the event loop go to Redis in one
 * pipeline.
 *
 * It answers under Laurel's paths, so that the bench can send both the same requests. Its configuration is in
 * its code: one metric, one points system, one leaderboard, and streaks by UTC date.
 *
 * Variables: PORT, REDIS_PORT, SYNC (when Redis syncs its writes), API_KEY, PACKAGES (the folder of its packages), and
 * TEST_CLOCK=on. With TEST_CLOCK=on, the header `x-test-now` of a request sets its time.
 */
import { spawn } from 'node:child_process'
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { PORT, REDIS_PORT = '', SYNC = '', API_KEY = '', TEST_CLOCK, PACKAGES = '' } = process.env

const fetched = createRequire(`${PACKAGES}/`)
const Fastify = fetched('fastify')
const { Redis } = fetched('ioredis')

/** Every whole unit of the metric earns `AWARD` points. */
const METRIC = 'bench-lessons-1'
const SYSTEM = 'bench-xp'
const AWARD = 10
const BOARD = `${METRIC}-board-1`

/** Values are stored in whole millionths, so that sums don't drift. */
const MILLION = 1_000_000
const DAY = 86_400_000
/** How long an idempotency key is stored, in seconds. Without a limit, keys would fill the memory. */
const KEPT = 86_400

const userKey = (/** @type {string} */ id) => `user:${id}`
const boardKey = `board:${BOARD}`

// No snapshots in addition to the log of commands. Their copies would slow Redis down now and then.
const settings = { port: REDIS_PORT, bind: '127.0.0.1', appendonly: 'yes', appendfsync: SYNC, save: '' }
const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
const store = spawn('redis-server', options, { stdio: 'inherit' })
store.once('exit', () => process.exit(1))
store.once('error', ({ message }) => {
  console.error(
    `${message}\nInstall redis-server with \`apt-get install redis-server\` (Debian, Ubuntu) or \`brew install redis\` (macOS). No service has to run.`,
  )
  process.exit(1)
})
// It ends with this process, and this one with the bench.
process.once('exit', () => store.kill())
process.once('SIGTERM', () => process.exit())
process.stdin.resume().once('end', () => process.exit())

// Commands wait for Redis while it starts. A command in progress when the connection breaks is not sent
// again, because it may have counted.
const redis = new Redis({
  port: Number(REDIS_PORT),
  host: '127.0.0.1',
  enableAutoPipelining: true,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: null,
})
redis.on('error', () => {})
// Called by EVALSHA; the script itself is sent once.
redis.defineCommand('countEvent', { lua: readFileSync(new URL('event.lua', import.meta.url), 'utf8') })

const app = Fastify({
  logger: false,
  forceCloseConnections: true,
  // "12" is not a number.
  ajv: { customOptions: { coerceTypes: false } },
})

const digest = (/** @type {string} */ text) => createHash('sha256').update(text).digest()
const expected = digest(API_KEY)
app.addHook('onRequest', async (request, reply) => {
  const given = request.headers['x-api-key']
  if (request.url === '/health') return
  if (typeof given !== 'string' || !timingSafeEqual(digest(given), expected)) {
    return reply.code(401).send({ error: 'The API key is missing or invalid.' })
  }
})

app.setErrorHandler((/** @type {import('fastify').FastifyError} */ error, _request, reply) => {
  const status = error.validation ? 422 : (error.statusCode ?? 500)
  return reply.code(status).send({ error: status === 500 ? 'Something failed.' : error.message })
})

/** Today, in days since 1970, by UTC. */
function dayOf(/** @type {import('fastify').FastifyRequest} */ request) {
  const given = TEST_CLOCK === 'on' ? request.headers['x-test-now'] : undefined
  return Math.floor((typeof given === 'string' ? Date.parse(given) : Date.now()) / DAY)
}

/** A rank from 1, or null for a user who is not on the board. */
const place = (/** @type {number} */ rank) => (rank < 0 ? null : rank + 1)

const string = { type: 'string' }
const number = { type: 'number' }
const integer = { type: 'integer' }
const rank = { type: ['integer', 'null'] }
const object = (/** @type {Record<string, unknown>} */ properties, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
})

const id = { type: 'string', minLength: 1, maxLength: 255 }
const body = object({ user: object({ id }), value: { type: 'number', minimum: -1e9, maximum: 1e9 } })
const headers = object({ 'idempotency-key': id }, [])
const counted = object(
  {
    eventId: string,
    total: number,
    currentStreak: object({ length: integer, frequency: string, extended: { type: 'boolean' } }),
    points: object({ [SYSTEM]: object({ total: integer, added: integer }) }, []),
    leaderboards: object({ [BOARD]: object({ rank, previousRank: rank }) }, []),
    idempotencyKey: string,
    idempotentReplayed: { type: 'boolean' },
  },
  ['eventId', 'total', 'currentStreak', 'points', 'leaderboards'],
)

/** @type {import('fastify').FastifySchema} */
const schema = { body, headers, response: { 201: counted, 202: counted } }
app.post('/v1/metrics/:metric/event', { schema }, async (request, reply) => {
  const { metric } = /** @type {{ metric: string }} */ (request.params)
  if (metric !== METRIC) return reply.code(404).send({ error: `There is no metric "${metric}".` })
  const { user, value } = /** @type {{ user: { id: string }; value: number }} */ (request.body)
  const key = /** @type {string | undefined} */ (request.headers['idempotency-key'])
  const keys = [userKey(user.id), boardKey]
  if (key !== undefined) keys.push(`event:${metric}:${user.id.length}:${user.id}:${key}`)
  const found = await /** @type {any} */ (redis).countEvent(
    keys.length,
    ...keys,
    randomUUID(),
    user.id,
    metric,
    Math.sign(value) * Math.round(Math.abs(value) * MILLION),
    dayOf(request),
    MILLION,
    AWARD,
    KEPT,
  )
  const [kind, eventId, total, points, added, streak, extended, now, before] = found
  if (kind === 2) return reply.code(422).send({ error: 'value: the total would be too large.' })
  const isReplay = kind === 1
  reply.code(isReplay ? 202 : 201)
  return {
    eventId,
    total: total / MILLION,
    currentStreak: { length: streak, frequency: 'daily', extended: extended === 1 },
    points: added === 0 ? {} : { [SYSTEM]: { total: points, added } },
    leaderboards: isReplay ? {} : { [BOARD]: { rank: place(now), previousRank: place(before) } },
    ...(key !== undefined && { idempotencyKey: key, idempotentReplayed: isReplay }),
  }
})

/** A field of a user; 0 if Redis does not know the user. */
const read = async (/** @type {import('fastify').FastifyRequest} */ request, /** @type {string} */ field) =>
  Number(await redis.hget(userKey(/** @type {{ id: string }} */ (request.params).id), field))

app.get(`/v1/users/:id/metrics/${METRIC}`, async (request) => ({
  key: METRIC,
  current: (await read(request, METRIC)) / MILLION,
}))

app.get(`/v1/users/:id/points/${SYSTEM}`, async (request) => ({
  key: SYSTEM,
  total: await read(request, 'points'),
}))

app.get(`/v1/users/:id/leaderboards/${BOARD}`, async (request) => {
  const { id: member } = /** @type {{ id: string }} */ (request.params)
  const [found, score] = await Promise.all([redis.zrevrank(boardKey, member), redis.zscore(boardKey, member)])
  const value = score === null ? null : Math.floor(Number(score) / MILLION)
  return { key: BOARD, rank: place(found ?? -1), value }
})

app.get('/health', async () => ({ version: /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] }))

await app.listen({ port: Number(PORT), host: '127.0.0.1' })
