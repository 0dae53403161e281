import type { Settle } from './databases/databases'

/**
 * One isolate, or one object. All data that is kept between requests belongs to an instance. Two instances
 * share only the database. Each room declares its kept data with `perInstance`, so this file knows no room.
 */
export class Instance {
  /** How its databases bring a copy of a configuration up to date, which a higher room knows. */
  constructor(readonly settle: Settle) {}
}

/** A value that each instance keeps. */
export type Kept<T> = {
  /** The value of an instance. */
  (instance: Instance): T
  /** Replaces the value of an instance, for example by one with other limits. */
  put(instance: Instance, value: T): void
}

/**
 * Declares a value that each instance keeps once, such as a cache. It is made on first use. Its docstring
 * states its bound and its key.
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
