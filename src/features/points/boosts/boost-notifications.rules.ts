import type { Boost, Configuration } from '../../../config/configuration.types'
import { BOOST_MOMENTS, type BoostMoment } from '../../../config/enumerations.types'
import { boostSpan, boostStatus } from '../../../engine/points/boosts.rules'
import { type Instant, instant } from '../../../lib/clock'
import { listens } from '../../../outbox/outbox.messages'

/** What there is to tell of a boost, in order of time (W6). */

/** Whether somebody listens to when boosts start or finish (W6). */
export const hasBoostListeners = (config: Pick<Configuration, 'webhooks'>): boolean =>
  BOOST_MOMENTS.some((moment) => listens(config, `points.boost_${moment}`))

/** What has happened to a boost by a moment, as its row notes it; the zone is a user's own boost's, else null. */
export function momentBy(boost: Boost, at: Instant, zone: string | null): BoostMoment | null {
  const status = boostStatus(boost, at, zone)
  return status === 'scheduled' ? null : status === 'active' ? 'started' : 'finished'
}

/** What a write has made happen to a boost at once, since it is past: what had not happened to it as it was; null is a new one. */
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

/** When a boost starts or finishes (P5); null where it never finishes. */
export function momentOf(boost: Boost, zone: string | null, moment: BoostMoment): Instant | null {
  const { begins, ends } = boostSpan(boost, zone)
  return moment === 'started' ? begins : ends
}

/** The first moment after another at which something happens to one of these boosts; null where nothing ever does. */
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
