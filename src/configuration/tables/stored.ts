import { customType } from 'drizzle-orm/sqlite-core'
import * as z from 'zod'
import { type CivilDate, civilDate } from '../../lib/zone'

/** A filter on an attribute, as stored: the attribute's id and the value that it must have. */
export type Filter = { attributeId: string; attributeValue: string }

/** The stored filters on attributes. */
export const Filters: z.ZodType<readonly Filter[]> = z.array(
  z.object({ attributeId: z.string(), attributeValue: z.string() }),
)

/** A stored list of ids. */
export const Ids: z.ZodType<readonly string[]> = z.array(z.string())

/** A column with a local date. */
export const dayColumn = customType<{ data: CivilDate; driverData: string }>({
  dataType: () => 'text',
  fromDriver: civilDate,
})
