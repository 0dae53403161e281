import type * as z from 'zod'
import type { Configuration } from '../../configuration/configuration.types'
import { type Instant, iso } from '../../lib/clock'
import { fromMicros, type Micros } from '../../lib/decimal'
import { uncheckedDateAt } from '../../lib/zone'
import type { LoggedEvent } from './award-explanation.schemas'

/** A moment in UTC and on the user's clock at that time (E8). */
export const momentOf = ({ at, utcOffset }: { at: Instant; utcOffset: number }) => ({
  at: iso(at),
  localDate: uncheckedDateAt(at, utcOffset),
  utcOffsetMinutes: utcOffset,
})

/** The key of a configured item, or null if the item was deleted. */
export const keyOf = (list: readonly { id: string; key: string }[], id: string): string | null =>
  list.find((one) => one.id === id)?.key ?? null

/** An event of the log. The name of an attribute is its key, or its id if the attribute was deleted. */
export const eventResponse = (
  { attributes, metrics }: Pick<Configuration, 'attributes' | 'metrics'>,
  event: {
    id: string
    metricId: string
    at: Instant
    value: Micros
    utcOffset: number
    attributes: Readonly<Record<string, string>>
  },
): z.input<typeof LoggedEvent> => ({
  id: event.id,
  metricId: event.metricId,
  metricKey: keyOf(metrics, event.metricId),
  value: fromMicros(event.value),
  attributes: Object.fromEntries(
    Object.entries(event.attributes).map(([id, value]) => [keyOf(attributes, id) ?? id, value]),
  ),
  ...momentOf(event),
})
