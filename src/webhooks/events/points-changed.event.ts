import * as z from 'zod'
import { levelResponse, systemFields } from '../../api/shapes/points.presenter'
import { MetricEventPointsResponse, type PointsAward } from '../../api/shapes/points.schemas'
import { userResponse } from '../../api/shapes/user.presenter'
import { User } from '../../api/shapes/user.schemas'
import type { Configuration, System } from '../../configuration/configuration.types'
import { instant, iso } from '../../lib/clock'
import { jsonBytes } from '../../lib/packed'
import { DAY } from '../../lib/units'
import { levelOf } from '../../rules/points/points.rules'
import type { UserState } from '../../rules/state.types'
import { webhookEvent } from './event.builder'
import { SAMPLE_ID, SAMPLE_SYSTEM, sampleUser } from './samples.builder'

const Payload = z.object({ user: User, points: MetricEventPointsResponse })
type Payload = z.infer<typeof Payload>
type Award = z.infer<typeof PointsAward>

/** The most bytes of JSON of a payload's awards. With the longest user, it still fits into a row of D1. */
const MOST_BYTES = 300_000

/** The newest awards that fit into a payload, oldest first. `added` still counts all of them. */
function newest(awards: readonly Award[]): Award[] {
  let room = MOST_BYTES
  const first = awards.findLastIndex((award) => {
    room -= jsonBytes(award)
    return room < 0
  })
  return awards.slice(first + 1)
}

/** A user's total in a system now and in the last such event, and all awards since then, oldest first. */
type Facts = { system: System; total: number; totalBefore: number; awards: readonly Award[] }

/** The points of a user changed (W5, W6). */
export const pointsChanged = webhookEvent({
  type: 'points.changed',
  schema: Payload,
  sample: (when): Payload => ({
    user: sampleUser(when),
    points: {
      ...SAMPLE_SYSTEM,
      total: 110,
      added: 10,
      awards: [
        {
          id: `${SAMPLE_ID}5`,
          awarded: 10,
          date: iso(when.now),
          total: 110,
          trigger: {
            id: `${SAMPLE_ID}6`,
            type: 'user_creation',
            points: 10,
            status: 'active',
            userAttributes: [],
            created: iso(instant(when.now - DAY)),
            updated: iso(instant(when.now - DAY)),
          },
          boosts: [],
        },
      ],
    },
  }),
  build: (config: Configuration, user: UserState, { system, total, totalBefore, awards }: Facts): Payload => {
    const [level, levelBefore] = [levelOf(system, total), levelOf(system, totalBefore)]
    return {
      user: userResponse(config, user),
      points: {
        ...systemFields(system),
        total,
        ...(level?.id !== levelBefore?.id && { level: level && levelResponse(level) }),
        added: total - totalBefore,
        awards: newest(awards),
      },
    }
  },
})
