import { startTimer } from '@laurel/client/app'

/** Open streams, by an id. Watchers of the same id share one stream. */
export class Streams {
  readonly #open = new Map<string, { watchers: number; stop: () => void }>()

  /**
   * Opens a stream, or joins the one that is open. The returned function leaves it. The last watcher to leave
   * closes the stream a moment later, so that a component that mounts again at once keeps it.
   */
  join(id: string, open: () => () => void): () => void {
    const stream = this.#open.get(id) ?? { watchers: 0, stop: open() }
    this.#open.set(id, stream)
    stream.watchers += 1
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      stream.watchers -= 1
      startTimer(() => {
        if (stream.watchers > 0 || this.#open.get(id) !== stream) return
        this.#open.delete(id)
        stream.stop()
      }, 0)
    }
  }
}
