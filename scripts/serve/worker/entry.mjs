/**
 * The main module of the Worker under `npm run serve`. It runs in workerd, in front of the Worker that is
 * deployed (`laurel.js`), and takes the calls of the server itself.
 */
import { DurableObject, env, WorkerEntrypoint } from 'cloudflare:workers'
import * as worker from './laurel.js'
import * as platform from './platform.mjs'
import { MessageQueue } from './queue.mjs'
import {
  allBoardsDue,
  nextEpoch,
  restoredStatements,
  restoredStatementsOfOthers,
  stateQuestion,
  workLeft,
} from './restored.mjs'

export * from './laurel.js'
export * from './platform.mjs'
export * from './queue.mjs'

const laurel = worker.default

/** The classes of objects, by name. */
const CLASSES = Object.entries({ ...worker, ...platform, MessageQueue }).filter(
  ([, one]) => one.prototype instanceof DurableObject,
)

const send = globalThis.fetch
/** workerd hides why a request got no answer. The server finds it out: the error gets a code, as Node's have. */
globalThis.fetch = async (input, init) => {
  try {
    return await send(input, init)
  } catch (error) {
    if (init?.signal?.aborted) throw error
    const origin = encodeURIComponent(new URL(new Request(input).url).origin)
    const asked = await env.SERVER.fetch(`http://server/network?origin=${origin}`).catch(() => null)
    // If a connection can be made, the receiver has closed the first one.
    const code = asked === null ? undefined : (await asked.text()) || 'ECONNRESET'
    throw new Error(Object(error).message, { cause: { code } })
  }
}

/** Set once the migrations are applied. */
let isMigrated = false
/** Set once the Worker can serve. */
let isReady = false

/**
 * Holds back the alarms of all classes until the server opens, because workerd rings them as soon as it runs.
 * After a restore, users who were erased since the backup are erased again before anything is sent (M2). The
 * Timekeepers do that, so they wait for the migrations only.
 */
for (const [name, { prototype }] of CLASSES) {
  const ring = prototype.alarm
  if (ring === undefined) continue
  prototype.alarm = async function (/** @type {unknown} */ info) {
    // If it failed instead, workerd would forget the alarm after some times. It does not wait for a promise that
    // `/open` resolves: what follows would be work of that request.
    while (!(name === 'Timekeeper' ? isMigrated : isReady)) await scheduler.wait(50)
    return ring.call(this, info)
  }
}

/** The most bytes of a body that workerd reads if the Worker does not: then it closes the connection. */
const READ_ANYWAY = 64 << 10
/** How long the next part of what is left of a body may take, and all of it, in milliseconds. */
const PART_PATIENCE = 3000
const REST_PATIENCE = 30_000

/**
 * Hands a request to Laurel. What Laurel leaves of a large body is read here, and dropped: otherwise workerd closes the
 * connection while the server still sends, and the server never sees the answer, such as 401 or 413.
 *
 * @type {ExportedHandlerFetchHandler}
 */
async function answer(request, env, ctx) {
  const length = request.headers.get('content-length') ?? Number.POSITIVE_INFINITY
  if (request.body === null || Number(length) <= READ_ANYWAY) return laurel.fetch(request, env, ctx)
  const reader = request.body.getReader()
  const pull = async (/** @type {ReadableStreamDefaultController} */ controller) => {
    const { done, value } = await reader.read()
    if (done) controller.close()
    else controller.enqueue(value)
  }
  // It reads nothing ahead, since one read at a time is allowed.
  const body = new ReadableStream({ pull }, { highWaterMark: 0 })
  const response = await laurel.fetch(new Request(request, { body }), env, ctx)
  const end = Date.now() + REST_PATIENCE
  // It fails if the client has gone, or if Laurel itself waits for a part that does not come. After the answer, workerd
  // would not let it read.
  const next = () => Promise.race([reader.read(), scheduler.wait(PART_PATIENCE)]).catch(() => undefined)
  for (let part = await next(); part?.done === false && Date.now() < end; ) part = await next()
  return response
}

export default { fetch: answer }

/** Asks whether the demo is there. */
const DEMO = "SELECT 1 FROM metrics WHERE key = 'demo-lessons' AND deleted IS NULL"

/** Runs statements in one transaction. */
const run = (/** @type {any} */ database, /** @type {string[]} */ statements) =>
  database.batch(statements.map((sql) => database.prepare(sql)))

/** The work to be done before the server opens, by what it has found: a restore, or that boards are lost. */
const WORK = /** @type {Record<string, string[]>} */ ({
  // The deletions since the backup are done again (M3).
  restored: ['erasure', 'purge'],
  lost: ['leaderboard'],
})

/** The calls of the server itself. They come by a Unix socket that only its user can open. */
export class Control extends WorkerEntrypoint {
  async fetch(/** @type {Request} */ request) {
    const { pathname, searchParams } = new URL(request.url)
    switch (pathname) {
      case '/migrate':
        return new Response(await this.#migrate(searchParams.get('found')))
      case '/left': {
        const question = workLeft(WORK[searchParams.get('found') ?? ''] ?? [])
        const left = this.#databases.map(
          async (database) => (await run(database, [question]))[0].results[0].left,
        )
        return Response.json(Math.max(...(await Promise.all(left))))
      }
      case '/open': {
        const health = await laurel.fetch(new Request('http://localhost/health'), this.env, this.ctx)
        if (health.status !== 200) return health
        isReady = true
        return Response.json((await run(this.#databases[0], [DEMO]))[0].results.length > 0)
      }
      case '/scheduled': {
        const cron = searchParams.get('cron') ?? ''
        const queues = Object.keys(this.env.CONSUMERS).map((name) => this.env.QUEUES.getByName(name))
        await Promise.all(queues.map((queue) => queue.setRight()))
        const controller = { cron, scheduledTime: Date.now(), noRetry: () => {} }
        await laurel.scheduled(controller, this.env, this.ctx)
        return new Response('done')
      }
      default:
        return new Response('no such call', { status: 404 })
    }
  }

  /** The bindings of the databases, the first one first. */
  get #databases() {
    return this.env.DATABASE_LIST.map((/** @type {{ binding: string }} */ { binding }) => this.env[binding])
  }

  /**
   * Applies the migrations, and tells the databases what the server has found.
   *
   * @param {string | null} found
   * @returns {Promise<string>} the error of the first database that can't be migrated; empty if none
   */
  async #migrate(found) {
    const objects = this.env.DATABASE_LIST.map(({ name }) => this.env.DATABASE_OBJECTS.getByName(name))
    for (const [nth, object] of objects.entries()) {
      const error = await object.migrate()
      if (error !== '')
        return objects.length === 1 ? error : `${this.env.DATABASE_LIST[nth].binding}: ${error}`
    }
    if (found === 'restored') await this.#restored()
    if (found === 'lost') await run(this.#databases[0], [allBoardsDue])
    await objects[0].note(CLASSES.map(([name]) => name))
    isMigrated = true
    return ''
  }

  /** Tells each database of the restore, the first one last: a call that was interrupted is repeated. */
  async #restored() {
    const [first, ...others] = this.#databases
    const states = await Promise.all(
      this.#databases.map(async (database) => (await run(database, [stateQuestion]))[0].results[0]),
    )
    const epoch = nextEpoch(states, Date.now())
    await Promise.all(others.map((database) => run(database, restoredStatementsOfOthers(epoch))))
    await run(first, restoredStatements({ undelete: false, epoch }))
  }
}
