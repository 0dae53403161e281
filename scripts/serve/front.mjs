/**
 * What listens under `npm run serve`. It takes requests, and hands each to workerd by a Unix socket. workerd
 * ends when it has no descriptor left for a connection, and has no limit of them; this has one.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { Agent, request as ask, createServer, IncomingMessage, ServerResponse } from 'node:http'
import { isIP, Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Complaint } from '../lib/project.mjs'
import { until } from '../lib/until.mjs'
import { say } from './log.mjs'

/** @typedef {IncomingMessage} Request */
/** @typedef {ServerResponse<Request>} Answer */
/** @typedef {import('node:net').Socket} Socket */

/** How many connections it takes, if the process may have so many. A leaderboard may have 5,000 watchers. */
const MOST_CONNECTIONS = 6000
/** Fewer are no server. */
const FEWEST_CONNECTIONS = 20
/**
 * Descriptors that a process needs besides: workerd has 60 of its own, and 3 for each database and for each
 * leaderboard, webhook or tenant that it works on.
 */
const OTHERS = 300
const PER_DATABASE = 3
/** For the request of a connection, workerd needs two, and two more if the Worker calls somebody for it. */
const PER_CONNECTION = 4

/** How many descriptors a process of the server needs, so that it can take all connections. */
export const descriptorsFor = (/** @type {number} */ databases) =>
  MOST_CONNECTIONS * PER_CONNECTION + OTHERS + databases * PER_DATABASE

/**
 * How many connections the server can take. Says so if these are not all. The limit is the hard one: Node raises
 * its own to that, and workerd inherits it.
 */
export function mostConnections(/** @type {number} */ databases) {
  const { stdout } = spawnSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })
  const limit = /^\d+$/.test(stdout.trim()) ? Number(stdout) : Number.POSITIVE_INFINITY
  const needed = descriptorsFor(databases)
  if (limit >= needed) return MOST_CONNECTIONS
  const most = Math.floor(MOST_CONNECTIONS - (needed - limit) / PER_CONNECTION)
  const fact = `A process may open ${limit} files and connections here (ulimit -n).`
  if (most < FEWEST_CONNECTIONS) throw new Complaint(`${fact} Laurel needs ${needed}.`)
  say(
    `${fact} So the server takes ${most} connections at once. With ${needed}, it takes ${MOST_CONNECTIONS}.`,
    'info',
  )
  return most
}

/** How long a connection may take to send the head of a request, in milliseconds. */
const IDLE = 15_000
/** How long it may be idle after one. Balancers, of which some take 600 seconds, have to close it first. */
const KEPT = 620_000
/** How long a connection to workerd may be idle, which closes its end after 5 seconds. */
const IDLE_WITHIN = 3000
/** How long a client may read nothing of what is sent to it, in milliseconds. */
const UNREAD = 60_000
/** How long a client may go on sending a body after the answer, in milliseconds. */
const GRACE = 1000
/**
 * How long, at the end, requests under way may take before they are answered 503, and then the answers that
 * are being sent, in milliseconds.
 */
const ANSWER_PATIENCE = 2500
const DRAIN_PATIENCE = 1200
/** How long requests are awaited that a client has sent before it knew of the end, in milliseconds. */
const LATE = 150

/** The largest head of a request, in bytes. workerd takes 128 KiB, with what this module adds. */
const LARGEST_HEAD = 120 << 10

/** The longest address of a request, in bytes. workerd takes 64 KiB, and answers longer ones in its own form. */
const LONGEST_ADDRESS = 60_000

/** The header in which the Worker reads the client's address. Cloudflare sets it; here this module does. */
const ADDRESS = 'cf-connecting-ip'

/** The header by which workerd knows that the client speaks TLS, with a proxy. Links need it. */
const PROTOCOL = 'x-forwarded-proto'

/** Headers that are about one connection only, or that this module sets itself. */
const NOT_PASSED = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['expect', 'host', ADDRESS, PROTOCOL],
])

/** Methods without a body, unless it is there. */
const BARE = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS'])
/** The methods that a path may have. */
const METHODS = [...BARE, 'POST', 'PUT', 'PATCH'].join(', ')

/** The headers that are passed on, as Node has them: names and values by turns. */
const passed = (/** @type {string[]} */ raw) =>
  raw.filter((_, at) => !NOT_PASSED.has(String(raw[at - (at % 2)]).toLowerCase()))

/**
 * The address of a client: the last one of the header that TRUST_PROXY names, which the proxy has added. Null if
 * there is no address.
 */
function namedAddress(/** @type {Request} */ { headers }, /** @type {string} */ trusted) {
  const last = String(headers[trusted] ?? '')
    .replace(/^.*,/s, '')
    .trim()
  // Perhaps with a port, which a client can choose: 192.0.2.1:5000, [2001:db8::1]:5000.
  const [, v6, v4] = /^(?:\[(.*)\]|([^:]*))(?::\d+)?$/.exec(last) ?? []
  const address = v6 ?? v4 ?? last
  return isIP(address) === 0 ? null : address
}

/**
 * The path and the headers of a request for workerd. Throws a Complaint for one that two programs could
 * understand in two ways.
 */
function headOf(/** @type {Request} */ request, /** @type {string} */ address) {
  const { url = '/', method = 'GET', httpVersion, headers, headersDistinct } = request
  const hosts = headersDistinct.host ?? []
  if (hosts.length > 1 || hosts[0] === '' || (hosts.length === 0 && httpVersion !== '1.0'))
    throw new Complaint('The request must have one header Host.')
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw new Complaint('Transfer-Encoding must be "chunked".')
  // A proxy may send the whole address, and `*` asks for the server itself.
  const [, host = hosts[0] ?? 'localhost', path = ''] = /^(?:https?:\/\/([^/?#]+))?(.*)$/i.exec(url) ?? []
  const head = ['Host', host, ...passed(request.rawHeaders)]
  if (coding !== undefined) head.push('Transfer-Encoding', 'chunked')
  // Otherwise Node would send the body, which there is not, in chunks.
  else if (headers['content-length'] === undefined && !BARE.has(method)) head.push('Content-Length', '0')
  if (address !== '') head.push(ADDRESS, address.replace(/^::ffff:(?=\d+\.)/, ''))
  return { path: path === '*' ? '/' : path.replace(/^(?!\/)/, '/'), headers: head }
}

/** What a request is answered that is not valid HTTP, by the code of Node's error. */
const FAULTS = /** @type {Record<string, [status: number, error: string]>} */ ({
  ERR_HTTP_REQUEST_TIMEOUT: [408, `The head of a request has to arrive in ${IDLE / 1000} seconds.`],
  HPE_HEADER_OVERFLOW: [431, `The head of a request may have ${LARGEST_HEAD} bytes.`],
})
const INVALID = /** @type {const} */ ([400, 'The request is not valid HTTP/1.1.'])

/**
 * Sends an answer that does not come from the Worker.
 *
 * @type {(answer: Answer, status: number, error: string, more?: Record<string, string>) => void}
 */
function send(answer, status, error, more = {}) {
  const body = JSON.stringify({ error })
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const ours = { 'X-Request-Id': randomUUID(), 'Cache-Control': 'no-store' }
  answer.writeHead(status, { ...headers, ...ours, ...more }).end(body)
}

/** Answers what Node can't take as a request, and ends the connection. `answer` is one of it that is under way. */
function refuse(
  /** @type {Socket} */ socket,
  /** @type {readonly [status: number, error: string]} */ [status, error],
  answer = /** @type {Answer | undefined} */ (undefined),
) {
  const own = answer ?? new ServerResponse(new IncomingMessage(socket))
  if (answer === undefined) own.assignSocket(socket)
  own.shouldKeepAlive = false
  own.once('finish', () => socket.end())
  send(own, status, error, status === 405 ? { Allow: METHODS } : {})
  setTimeout(() => socket.destroy(), GRACE).unref()
}

/** Takes requests. Before `open` and after `end`, it answers 503. */
export class Front {
  /** Has to listen. */
  server
  #to
  #most
  #trusted
  #agent
  #phase = /** @type {'starts' | 'serves' | 'ends'} */ ('starts')
  /** Resolves once requests may be handed to workerd again. */
  #held = /** @type {Promise<unknown> | undefined} */ (undefined)
  /**
   * The connections, each with its answers that are not sent yet. Of those without a request under way, the first
   * one has waited longest.
   */
  #open = /** @type {Map<Socket, Set<Answer>>} */ (new Map())
  #isFull = false
  #isUnnamed = false

  /**
   * @param {{ most: number; trusted: string; to: string }} options how many connections; the header that is
   *   trusted; the Unix socket of workerd
   */
  constructor({ most, trusted, to }) {
    this.#to = to
    this.#most = most
    this.#trusted = trusted.toLowerCase()
    this.#agent = this.#newAgent()
    const times = { headersTimeout: IDLE, keepAliveTimeout: KEPT, connectionsCheckingInterval: IDLE / 3 }
    // The Worker has a limit for the time of a body.
    const others = { requestTimeout: 0, requireHostHeader: false, maxHeaderSize: LARGEST_HEAD, noDelay: true }
    const take = (/** @type {Request} */ request, /** @type {Answer} */ answer) => this.#take(request, answer)
    this.server = createServer({ ...times, ...others }, take)
    this.server.maxHeadersCount = 0
    const isUseless = (/** @type {Socket} */ socket) =>
      socket.writableLength > 0 || this.#open.get(socket)?.size === 0
    this.server.setTimeout(UNREAD, (socket) => isUseless(socket) && socket.destroy())
    this.server.on('checkExpectation', take)
    this.server.on('connection', (socket) => this.#admit(socket))
    this.server.on('clientError', (error, socket) => this.#refuse(error, socket))
    this.server.on('connect', (_, socket) => refuse(socket, [405, 'Laurel is no proxy: it has no CONNECT.']))
  }

  #newAgent() {
    return new Agent({ keepAlive: true, timeout: IDLE_WITHIN, maxSockets: this.#most })
  }

  /** From now on, requests are handed to workerd. */
  open() {
    // A connection that could not be taken, for want of memory or descriptors of the whole machine.
    this.server.on('error', ({ message }) => say(`A connection could not be taken: ${message}.`))
    this.#phase = 'serves'
  }

  /**
   * Does work for which workerd is stopped, one after another. Requests wait meanwhile, since workerd could close a connection
   * that has been idle for too long then, together with a request that has come on it.
   *
   * @template T
   * @param {() => Promise<T>} work
   */
  async hold(work) {
    const done = Promise.all([this.#held, sleep(LATE)]).then(work)
    const held = done.catch(() => undefined)
    this.#held = held
    try {
      return await done
    } finally {
      this.#agent = this.#newAgent()
      if (this.#held === held) this.#held = undefined
    }
  }

  /** Takes no more requests. Resolves when those under way are answered, if need be with 503. */
  async end() {
    this.#phase = 'ends'
    // Not that of HTTP, which would close idle connections at once, and with them requests that are coming.
    Server.prototype.close.call(this.server)
    await sleep(LATE)
    await this.#answered(ANSWER_PATIENCE)
    for (const answer of this.#underWay()) if (!answer.headersSent) this.#putOff(answer)
    await this.#answered(DRAIN_PATIENCE)
    this.server.closeAllConnections()
  }

  #underWay() {
    return [...this.#open.values()].flatMap((answers) => [...answers])
  }

  #answered(/** @type {number} */ patience) {
    return until(() => this.#underWay().length === 0, { patience, pause: 20 })
  }

  /** Takes a connection. If there are too many, one that waits has to go, or this one. */
  #admit(/** @type {Socket} */ socket) {
    this.#open.set(socket, new Set())
    socket.once('close', () => this.#forget(socket))
    if (this.#open.size <= this.#most) return
    const [longest = socket] = [...this.#open].find(([, answers]) => answers.size === 0) ?? []
    this.#forget(longest)
    longest.destroy()
    if (!this.#isFull)
      say(
        `All ${this.#most} connections are taken. For a new one, the one that has been idle longest is closed.`,
      )
    this.#isFull = true
  }

  #forget(/** @type {Socket} */ socket) {
    this.#open.delete(socket)
    if (this.#open.size < this.#most / 2) this.#isFull = false
  }

  #take(/** @type {Request} */ request, /** @type {Answer} */ answer) {
    const { socket } = request
    const answers = this.#open.get(socket) ?? new Set()
    const [before] = [...answers].slice(-1)
    answers.add(answer)
    answer.once('close', () => {
      answers.delete(answer)
      // It begins to wait now.
      if (answers.size === 0 && this.#open.delete(socket)) this.#open.set(socket, answers)
      // What comes of the body is of no use to anybody.
      if (!request.resume().complete) setTimeout(() => request.complete || socket.destroy(), GRACE).unref()
    })
    answer.on('error', () => answer.destroy())
    const begin = () => {
      if (answer.headersSent || answer.destroyed) return undefined
      if (this.#phase !== 'serves') return this.#putOff(answer)
      if (this.#held !== undefined) return this.#held.then(begin)
      if ((request.url ?? '').length > LONGEST_ADDRESS)
        return send(answer, 414, `The address of a request may have ${LONGEST_ADDRESS} bytes.`)
      try {
        this.#pass(request, answer)
      } catch (error) {
        send(answer, 400, Object(error).message)
      }
    }
    // The requests of a connection are done one after another.
    if (before === undefined) begin()
    else before.once('close', begin)
  }

  #pass(/** @type {Request} */ request, /** @type {Answer} */ answer) {
    const head = headOf(request, this.#addressOf(request))
    const isSecure = this.#trusted !== '' && /^https\b/i.test(String(request.headers[PROTOCOL]))
    if (isSecure) head.headers.push(PROTOCOL, 'https')
    const call = ask({ socketPath: this.#to, agent: this.#agent, method: request.method, ...head })
    answer.once('close', () => call.destroy())
    call.on('error', () => {
      if (answer.headersSent) answer.destroy()
      else if (!answer.destroyed) this.#putOff(answer)
    })
    call.on('response', (found) => {
      // It was answered 503.
      if (answer.headersSent) return call.destroy()
      found.on('error', () => answer.destroy())
      if (this.#phase === 'ends') answer.shouldKeepAlive = false
      answer.writeHead(found.statusCode ?? 502, passed(found.rawHeaders))
      // A stream of events may begin long before its first one.
      if (found.headers['content-length'] === undefined) answer.flushHeaders()
      found.pipe(answer)
    })
    const { headers } = request
    if ((headers['content-length'] ?? headers['transfer-encoding']) === undefined) return call.end()
    request.pipe(call)
    // Otherwise the Worker would know nothing of a request whose body does not come, and could not answer 408.
    setTimeout(() => call.writableEnded || call.destroyed || call.flushHeaders(), LATE).unref()
  }

  /** The address of a client. Says once if a proxy does not name it. */
  #addressOf(/** @type {Request} */ request) {
    const { remoteAddress = '' } = request.socket
    if (this.#trusted === '') return remoteAddress
    const named = namedAddress(request, this.#trusted)
    if (named === null && !this.#isUnnamed && request.url !== '/health') {
      this.#isUnnamed = true
      say(
        `A request from ${remoteAddress} has no address in the header ${this.#trusted} (TRUST_PROXY). Such requests count for the address that they come from.`,
      )
    }
    return named ?? remoteAddress
  }

  /** Answers that the request has to be sent again. */
  #putOff(/** @type {Answer} */ answer) {
    if (this.#phase === 'ends') answer.shouldKeepAlive = false
    const now = this.#phase === 'serves' ? 'did not answer' : this.#phase
    send(answer, 503, `The server ${now}. Send the request again in a moment.`, { 'Retry-After': '5' })
  }

  /** Answers what is not HTTP, or not in time. */
  #refuse(/** @type {Error & { code?: string }} */ error, /** @type {Socket} */ socket) {
    const [answer, ...others] = this.#open.get(socket) ?? []
    // The answer could be taken for that of another request, or is awaited by nobody.
    const isOthers = answer !== undefined && (others.length > 0 || answer.headersSent || answer.req.complete)
    if (isOthers || error.code === 'ECONNRESET' || socket.bytesRead === 0 || !socket.writable)
      return socket.destroy()
    refuse(socket, FAULTS[error.code ?? ''] ?? INVALID, answer)
  }
}
