import * as z from 'zod'
import { instant } from '../../lib/clock'
import type { SentList } from './board-events.rules'

/** What a board knows of what it has told. */
export const BoardEventState = z.object({
  /** The version of the configuration as of which this is who listens, and to what. */
  version: z.number(),
  listened: z.array(z.string()),
  /** The first day of the last run of whose beginning all was told, or need not be; null where there is none. */
  begun: z.number().nullable(),
  /** Of runs that start before this day the end was told, or need not be. */
  ended: z.number(),
  /** When changes were last told, in milliseconds; 0 where they never were. */
  flushed: z.number(),
  /** When they are to be told next; null while there are none. */
  due: z.number().transform(instant).nullable(),
  /** Whether the first places are noted by group. Earlier versions noted those of all groups together. */
  isByGroup: z.boolean().default(false),
})
export type BoardEventState = z.output<typeof BoardEventState>

/** See news.rules.ts: one of a list, and the list. */
export const StoredSentPlace: z.ZodType<SentList[number]> = z
  .tuple([z.string(), z.string(), z.number()])
  .nullable()
export const StoredSentList: z.ZodType<SentList> = z.array(StoredSentPlace)
