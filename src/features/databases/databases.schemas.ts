import * as z from 'zod'
import { optional, withIssues } from '../../api/fields'

const Count = z.int().min(0)

/** The databases, the first one first (B3). */
export const DatabasesResponse = z
  .array(
    z
      .object({
        name: z.string(),
        buckets: Count,
        users: Count.nullable(),
        events: Count.nullable(),
        bytes: Count.nullable(),
        state: z.enum(['active', 'filling', 'draining']),
      })
      .meta({ id: 'Database' }),
  )
  .meta({ id: 'DatabasesResponse' })

/** The databases as they are when the weights are stored (B3). */
export const RebalanceResponse = withIssues('RebalanceResponse', z.object({ databases: DatabasesResponse }))

/** The weights by which users are spread (B3). */
export const RebalanceRequest = z
  .object({ weights: optional(z.record(z.string(), z.number().min(0))) })
  .meta({ id: 'RebalanceRequest' })
