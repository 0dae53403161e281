/** A queue of events in the browser's storage. */
export { type OfflineOptions, OfflineQueue } from './offline/queue.js'
export { browserStorage, type EventStorage, memoryStorage, type WaitingEvent } from './offline/storage.js'
