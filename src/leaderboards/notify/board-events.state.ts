import * as z from 'zod'
import { instant } from '../../lib/clock'
import type { SentList } from './board-events.rules'

/** The state of a board's webhook events. */
export const BoardEventState = z.object({
  /** The version of the configuration from which `listened` was read: the types that webhooks listen to. */
  version: z.number(),
  listened: z.array(z.string()),
  /**
   * The first day of a run: started events are sent, or not needed, up to this run. Null if there is no such
   * run.
   */
  begun: z.number().nullable(),
  /** For runs that start before this day, the finished events are sent, or not needed. */
  ended: z.number(),
  /** When changes were last sent, in milliseconds; 0 if never. */
  flushed: z.number(),
  /** When changes will be sent next; null if there are none. */
  due: z.number().transform(instant).nullable(),
  /**
   * Whether the first places are stored by group. Earlier versions stored one list for all groups together.
   */
  isByGroup: z.boolean().default(false),
  /** How often the runs were replaced by others, or a test clock went back. */
  series: z.number().default(0),
})
export type BoardEventState = z.output<typeof BoardEventState>

/** See board-events.rules.ts: one place of a sent list, and the list. */
export const StoredSentPlace: z.ZodType<SentList[number]> = z
  .tuple([z.string(), z.string(), z.number()])
  .nullable()
export const StoredSentList: z.ZodType<SentList> = z.array(StoredSentPlace)
