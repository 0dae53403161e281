/** Listens to signals, once to each, however many calls share it: Node 20 warns of a leak after ten. */
export class Signals {
  readonly #listening = new WeakMap<AbortSignal, { runs: Set<() => void>; runAll: () => void }>()

  /**
   * Runs a function when a signal is aborted.
   *
   * @returns a function that ends this
   */
  listen(signal: AbortSignal, run: () => void): () => void {
    let listening = this.#listening.get(signal)
    if (listening === undefined) {
      const runs = new Set<() => void>()
      const runAll = () => {
        for (const one of runs) one()
      }
      listening = { runs, runAll }
      this.#listening.set(signal, listening)
      signal.addEventListener('abort', runAll)
    }
    const { runs, runAll } = listening
    runs.add(run)
    return () => {
      runs.delete(run)
      if (runs.size > 0) return
      this.#listening.delete(signal)
      signal.removeEventListener('abort', runAll)
    }
  }
}
