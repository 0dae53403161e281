/**
 * The watchers of the bench of live leaderboards, in a process of their own: bare sockets, each of which
 * reads one stream. The parent sends two messages.
 *
 * - What to open: the port, the path, the key, and the number of streams. The answer comes when each stream has its
 *   first ranking.
 * - The last state that each watcher must have got, as JSON. The answer is how many rankings all have got since then, and
 *   when each has got that state, as milliseconds since 1970, or null for a watcher that has another one.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

/** How many streams are opened at once. */
const AT_ONCE = 50
/** How long the first ranking of a stream may take, in milliseconds. */
const PATIENCE = 30_000

const RANKINGS = '"rankings":'

/** @typedef {{ port: number; path: string; key: string; count: number }} Asked */

/** One stream. */
class Watcher {
  /** The rankings of the last event, as JSON, and when it came, in milliseconds since 1970. */
  state = ''
  at = 0
  events = 0
  #rest = ''

  constructor(/** @type {Asked} */ { port, path, key }) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('utf8')
    this.socket.on('data', (part) => this.#hear(String(part)))
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-KEY: ${key}\r\n\r\n`)
  }

  #hear(/** @type {string} */ part) {
    const text = this.#rest + part
    const end = text.lastIndexOf('}\n\n')
    this.#rest = text.slice(end < 0 ? 0 : end + 3)
    if (end < 0) return
    this.state = text.slice(text.lastIndexOf(RANKINGS, end) + RANKINGS.length, end)
    this.at = Date.now()
    this.events += text.slice(0, end).split('event: ranking').length - 1
    this.socket.emit('ranking')
  }
}

const [asked] = /** @type {[Asked]} */ (await once(process, 'message'))
const watchers = /** @type {Watcher[]} */ ([])
while (watchers.length < asked.count) {
  const count = Math.min(AT_ONCE, asked.count - watchers.length)
  const some = Array.from({ length: count }, () => new Watcher(asked))
  const signal = AbortSignal.timeout(PATIENCE)
  await Promise.all(some.map(({ socket }) => once(socket, 'ranking', { signal })))
  watchers.push(...some)
}
for (const watcher of watchers) watcher.events = 0
process.send?.('open')

const [wanted] = await once(process, 'message')
const states = watchers.map(({ state, at }) => (state === wanted ? at : null))
const rankings = watchers.reduce((sum, { events }) => sum + events, 0)
process.send?.({ states, rankings }, () => process.exit())
