import type { Configuration, Filter } from './configuration.types'
import type { AttributeType } from './enumerations'

/** The reason why filters can't be configured, or null. Each filter must name an attribute of this type. */
export function filterProblem(
  config: Configuration,
  type: AttributeType,
  filters: readonly Filter[],
): string | null {
  const isKnown = ({ attributeId }: Filter) =>
    config.attributes.some((attribute) => attribute.id === attributeId && attribute.type === type)
  const unknown = filters.find((filter) => !isKnown(filter))
  if (unknown === undefined) return null
  return `No ${type} attribute has the attributeId ${unknown.attributeId}. Take one from GET /attributes.`
}
