import * as z from 'zod'
import type { Configuration, Filter } from '../../configuration/model'
import { MOST_FILTERS } from '../../lib/limits'
import { AttributeValue, ConfigKey, optional, rule, Uuid, UuidResponse } from '../fields'

/** A filter to configure. It names its attribute by id or by key; without an id, the id is empty (O1). */
const AskedFilter = z
  .object({
    attributeId: optional(Uuid),
    attributeKey: optional(ConfigKey),
    attributeValue: AttributeValue,
  })
  .refine(
    ({ attributeId, attributeKey }) => (attributeId ?? attributeKey ?? null) !== null,
    rule('attributeId', 'must be a UUID, and is missing. Pass it, or attributeKey'),
  )
  .transform(({ attributeId = '', ...filter }) => ({ attributeId, ...filter }))

/** Attribute filters to configure. All of them must match (P2). Null is the same as an empty list. */
export const Filters = z.array(AskedFilter).max(MOST_FILTERS).nullish()

/** Attribute filters as the admin interface serves them. */
export const FiltersResponse = z.array(z.object({ attributeId: UuidResponse, attributeValue: z.string() }))

/** An attribute filter as the application interface shows it: by key. */
export const AttributeFilterResponse = z.object({ key: z.string(), value: z.string() })

/** Filters as the application interface shows them, by key. */
export function filtersResponse(config: Configuration, filters: readonly Filter[]) {
  return filters.flatMap(({ attributeId, attributeValue: value }) => {
    const attribute = config.attributes.find(({ id }) => id === attributeId)
    return attribute === undefined ? [] : [{ key: attribute.key, value }]
  })
}
