/**
 * One isolate, or one object: whatever it remembers between requests is kept by it. Two instances share nothing but the database. Each room
 * declares what it keeps with `perInstance`; nothing is kept here, so that this file knows no room.
 */
export class Instance {}

/** Something that each instance keeps. */
export type Kept<T> = {
  /** What an instance keeps. */
  (instance: Instance): T
  /** Has an instance keep another one from now on, such as one with other limits. */
  put(instance: Instance, value: T): void
}

/**
 * Declares something that each instance keeps once, such as a cache: made when it is first asked for. What is kept states its bound and its
 * key.
 */
export function perInstance<T extends object>(create: (instance: Instance) => T): Kept<T> {
  const kept = new WeakMap<Instance, T>()
  const keptBy = (instance: Instance): T => {
    const found = kept.get(instance)
    if (found !== undefined) return found
    const made = create(instance)
    kept.set(instance, made)
    return made
  }
  return Object.assign(keptBy, { put: (instance: Instance, value: T) => void kept.set(instance, value) })
}
