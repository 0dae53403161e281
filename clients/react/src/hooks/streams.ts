import { startTimer } from '@laurel/client/app'

/** The function that opens a stream gets this, to read and write the state of the stream. */
export interface Sink<State> {
  get: () => State | undefined
  set: (state: State | undefined) => void
  /** Notes whether the stream was refused. A refused stream is opened again by the next `join` or `revive`. */
  setRefused: (isRefused: boolean) => void
}

interface Stream<State> {
  watchers: number
  open: (sink: Sink<State>) => () => void
  stop: () => void
  /** The newest opening. An earlier one can end later, and then says nothing about this one. */
  opening: { isRefused: boolean }
  state: State | undefined
}

/** Open streams and their states, by an id. Watchers of the same id share one stream. */
export class Streams<State> {
  readonly #streams = new Map<string, Stream<State>>()
  readonly #subscribers = new Set<() => void>()
  #states: State[] | undefined

  /**
   * Opens a stream, or joins the one that is open. The returned function leaves it, once. The last watcher to leave
   * closes the stream a moment later, so that a component that mounts again at once keeps it.
   */
  join(id: string, open: (sink: Sink<State>) => () => void): () => void {
    const stream = this.#streams.get(id) ?? {
      watchers: 0,
      open,
      stop: () => {},
      // It is not open yet.
      opening: { isRefused: true },
      state: undefined,
    }
    this.#streams.set(id, stream)
    stream.watchers += 1
    this.revive(id)
    return () => {
      stream.watchers -= 1
      startTimer(() => {
        if (stream.watchers > 0 || this.#streams.get(id) !== stream) return
        this.#streams.delete(id)
        stream.stop()
        this.#tell()
      }, 0)
    }
  }

  /** Opens a stream again if it was refused, or all that were, without an id. The user may have signed in. */
  revive(id?: string): void {
    for (const [key, stream] of this.#streams) {
      if (stream.opening.isRefused && (id === undefined || id === key)) this.#start(stream)
    }
  }

  /** The state of a stream, as long as it has watchers. */
  readonly stateOf = (id: string): State | undefined => this.#streams.get(id)?.state

  /** The states of all streams: the same list until one of them changes. */
  readonly states = (): readonly State[] => {
    this.#states ??= [...this.#streams.values()].flatMap(({ state }) => state ?? [])
    return this.#states
  }

  /** Calls a function after each change of a state, until the returned function is called. */
  readonly subscribe = (changed: () => void): (() => void) => {
    this.#subscribers.add(changed)
    return () => this.#subscribers.delete(changed)
  }

  #start(stream: Stream<State>): void {
    stream.stop()
    const opening = { isRefused: false }
    stream.opening = opening
    const sink: Sink<State> = {
      get: () => stream.state,
      set: (state) => {
        stream.state = state
        this.#tell()
      },
      setRefused: (isRefused) => {
        opening.isRefused = isRefused
      },
    }
    try {
      stream.stop = stream.open(sink)
    } catch {
      // Such as for a key that no path can have. The reads of the same key have this error too.
      opening.isRefused = true
      stream.stop = () => {}
    }
  }

  #tell(): void {
    this.#states = undefined
    for (const changed of this.#subscribers) changed()
  }
}
