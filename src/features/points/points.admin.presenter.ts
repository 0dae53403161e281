import type * as z from 'zod'
import {
  type Boost,
  type Level,
  presentFields,
  type System,
  type Trigger,
} from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { boostStatus, OPEN_END } from '../../rules/points/boosts.rules'
import type {
  AdminPointsBoost,
  AdminPointsLevel,
  AdminPointsSystem,
  AdminPointsTrigger,
} from './points.admin.schemas'

const badge = (url: string | null) => (url === null ? null : { url })

/** A points system as the admin interface returns it. */
export function adminSystem(system: System): z.infer<typeof AdminPointsSystem> {
  const { id, name, key, description, badgeUrl, maxPoints } = system
  return { id, name, key, description, status: 'active', badge: badge(badgeUrl), maxPoints }
}

/** A level as the admin interface returns it. */
export function adminLevel(level: Level): z.infer<typeof AdminPointsLevel> {
  const { id, name, key, points, description, badgeUrl } = level
  return { id, name, key, points, description, badge: badge(badgeUrl) }
}

/** A trigger as the admin interface returns it, with the fields of its type. */
export function adminTrigger(trigger: Trigger): z.infer<typeof AdminPointsTrigger> {
  const { id, key, type, points, status, blockIfOutOfPoints } = trigger
  return {
    id,
    key,
    type,
    points,
    status,
    userAttributes: [...trigger.userAttributes],
    ...presentFields(trigger),
    ...(type === 'metric' && { eventAttributes: [...trigger.eventAttributes] }),
    blockIfOutOfPoints,
  }
}

/** A boost as the admin interface returns it. `zone` is the user's for a user's own boost, else null (P5). */
export function adminBoost(
  boost: Boost,
  now: Instant,
  zone: string | null,
): z.infer<typeof AdminPointsBoost> {
  const { id, key, name, start, end, multiplier, rounding, userId, userAttributes } = boost
  return {
    id,
    key,
    name,
    status: boostStatus(boost, now, zone),
    start,
    end: end === OPEN_END ? null : end,
    multiplier,
    rounding,
    userId,
    userAttributes: [...userAttributes],
  }
}
