/**
 * The watchers of the bench of live leaderboards, in a process of their own: bare sockets, each of which
 * reads one stream. The parent sends messages, and gets an answer to each.
 *
 * - `{ open: number }` opens this number of streams. It answers when each stream has its first ranking.
 * - `{ states: string }` answers when each watcher has got the given state for the last time, as milliseconds
 *   since 1970, or null for a watcher that has another one.
 * - `{ close: true }` closes all of them.
 */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** How many streams are opened at once. */
const AT_ONCE = 50
/** How long the first ranking of a stream may take, in milliseconds. */
const PATIENCE = 30_000

const RANKINGS = '"rankings":'

/** One stream. */
class Watcher {
  /** The rankings of the last event, as JSON. */
  state = ''
  /** When it came, in milliseconds since 1970. */
  at = 0
  events = 0
  #rest = ''

  constructor(/** @type {{ port: number; path: string; key: string }} */ { port, path, key }) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.setEncoding('utf8')
    this.socket.on('error', () => undefined)
    this.socket.on('data', (/** @type {any} */ part) => this.#hear(String(part)))
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-KEY: ${key}\r\n\r\n`)
  }

  #hear(/** @type {string} */ part) {
    const text = this.#rest + part
    const end = text.lastIndexOf('}\n\n')
    if (end < 0) {
      this.#rest = text
      return
    }
    this.#rest = text.slice(end + 3)
    const from = text.lastIndexOf(RANKINGS, end)
    this.state = text.slice(from + RANKINGS.length, end)
    this.at = Date.now()
    this.events += text.slice(0, end).split('event: ranking').length - 1
  }
}

let watchers = /** @type {Watcher[]} */ ([])

async function open(/** @type {{ port: number; path: string; key: string; open: number }} */ asked) {
  while (watchers.length < asked.open) {
    const some = Array.from(
      { length: Math.min(AT_ONCE, asked.open - watchers.length) },
      () => new Watcher(asked),
    )
    for (const deadline = Date.now() + PATIENCE; some.some(({ at }) => at === 0); await sleep(5)) {
      if (Date.now() > deadline) throw new Error('a stream does not begin')
    }
    watchers.push(...some)
  }
  for (const watcher of watchers) watcher.events = 0
  return { open: watchers.length }
}

function close() {
  for (const { socket } of watchers) socket.destroy()
  watchers = []
  return {}
}

process.on('message', async (/** @type {any} */ message) => {
  try {
    if (message.open) process.send?.(await open(message))
    else if (message.states !== undefined)
      process.send?.({
        states: watchers.map(({ state, at }) => (state === message.states ? at : null)),
        events: watchers.map(({ events }) => events),
      })
    else process.send?.(close())
  } catch (error) {
    process.send?.({ error: String(error) })
  }
})
