import { createContext, useContext, useSyncExternalStore } from 'react'
import { Store } from '../ui/store'

/** Whether requests reach the server, as the last ones have shown. */

/** The pause between two questions whether the server is back, in milliseconds. */
const PAUSE = 2000
/** A request that fails so soon after the server has answered was stopped on its way, in milliseconds. */
const SOON = 10_000

type State = 'fine' | 'lost' | 'blocked'

/**
 * A store for `useSyncExternalStore`. While the server is away, it asks `/health` until it is back. If the
 * server answers that, but not the requests of a page, something in the browser blocks them.
 */
export class Connection extends Store {
  #state: State = 'fine'
  #returned = Number.NEGATIVE_INFINITY

  /** @param onReturn is called each time the server is back */
  constructor(readonly onReturn: () => void) {
    super()
  }

  readonly state = () => this.#state

  /** All that a page shows was read: nothing is blocked any more, or nothing was. */
  readonly reach = () => {
    if (this.#state === 'blocked') this.#set('fine')
  }

  /** A request did not reach the server. */
  readonly lose = async () => {
    if (this.#state === 'lost') return
    if (this.#state === 'blocked' || Date.now() - this.#returned < SOON) {
      if (await isThere()) return this.#set('blocked')
    }
    this.#set('lost')
    this.#ask()
  }

  #ask(): void {
    setTimeout(async () => {
      if (!(await isThere())) return this.#ask()
      this.#returned = Date.now()
      this.#set('fine')
      this.onReturn()
    }, PAUSE)
  }

  #set(state: State): void {
    this.#state = state
    this.tell()
  }
}

const isThere = () =>
  fetch('/health')
    // A proxy whose own session has ended answers instead, without the id that all of our answers have (G2).
    .then(async (answer) => (await answer.text()) !== '' && answer.headers.has('x-request-id'))
    .catch(() => false)

export const ConnectionContext = createContext<Connection | null>(null)

const WORDS = {
  fine: null,
  lost: 'Lost connection to the server. Trying again… If this stays, load the page again.',
  blocked:
    'The browser blocks requests of this page. Switch your ad blocker off for it, then load the page again.',
}

/** Says that the server cannot be reached, until it can, or that something blocks the requests. */
export function ConnectionBanner() {
  const connection = useContext(ConnectionContext)
  if (connection === null) throw new Error('There is no connection above this component.')
  const state = useSyncExternalStore(connection.subscribe, connection.state)
  return (
    <div role="status" className="print:hidden">
      {WORDS[state] !== null && (
        <p className="bg-warning-soft px-4 py-2 text-center font-medium text-warning">{WORDS[state]}</p>
      )}
    </div>
  )
}
