import type { Boost, Configuration, System } from '../../../config/configuration.types'
import type { BoostMoment } from '../../../config/enumerations.types'
import type { Instant } from '../../../lib/clock'
import { childId, namedId } from '../../../lib/ids'
import { draftOf } from '../../../outbox/events/event.builder'
import { pointsBoostFinished } from '../../../outbox/events/points/points-boost-finished.event'
import { pointsBoostStarted } from '../../../outbox/events/points/points-boost-started.event'
import { type AddressedEntry, listens } from '../../../outbox/outbox.messages'

const EVENTS = { started: pointsBoostStarted, finished: pointsBoostFinished } as const

/**
 * The outbox entries for a boost that starts or finishes at a moment. Empty if no webhook listens to that
 * event (W6).
 */
export function boostEntries(
  config: Pick<Configuration, 'webhooks'>,
  system: Pick<System, 'id' | 'key' | 'name'>,
  boost: Boost,
  moment: BoostMoment,
  at: Instant,
): AddressedEntry[] {
  const event = EVENTS[moment]
  if (!listens(config, event.type)) return []
  const id = namedId(at, `${boost.id} ${event.type}`)
  const messages = [{ id: childId(id, 0), ...draftOf(event, system, boost, at) }]
  return [{ outboxEntry: { at, seq: 0, id, userIid: boost.userIid, messages }, userId: boost.userId }]
}
