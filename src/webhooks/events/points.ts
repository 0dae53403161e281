import * as z from 'zod'
import { DateResponse, Timestamp } from '../../api/fields'
import {
  levelResponse,
  MetricEventPointsResponse,
  type PointsAward,
  PointsLevel,
  PointsResponse,
  systemFields,
} from '../../api/shapes/points'
import { User, userResponse } from '../../api/shapes/users'
import type { Boost, Configuration, Level, System } from '../../configuration/configuration.types'
import { DAY, type Instant, instant, iso } from '../../lib/clock'
import { ROUNDINGS } from '../../lib/decimal'
import { jsonBytes } from '../../lib/packed'
import { addDays } from '../../lib/zone'
import { shown } from '../../rules/points/boosts.rules'
import { levelOf } from '../../rules/points/points.rules'
import type { UserState } from '../../rules/state'
import { SAMPLE_ID, SAMPLE_SYSTEM, sampleUser, type UserPayload, type When, webhookEvent } from './event'

const PointsPayload = z.object({ user: User, points: MetricEventPointsResponse })
type PointsPayload = z.infer<typeof PointsPayload>
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
type PointsFacts = { system: System; total: number; totalBefore: number; awards: readonly Award[] }

/** The points of a user changed (W5, W6). */
export const pointsChanged = webhookEvent({
  type: 'points.changed',
  schema: PointsPayload,
  sample: (when): PointsPayload => ({
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
  build: (
    config: Configuration,
    user: UserState,
    { system, total, totalBefore, awards }: PointsFacts,
  ): PointsPayload => {
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

const LevelPayload = z.object({
  user: User,
  points: PointsResponse.extend({ total: z.int32() }),
  previousLevel: PointsLevel.nullable(),
  newLevel: PointsLevel.nullable(),
})
type LevelPayload = z.infer<typeof LevelPayload>

/** The total of a user in a system, and the levels before and after the change. Null means no level. */
type LevelFacts = { system: System; total: number; from: Level | null; to: Level | null }

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
  schema: LevelPayload,
  sample: (when): LevelPayload => ({
    user: sampleUser(when),
    points: { ...SAMPLE_SYSTEM, total: 110 },
    previousLevel: sampleLevel('one', 50, `${SAMPLE_ID}3`),
    newLevel: sampleLevel('two', 100, `${SAMPLE_ID}4`),
  }),
  build: (user: UserPayload, { system, total, from, to }: LevelFacts): LevelPayload => ({
    user,
    points: { ...systemFields(system), total },
    previousLevel: from && levelResponse(from),
    newLevel: to && levelResponse(to),
  }),
})

/* Parts that both events of boosts share. The events differ only in the status. */

type Status = 'active' | 'finished'

/** A boost as webhooks receive it (W6). */
const PointsBoostWebhookPayload = z
  .object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['active', 'finished']),
    userId: z.string().nullable(),
    pointsSystemId: z.string(),
    pointsSystemKey: z.string(),
    pointsSystemName: z.string(),
    start: DateResponse,
    end: DateResponse.nullable(),
    multiplier: z.number(),
    rounding: z.enum(ROUNDINGS),
  })
  .meta({ id: 'PointsBoostWebhookPayload' })

/** The schema of the payload of both events. */
const BoostPayload = z.object({ timestamp: Timestamp, boost: PointsBoostWebhookPayload })
/** A payload of one of both events. */
type BoostPayload = z.infer<typeof BoostPayload>

/** The payload for a boost that starts or finishes at a moment. */
const boostPayload = (
  system: Pick<System, 'id' | 'key' | 'name'>,
  boost: Boost,
  status: Status,
  at: Instant,
): BoostPayload => ({
  timestamp: iso(at),
  boost: {
    ...shown(boost),
    status,
    userId: boost.userId,
    pointsSystemId: system.id,
    pointsSystemKey: system.key,
    pointsSystemName: system.name,
  },
})

/** A payload with made-up data. */
const sampleBoostPayload = ({ now, today }: When, status: Status): BoostPayload => ({
  timestamp: iso(now),
  boost: {
    id: `${SAMPLE_ID}7`,
    name: 'Sample boost',
    status,
    userId: null,
    pointsSystemId: SAMPLE_SYSTEM.id,
    pointsSystemKey: SAMPLE_SYSTEM.key,
    pointsSystemName: SAMPLE_SYSTEM.name,
    start: addDays(today, -1),
    end: status === 'finished' ? addDays(today, -1) : null,
    multiplier: 2,
    rounding: 'down',
  },
})

/** A boost began (W6). */
export const pointsBoostStarted = webhookEvent({
  type: 'points.boost_started',
  schema: BoostPayload,
  sample: (when): BoostPayload => sampleBoostPayload(when, 'active'),
  build: (system: Pick<System, 'id' | 'key' | 'name'>, boost: Boost, at: Instant): BoostPayload =>
    boostPayload(system, boost, 'active', at),
})

/** A boost ended (W6). */
export const pointsBoostFinished = webhookEvent({
  type: 'points.boost_finished',
  schema: BoostPayload,
  sample: (when): BoostPayload => sampleBoostPayload(when, 'finished'),
  build: (system: Pick<System, 'id' | 'key' | 'name'>, boost: Boost, at: Instant): BoostPayload =>
    boostPayload(system, boost, 'finished', at),
})
