import * as z from 'zod'
import { given, moment } from '../board.messages'

/*
 * The messages between a stream's Worker and the leaderboard's object (Y). They go over a WebSocket, which is
 * opened by a request to the object. The object sends whole events of the stream as text.
 */

/** The header with the request, as percent-encoded JSON. */
export const WATCH_HEADER = 'x-laurel-watch'

/** A visible part of a leaderboard: the first places of a group, or of all groups that match (L6). */
const ViewRequest = z.object({
  limit: z.number(),
  /** Values of breakdown attributes that must match, by their place in the breakdown. */
  group: z.array(z.string().nullable()),
})
export type ViewRequest = z.infer<typeof ViewRequest>

/** Opens a stream. */
export const WatchRequest = ViewRequest.extend({ definition: given, now: moment })

/** The statuses of the object's response. */
export const WATCH_STATUS = { open: 101, gone: 404, full: 503 } as const

/**
 * A message of a stream to the object. `seen`: the last `SEEN_EVERY` events have arrived. `definition`: the
 * configuration has changed, or another day has begun, so the object must look.
 */
export const WatcherMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('seen') }),
  z.object({ type: z.literal('definition'), definition: given, now: moment }),
])
export type WatcherMessage = z.input<typeof WatcherMessage>

/** How many events a stream receives before it says so. */
export const SEEN_EVERY = 10
/** The most events that the object sends without that message. Then it drops the stream (Y4). */
export const MOST_UNSEEN = 40

/**
 * The note of the object at a socket, so that it may sleep while nothing changes: the visible part, and the
 * last state that was sent.
 */
export const WatcherNote = ViewRequest.extend({
  /** A hash of the last ranking; null before the first one. */
  shown: z.string().nullable(),
  /** The largest version that was sent, in milliseconds. */
  version: z.number(),
  /** Runs that start before this day, in days since 1970-01-01, are final, and the stream knows it. */
  openFrom: z.number(),
})
export type WatcherNote = z.infer<typeof WatcherNote>
