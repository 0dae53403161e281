/** Whether requests reach the server, as the last ones have shown. */
import { Store } from '../ui/store'

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
  readonly #onReturn: () => void

  /** @param onReturn is called each time the server is back */
  constructor(onReturn: () => void) {
    super()
    this.#onReturn = onReturn
  }

  readonly state = () => this.#state

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
      this.#onReturn()
    }, PAUSE)
  }

  #set(state: State): void {
    this.#state = state
    this.tell()
  }
}

const isThere = () =>
  fetch('/health').then(
    () => true,
    () => false,
  )
