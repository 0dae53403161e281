import * as z from 'zod'
import { levelResponse, systemFields } from '../../api/shapes/points.presenter'
import { PointsLevel, PointsResponse } from '../../api/shapes/points.schemas'
import { User } from '../../api/shapes/user.schemas'
import type { Level, System } from '../../configuration/configuration.types'
import { type UserPayload, webhookEvent } from './event.builder'
import { SAMPLE_ID, SAMPLE_SYSTEM, sampleUser } from './samples.builder'

const Payload = z.object({
  user: User,
  points: PointsResponse.extend({ total: z.int32() }),
  previousLevel: PointsLevel.nullable(),
  newLevel: PointsLevel.nullable(),
})
type Payload = z.infer<typeof Payload>

/** The total of a user in a system, and the levels before and after the change. Null means no level. */
type Facts = { system: System; total: number; from: Level | null; to: Level | null }

const sampleLevel = (key: string, points: number, id: string): z.infer<typeof PointsLevel> => ({
  id,
  key,
  name: `Sample level ${key}`,
  description: '',
  badgeUrl: null,
  points,
})

/** Points took a user to another level (W6). */
export const pointsLevelChanged = webhookEvent({
  type: 'points.level_changed',
  schema: Payload,
  sample: (when): Payload => ({
    user: sampleUser(when),
    points: { ...SAMPLE_SYSTEM, total: 110 },
    previousLevel: sampleLevel('one', 50, `${SAMPLE_ID}3`),
    newLevel: sampleLevel('two', 100, `${SAMPLE_ID}4`),
  }),
  build: (user: UserPayload, { system, total, from, to }: Facts): Payload => ({
    user,
    points: { ...systemFields(system), total },
    previousLevel: from && levelResponse(from),
    newLevel: to && levelResponse(to),
  }),
})
