import type { NewEvent } from '../application/events.js'
import { within } from '../core/within.js'

/** An event that waits. */
export interface WaitingEvent {
  /** Its place in the queue. A later event has a larger one, also in other tabs. */
  place: number
  metric: string
  /** With its idempotency key. */
  event: NewEvent
  /** When it was queued, in milliseconds since 1970. */
  queued: number
}

/** Where events wait. */
export interface EventStorage {
  /** Stores an event after all others. It must be durable when this resolves. */
  add(event: Omit<WaitingEvent, 'place'>): Promise<void>
  /** All waiting events, oldest first. */
  list(): Promise<WaitingEvent[]>
  /** Removes an event. It may be gone already. */
  remove(place: number): Promise<void>
}

/** Keeps events in memory, until the process or the page ends. */
export const memoryStorage = (): EventStorage => memoryAfter(0)

/** Keeps events in memory, in places after this one. */
function memoryAfter(last: number): EventStorage {
  const events = new Map<number, WaitingEvent>()
  return {
    add: async (event) => {
      last += 1
      events.set(last, { ...event, place: last })
    },
    list: async () => [...events.values()],
    remove: async (place) => {
      events.delete(place)
    },
  }
}

/** A storage that does not answer within this time has failed, in milliseconds. */
const PATIENCE = 10_000

/** Places in memory that no event in a database has. */
const MEMORY = 2 ** 50

/** A storage of the app, which may throw at once, later, or never answer. */
export const bounded = (storage: EventStorage): EventStorage => ({
  add: (event) => inTime(async () => storage.add(event)),
  list: () => inTime(async () => storage.list()),
  remove: (place) => inTime(async () => storage.remove(place)),
})

/**
 * The browser's storage, or memory if there is none. If the browser refuses it or does not answer, events wait
 * in memory from then on. Those that it has stored before wait there for another page.
 *
 * @param onLost gets the error if the browser has a storage that does not work, once
 */
export function pageStorage(name: string, onLost: (error: Error) => void): EventStorage {
  const memory = memoryAfter(MEMORY)
  let storage = 'indexedDB' in globalThis ? browserStorage(name) : memory
  const use = async <T>(run: (storage: EventStorage) => Promise<T>): Promise<T> => {
    const used = storage
    try {
      return await run(used)
    } catch (error) {
      if (!(error instanceof Unusable)) throw error
      if (storage === used) onLost(error)
      storage = memory
      return run(memory)
    }
  }
  return {
    add: (event) => use((one) => one.add(event)),
    list: () => use((one) => one.list()),
    remove: (place) => use((one) => one.remove(place)),
  }
}

const STORE = 'events'

/**
 * Keeps events in IndexedDB, where they outlive the page. All tabs of an origin share them.
 *
 * @param name of the database
 */
export function browserStorage(name: string): EventStorage {
  let opened: Promise<IDBDatabase> | null = null
  let hasWorked = false
  // A browser may close it, and another tab may want to delete it. The next use opens it again.
  const forget = () => {
    opened?.then((db) => db.close()).catch(() => undefined)
    opened = null
    hasWorked = false
  }
  const once = async <T>(
    mode: IDBTransactionMode,
    use: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> => {
    opened ??= open(name, forget)
    const transaction = (await opened).transaction(STORE, mode, { durability: 'strict' })
    const request = use(transaction.objectStore(STORE))
    await done(transaction)
    hasWorked = true
    return request.result
  }
  const run: typeof once = async (mode, use) => {
    const mayHaveEnded = hasWorked
    try {
      return await inTime(() => once(mode, use))
    } catch (error) {
      forget()
      if (!mayHaveEnded) throw error
      // iOS ends connections without a word. A new one may work.
      return inTime(() => once(mode, use))
    }
  }
  return {
    add: async (event) => {
      await run('readwrite', (store) => store.add(event))
    },
    list: () => run<WaitingEvent[]>('readonly', (store) => store.getAll()),
    remove: (place) => run('readwrite', (store) => store.delete(place)),
  }
}

/** The error of a storage that cannot be opened, or does not answer. */
class Unusable extends Error {}

/** @param ended is called if the connection ends */
function open(name: string, ended: () => void): Promise<IDBDatabase> {
  return new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => {
      request.result.createObjectStore(STORE, { keyPath: 'place', autoIncrement: true })
    }
    request.onsuccess = () => {
      const db = request.result
      db.onclose = ended
      db.onversionchange = ended
      resolve(db)
    }
    request.onerror = () => reject(request.error)
  }).catch((cause: unknown) => {
    throw new Unusable('The storage of the browser cannot be opened.', { cause })
  })
}

/** Waits until a transaction is stored. */
function done(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error)
  })
}

/** Runs something that must answer in time. */
const inTime = <T>(run: () => Promise<T>): Promise<T> =>
  within(
    PATIENCE,
    undefined,
    () => new Unusable(`The storage of events did not answer within ${PATIENCE} ms.`),
    run,
  )
