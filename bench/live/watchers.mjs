/**
 * The watchers of the bench of live leaderboards, in a process of their own: bare sockets, each of which
 * reads one stream. The parent sends two messages in turns, and gets an answer to each.
 *
 * - `{ open: number }` opens this number of streams. It answers when each stream has its first ranking.
 * - `{ states: string }` closes them. It answers how many rankings they have got, and when each has got the given
 *   state for the last time, as milliseconds since 1970, or null for a watcher that has another one.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

/** How many streams are opened at once. */
const AT_ONCE = 50
/** How long the first ranking of a stream may take, in milliseconds. */
const PATIENCE = 30_000

const RANKINGS = '"rankings":'

/** One stream. */
class Watcher {
  /** The rankings of the last event, as JSON, and when it came, in milliseconds since 1970. */
  state = ''
  at = 0
  events = 0
  #rest = ''

  constructor(/** @type {{ port: number; path: string; key: string }} */ { port, path, key }) {
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

let watchers = /** @type {Watcher[]} */ ([])

async function open(/** @type {{ port: number; path: string; key: string; open: number }} */ asked) {
  while (watchers.length < asked.open) {
    const count = Math.min(AT_ONCE, asked.open - watchers.length)
    const some = Array.from({ length: count }, () => new Watcher(asked))
    const signal = AbortSignal.timeout(PATIENCE)
    await Promise.all(some.map(({ socket }) => once(socket, 'ranking', { signal })))
    watchers.push(...some)
  }
  for (const watcher of watchers) watcher.events = 0
  return {}
}

function close(/** @type {string} */ wanted) {
  const states = watchers.map(({ state, at }) => (state === wanted ? at : null))
  const rankings = watchers.reduce((sum, { events }) => sum + events, 0)
  for (const { socket } of watchers) socket.destroy()
  watchers = []
  return { states, rankings }
}

// An error ends this process, and the bench with it.
process.on('message', async (/** @type {any} */ message) =>
  process.send?.(message.open ? await open(message) : close(message.states)),
)
