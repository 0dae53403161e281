import type { Instant } from '../../lib/clock'

/** A row of the inbox: events of a batch. */
export type InboxRow = {
  no: number
  seq: number
  batchId: string
  /** Its events, where they begin in the batch, and how many of them are done. */
  count: number
  offset: number
  done: number
  /** When its batch was sent. */
  sent: Instant
  /** None where they can't be read. */
  events: readonly unknown[]
}

/** What a step has made of events in the inbox. */
export type Progress = {
  /** Rows all of whose events are done, and how far the last one is where it isn't. */
  finished: readonly number[]
  advanced: { no: number; done: number } | null
  /** By batch id: how many events were recorded, left out and put aside. */
  counts: ReadonlyMap<string, { processed: number; dropped: number; parked: number }>
  parked: readonly { batchId: string; position: number; event: string; reason: string }[]
}
