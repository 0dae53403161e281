import type { Boost, Configuration } from '../../configuration/configuration.types'
import { BOOST_MOMENTS, type BoostMoment } from '../../configuration/enumerations.types'
import { type Instant, instant } from '../../lib/clock'
import { boostSpan, boostStatus } from '../../rules/points/boosts.rules'
import { listens } from '../../webhooks/outbox/outbox.messages'

/** Whether a webhook listens to starts or finishes of boosts (W6). */
export const hasBoostListeners = (config: Pick<Configuration, 'webhooks'>): boolean =>
  BOOST_MOMENTS.some((moment) => listens(config, `points.boost_${moment}`))

/**
 * The last moment that a boost has passed by a time, as its row notes it: null before it starts. `zone` is
 * the user's for a user's own boost, else null.
 */
export function momentBy(boost: Boost, at: Instant, zone: string | null): BoostMoment | null {
  const status = boostStatus(boost, at, zone)
  return status === 'scheduled' ? null : status === 'active' ? 'started' : 'finished'
}

/**
 * The moments that a write has put into the past: passed for the boost after the write, but not for the boost
 * before it. `before` is null for a new boost.
 */
export function momentsPassed(
  before: Boost | null,
  after: Boost,
  now: Instant,
  zone: string | null,
): BoostMoment[] {
  const rank = (notified: BoostMoment | null) => (notified === null ? 0 : BOOST_MOMENTS.indexOf(notified) + 1)
  const was = before === null ? null : momentBy(before, now, zone)
  return BOOST_MOMENTS.slice(rank(was), Math.max(rank(was), rank(momentBy(after, now, zone))))
}

/** When a boost starts or finishes (P5). Null if it never finishes. */
export function momentOf(boost: Boost, zone: string | null, moment: BoostMoment): Instant | null {
  const { begins, ends } = boostSpan(boost, zone)
  return moment === 'started' ? begins : ends
}

/** The first moment after another at which one of these boosts starts or finishes. Null if there is none. */
export function nextMoment(
  boosts: readonly { boost: Boost; zone: string | null }[],
  after: Instant,
): Instant | null {
  const moments = boosts.flatMap(({ boost, zone }) =>
    BOOST_MOMENTS.flatMap((moment) => {
      const at = momentOf(boost, zone, moment)
      return at === null || at <= after ? [] : [at]
    }),
  )
  return moments.length === 0 ? null : instant(Math.min(...moments))
}
