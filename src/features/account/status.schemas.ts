import * as z from 'zod'
import { Timestamp } from '../../api/fields'

const Count = z.int().min(0)

/** The state of the whole service (G12). */
export const StatusResponse = z
  .object({
    version: z.string(),
    // The size is null if the database can't be reached.
    databases: z.array(z.object({ name: z.string(), bytes: Count.nullable() })),
    due: z.object({ count: Count, oldest: Timestamp.nullable() }),
    inbox: Count,
    outbox: Count,
    deliveries: z.object({ pending: Count, dead: Count, unknown: Count }),
    leaderboards: z.object({ behind: Count }),
  })
  .meta({ id: 'StatusResponse' })

/** The features of the deployment, for the holder of an admin key (G13). */
export const SessionResponse = z
  .object({
    keyId: z.uuid().nullable(),
    version: z.string(),
    multiTenancy: z.boolean(),
    testClock: z.boolean(),
    now: Timestamp,
  })
  .meta({ id: 'SessionResponse' })
