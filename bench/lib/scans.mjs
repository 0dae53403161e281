/**
 * Measures the time of another tenant's events during many reads of all users of a large tenant, and the cost
 * of an event summary of a user with a long log. Has a state of its own, with multi-tenancy.
 */
import { create, fillLarge, LONG_LOG } from './scene.mjs'

const USERS = 200_000
/** Requests that are sent at once, each with a filter of its own. */
const REQUESTS = 30
/** Events that are sent one after another to measure one without scans, and events before that to warm up. */
const QUIET = 60
const WARMING = 20
/** Timeout of the requests, in milliseconds. A request that waits ten seconds for its turn gets 429. */
const PATIENCE = 60_000
const DAY = 86_400_000

const METRIC = 'bench-words'
const SYSTEM = 'bench-xp'

/** @typedef {import('./server.mjs').Server} Server */

/**
 * Milliseconds of an event of another tenant. `quiet` is the median without scans. `during` and `worst` are
 * the median and the highest time during scans. `alone` is the time of one scan without other load.
 * `answered` and `refused` count the requests; a refused one got 429.
 *
 * @typedef {{ users: number; requests: number; quiet: number; during: number; worst: number; alone: number;
 *   events: number; answered: number; refused: number }} Crowd
 */

/**
 * Rows of D1 and milliseconds of a call. @typedef {{ rowsRead: number; rowsWritten: number; milliseconds:
 * number }} Call
 */

/**
 * @param {Server} server without users, not started, and with multi-tenancy on
 * @param {string} key an admin key
 * @param {(text: string) => void} tellMore prints a line of progress
 * @returns {Promise<{ crowd: Crowd; summary: { events: number; first: Call; second: Call } }>}
 */
export async function measureScans(server, key, tellMore) {
  await server.start()
  const large = await tenant(server, key, 'large')
  const other = await tenant(server, key, 'other')
  await server.stop()
  await fillLarge(server, { ...large, users: USERS })
  await server.start()
  const crowd = await measureCrowd(server, key, large.headers, other.headers)
  const ratio = (/** @type {number} */ time) => (time / crowd.quiet).toFixed(1)
  tellMore(
    `an event during ${REQUESTS} scans takes ${ratio(crowd.during)} times its time without scans, at worst ${ratio(crowd.worst)} times`,
  )
  const summary = await measureSummary(server, key, large.headers)
  tellMore(
    `an event summary of ${summary.events} events reads ${summary.first.rowsRead} rows, then ${summary.second.rowsRead}`,
  )
  await server.stop()
  return { crowd, summary }
}

/** A tenant with a metric, an attribute and a points system. */
async function tenant(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {string} */ customerId,
) {
  const { id } = await create(server, key, '/tenants', { customerId, name: customerId })
  const headers = { 'tenant-id': String(id) }
  const post = async (/** @type {string} */ path, /** @type {unknown} */ item) => {
    const { body } = await server.ask('POST', `/admin/v1${path}`, { key, headers, body: [item] })
    return String(body.created[0].id)
  }
  const metricId = await post('/metrics', { key: METRIC, name: 'Words' })
  const attributeId = await post('/attributes', { key: 'phone', name: 'Phone', type: 'user' })
  const systemId = await post('/points', { key: SYSTEM, name: 'XP' })
  return { headers, tenantId: String(id), metricId, attributeId, systemId }
}

/** @returns {Promise<Crowd>} */
async function measureCrowd(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {Record<string, string>} */ large,
  /** @type {Record<string, string>} */ other,
) {
  const path = `/v1/metrics/${METRIC}/event`
  const event = async () => {
    const began = performance.now()
    await server.ask('POST', path, { key, headers: other, body: { user: { id: 'ada' }, value: 1 } })
    return performance.now() - began
  }
  const summary = async (/** @type {number} */ n) => {
    const answer = await fetch(`${server.url}/v1/points/${SYSTEM}/summary?userAttributes=phone:z${n}`, {
      headers: { 'x-api-key': key, ...large },
      signal: AbortSignal.timeout(PATIENCE),
    })
    await answer.arrayBuffer()
    return answer.status
  }
  for (let i = 0; i < WARMING; i += 1) await event()
  const quiet = []
  for (let i = 0; i < QUIET; i += 1) quiet.push(await event())
  const began = performance.now()
  await summary(REQUESTS)
  const alone = performance.now() - began
  let isOver = false
  const scans = Promise.all(Array.from({ length: REQUESTS }, (_, n) => summary(n))).finally(() => {
    isOver = true
  })
  const during = []
  while (!isOver) during.push(await event())
  const statuses = await scans
  const answered = statuses.filter((status) => status === 200).length
  const refused = statuses.filter((status) => status === 429).length
  if (answered + refused !== REQUESTS) throw new Error(`scans were answered ${statuses.join(', ')}`)
  return {
    ...{ users: USERS, requests: REQUESTS, quiet: median(quiet), during: median(during) },
    ...{ worst: Math.max(...during), alone, events: during.length, answered, refused },
  }
}

/** The event summary of the user with a long log, twice. */
async function measureSummary(
  /** @type {Server} */ server,
  /** @type {string} */ key,
  /** @type {Record<string, string>} */ headers,
) {
  const date = (/** @type {number} */ daysAgo) =>
    new Date(Date.now() - daysAgo * DAY).toISOString().slice(0, 10)
  const range = `aggregation=monthly&startDate=${date(399)}&endDate=${date(0)}`
  const path = `/v1/users/${LONG_LOG.id}/metrics/${METRIC}/event-summary?${range}`
  const call = async () => {
    const began = performance.now()
    let milliseconds = 0
    const { answers, lines } = await server.logged(async () => {
      const answer = await server.ask('GET', path, { key, headers, patience: PATIENCE })
      milliseconds = performance.now() - began
      return [answer]
    })
    const total = answers[0]?.body.at(-1).total
    if (total !== LONG_LOG.events) throw new Error(`the summary has a total of ${total}`)
    const { rowsRead = 0, rowsWritten = 0 } = lines[0]?.d1 ?? {}
    return { rowsRead, rowsWritten, milliseconds }
  }
  return { events: LONG_LOG.events, first: await call(), second: await call() }
}

const median = (/** @type {number[]} */ values) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
