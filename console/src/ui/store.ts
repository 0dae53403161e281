/** Something that changes, for `useSyncExternalStore`. */
export class Store {
  readonly #listeners = new Set<() => void>()

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  protected tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
