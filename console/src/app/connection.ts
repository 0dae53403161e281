/** Whether the server can be reached, as the last requests have shown. */

/** The pause between two questions whether it is back, in milliseconds. */
const PAUSE = 2000

/** A store for `useSyncExternalStore`. While the server is away, it asks `/health` until it is back. */
export class Connection {
  #isLost = false
  readonly #listeners = new Set<() => void>()
  readonly #onReturn: () => void

  /** @param onReturn is called each time the server is back */
  constructor(onReturn: () => void) {
    this.#onReturn = onReturn
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  readonly isLost = () => this.#isLost

  /** A request did not reach the server. */
  readonly lose = () => {
    if (this.#isLost) return
    this.#set(true)
    this.#ask()
  }

  #ask(): void {
    setTimeout(async () => {
      const answer = await fetch('/health').catch(() => null)
      if (answer === null) return this.#ask()
      this.#set(false)
      this.#onReturn()
    }, PAUSE)
  }

  #set(isLost: boolean): void {
    this.#isLost = isLost
    for (const listener of this.#listeners) listener()
  }
}
