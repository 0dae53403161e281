import type { Instant } from '../../../lib/clock'

/** A row of the inbox: events of a batch. */
export type InboxRow = {
  no: number
  seq: number
  batchId: string
  /** The number of events, the place of the first one in the batch, and how many are done. */
  count: number
  offset: number
  done: number
  /** When its batch was sent. */
  sent: Instant
  /** Empty if they cannot be read. */
  events: readonly unknown[]
}

/** The progress of a step through the inbox. */
export type Progress = {
  /** Rows with all events done; and how far the last row is, if it is not done. */
  finished: readonly number[]
  advanced: { no: number; done: number } | null
  /** By batch id: how many events were recorded, left out and parked. */
  counts: ReadonlyMap<string, { processed: number; dropped: number; parked: number }>
  parked: readonly { batchId: string; position: number; event: string; reason: string }[]
}
