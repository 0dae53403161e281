import type { NewEvent } from '../application/events.js'

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
export function memoryStorage(): EventStorage {
  const events = new Map<number, WaitingEvent>()
  let last = 0
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

const STORE = 'events'

/**
 * Keeps events in IndexedDB, where they outlive the page. All tabs of an origin share them.
 *
 * @param name of the database
 */
export function browserStorage(name: string): EventStorage {
  let opened: Promise<IDBDatabase> | null = null
  const database = (): Promise<IDBDatabase> => {
    opened ??= open(name).then(
      (db) => {
        // A browser may close it, and another tab may want to delete it. The next use opens it again.
        db.onclose = () => {
          opened = null
        }
        db.onversionchange = () => {
          opened = null
          db.close()
        }
        return db
      },
      (error: unknown) => {
        opened = null
        throw error
      },
    )
    return opened
  }
  return {
    add: async (event) => {
      const transaction = (await database()).transaction(STORE, 'readwrite', { durability: 'strict' })
      transaction.objectStore(STORE).add(event)
      await done(transaction)
    },
    list: async () => {
      const transaction = (await database()).transaction(STORE, 'readonly')
      const request: IDBRequest<WaitingEvent[]> = transaction.objectStore(STORE).getAll()
      await done(transaction)
      return request.result
    },
    remove: async (place) => {
      const transaction = (await database()).transaction(STORE, 'readwrite')
      transaction.objectStore(STORE).delete(place)
      await done(transaction)
    },
  }
}

function open(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => {
      request.result.createObjectStore(STORE, { keyPath: 'place', autoIncrement: true })
    }
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

/** Waits until a transaction is stored. */
function done(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error)
  })
}
