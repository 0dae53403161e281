import type { Boost, Configuration, System } from '../../configuration/configuration.types'
import type { BoostMoment } from '../../configuration/enumerations.types'
import type { Instant } from '../../lib/clock'
import { childId, namedId } from '../../lib/ids'
import { draftOf } from '../../webhooks/events/event.builder'
import { pointsBoostFinished } from '../../webhooks/events/points-boost-finished.event'
import { pointsBoostStarted } from '../../webhooks/events/points-boost-started.event'
import { type AddressedEntry, listens } from '../../webhooks/outbox/outbox.messages'

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
