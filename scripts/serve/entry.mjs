/**
 * The main module of the Worker under `npm run serve`. It runs in workerd, in front of the Worker that is
 * deployed (`laurel.js`): it says from which address a request comes, answers 503 while the server starts and
 * ends, and takes the calls of the server itself.
 */
import { env, WorkerEntrypoint } from 'cloudflare:workers'
import laurel, { Courier as DeliveryQueue } from './laurel.js'
import {
  deletionsLeft,
  nextEpoch,
  restoredStatements,
  restoredStatementsOfOthers,
  stateQuestion,
} from './restored.mjs'

export * from './laurel.js'
export * from './platform.mjs'

/** The header in which the Worker reads the client's address. Cloudflare sets it; here this module does. */
const ADDRESS = 'cf-connecting-ip'

/**
 * A delivery queue that sends nothing before the server opens: after a restore, users who were erased since
 * the backup are erased again first, with their pending messages (M2). Its own alarm sends all messages, and
 * workerd rings alarms as soon as it runs.
 */
export class Courier extends DeliveryQueue {
  async alarm() {
    // Not by a promise that `/open` resolves: what follows would be work of that request.
    while (!isReady) await scheduler.wait(50)
    await super.alarm()
  }
}

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

/** Answers each open request with 503, without the Worker. One server runs one isolate. */
const underWay = /** @type {Set<(answer?: undefined) => void>} */ (new Set())
/** Set once the migrations are applied and the Worker can serve. */
let isReady = false
let isEnding = false

/**
 * How long requests that arrive at the end wait for their 503, in milliseconds: until workerd has been told
 * to end, which then closes their connections with the answer. It would cut off what comes on a connection
 * that it takes as idle.
 */
const HOLD = 300

const unavailable = () =>
  Response.json(
    { error: `The server ${isEnding ? 'ends' : 'starts'}. Send the request again in a moment.` },
    {
      status: 503,
      headers: { 'Retry-After': '5', Connection: 'close', 'X-Request-Id': crypto.randomUUID() },
    },
  )

/**
 * The address of a client: that of the connection, or the last one of the header that TRUST_PROXY names,
 * which the proxy has added. Empty if it is not known.
 */
function addressOf(/** @type {Request} */ request, /** @type {string | null | undefined} */ trusted) {
  const given = trusted
    ? (request.headers.get(trusted) ?? '').split(',').at(-1)?.trim()
    : String(request.cf?.clientIp ?? '')
  // Perhaps with a port, which a client can choose: 192.0.2.1:5000, [2001:db8::1]:5000.
  const [, v6, v4] = /^(?:\[(.*)\]|([^:]*))(?::\d+)?$/.exec(given ?? '') ?? []
  return (v6 ?? v4 ?? given ?? '').replace(/^::ffff:(?=\d+\.)/, '')
}

/**
 * The request as the Worker gets it on Cloudflare: with the client's address in a header that no client can
 * set. The headers are replaced in the request itself, since a new request costs a tenth of an event.
 */
function arrived(/** @type {Request} */ request, /** @type {string | null | undefined} */ trusted) {
  const headers = new Headers(request.headers)
  const address = addressOf(request, trusted)
  if (address === '') headers.delete(ADDRESS)
  else headers.set(ADDRESS, address)
  return Object.defineProperty(request, 'headers', { value: headers })
}

export default {
  /** @type {ExportedHandlerFetchHandler} */
  async fetch(request, env, ctx) {
    if (isEnding) {
      await scheduler.wait(HOLD)
      return unavailable()
    }
    if (!isReady) return unavailable()
    const { promise: tooLate, resolve: giveUp } = Promise.withResolvers()
    underWay.add(giveUp)
    try {
      const answer = laurel.fetch(arrived(request, env.TRUST_PROXY), env, ctx)
      return (await Promise.race([answer, tooLate])) ?? unavailable()
    } finally {
      underWay.delete(giveUp)
    }
  },
}

/** Runs statements in one transaction. */
const run = (/** @type {any} */ database, /** @type {string[]} */ statements) =>
  database.batch(statements.map((sql) => database.prepare(sql)))

/** The calls of the server itself. They come by a Unix socket that only its user can open. */
export class Control extends WorkerEntrypoint {
  async fetch(/** @type {Request} */ request) {
    const { pathname, searchParams } = new URL(request.url)
    switch (pathname) {
      case '/migrate':
        return new Response(await this.#migrate())
      case '/used-databases': {
        const [{ name }] = this.env.DATABASE_LIST
        return Response.json(await this.env.DATABASE_OBJECTS.getByName(name).inUse())
      }
      case '/restored':
        await this.#restored()
        return new Response('done')
      case '/deletions-left': {
        const left = await Promise.all(
          this.#databases.map(async (database) => (await run(database, [deletionsLeft]))[0].results[0].left),
        )
        return Response.json(Math.max(...left))
      }
      case '/health':
        return laurel.fetch(new Request('http://localhost/health'), this.env, this.ctx)
      case '/open':
        isReady = true
        return new Response('done')
      case '/scheduled': {
        const cron = searchParams.get('cron') ?? ''
        const controller = { cron, scheduledTime: Date.now(), noRetry: () => {} }
        await laurel.scheduled(controller, this.env, this.ctx)
        return new Response('done')
      }
      case '/end':
        return this.#end(Number(searchParams.get('patience')))
      default:
        return new Response('no such call', { status: 404 })
    }
  }

  /** The bindings of the databases, the first one first. */
  get #databases() {
    return this.env.DATABASE_LIST.map((/** @type {{ binding: string }} */ { binding }) => this.env[binding])
  }

  /** @returns {Promise<string>} the error of the first database that can't be migrated; empty if none */
  async #migrate() {
    for (const { binding, name } of this.env.DATABASE_LIST) {
      const error = await this.env.DATABASE_OBJECTS.getByName(name).migrate()
      if (error !== '') return this.env.DATABASE_LIST.length === 1 ? error : `${binding}: ${error}`
    }
    return ''
  }

  /** Tells each database of the restore, the first one last: a call that was interrupted is repeated. */
  async #restored() {
    const [first, ...others] = this.#databases
    if (others.length === 0) {
      await run(first, restoredStatements({ undelete: false }))
      return
    }
    const states = await Promise.all(
      this.#databases.map(async (database) => (await run(database, [stateQuestion]))[0].results[0]),
    )
    const epoch = nextEpoch(states, Date.now())
    await Promise.all(others.map((database) => run(database, restoredStatementsOfOthers(epoch))))
    await run(first, restoredStatements({ undelete: false, epoch }))
  }

  /** Takes no more requests. Answers when all are answered: after `patience` milliseconds with 503. */
  async #end(/** @type {number} */ patience) {
    isEnding = true
    for (const deadline = Date.now() + patience; underWay.size > 0 && Date.now() < deadline; )
      await scheduler.wait(20)
    for (const giveUp of underWay) giveUp()
    while (underWay.size > 0) await scheduler.wait(5)
    return new Response('done')
  }
}

/** Takes the messages of the queues, as Cloudflare hands them to the Worker. */
export class Consumer extends WorkerEntrypoint {
  /**
   * @param {string} queue
   * @param {{ id: string; body: unknown; sent: number; attempts: number }[]} sent
   * @returns {Promise<{ id: string; delaySeconds: number | null }[]>} those that have to come again, and
   * after how long
   */
  async take(queue, sent) {
    const again = new Map()
    const retry = (/** @type {string} */ id, /** @type {QueueRetryOptions} */ options = {}) =>
      again.set(id, options.delaySeconds ?? null)
    const messages = sent.map(({ id, body, sent: at, attempts }) => ({
      id,
      body,
      attempts,
      timestamp: new Date(at),
      ack: () => again.delete(id),
      retry: (/** @type {QueueRetryOptions} */ options) => retry(id, options),
    }))
    const batch = {
      queue,
      messages,
      ackAll: () => again.clear(),
      retryAll: (/** @type {QueueRetryOptions} */ options) => {
        for (const { id } of messages) retry(id, options)
      },
    }
    await laurel.queue(batch, this.env, this.ctx)
    return [...again].map(([id, delaySeconds]) => ({ id, delaySeconds }))
  }
}
