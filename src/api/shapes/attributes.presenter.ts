import type { Configuration, Filter } from '../../configuration/configuration.types'

/** Filters as the application interface shows them, by key. */
export function filtersResponse(config: Configuration, filters: readonly Filter[]) {
  return filters.flatMap(({ attributeId, attributeValue: value }) => {
    const attribute = config.attributes.find(({ id }) => id === attributeId)
    return attribute === undefined ? [] : [{ key: attribute.key, value }]
  })
}
