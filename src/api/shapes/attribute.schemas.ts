import * as z from 'zod'
import { ATTRIBUTE_TYPES, ATTRIBUTE_WRITERS } from '../../configuration/enumerations'
import {
  AttributeValue,
  ConfigKey,
  createResponse,
  deleteResponse,
  isNamed,
  itemName,
  items,
  Name,
  optional,
  rule,
  Uuid,
  UuidResponse,
  updateResponse,
} from '../fields'
import { namesQuery } from '../queries'
import { BY_KEY } from '../resource'

const AttributeType = z.enum(ATTRIBUTE_TYPES)
const WritableBy = z.enum(ATTRIBUTE_WRITERS)

/** A custom attribute to configure. */
export const CreateAttributeRequestItem = z
  .object({
    name: Name,
    key: ConfigKey,
    type: AttributeType,
    writableBy: optional(WritableBy),
  })
  .meta({ id: 'CreateAttributeRequestItem' })

/**
 * A change to an attribute. Its key and type are fixed. The type says which attribute is meant, if a user
 * attribute and an event attribute have the key (O1).
 */
export const UpdateAttributeRequestItem = z
  .object({
    ...itemName,
    type: optional(AttributeType),
    name: optional(Name),
    writableBy: optional(WritableBy),
  })
  .check(isNamed)
  .meta({ id: 'UpdateAttributeRequestItem' })

/** An attribute as the admin interface serves it. Event attributes have no `writableBy`. */
export const AdminAttribute = z
  .object({
    id: UuidResponse,
    name: z.string(),
    key: z.string(),
    type: AttributeType,
    writableBy: WritableBy.optional(),
  })
  .meta({ id: 'AdminAttribute' })

const typed = { type: AttributeType.optional() }

/** How the operations name an attribute: one of users and one of events may have the same key (O1). */
export const ATTRIBUTE_NAMES = {
  ...BY_KEY,
  of: z.object(typed),
  delete: namesQuery(typed),
}

/** An attribute filter as the application interface shows it: by key. */
export const AttributeFilterResponse = z.object({ key: z.string(), value: z.string() })

export const CreateAttributesRequest = items(CreateAttributeRequestItem).meta({
  id: 'CreateAttributesRequest',
})
export const UpdateAttributesRequest = items(UpdateAttributeRequestItem).meta({
  id: 'UpdateAttributesRequest',
})
export const ListAttributesResponse = z.array(AdminAttribute).meta({ id: 'ListAttributesResponse' })
export const CreateAttributesResponse = createResponse('CreateAttributesResponse', AdminAttribute)
export const UpdateAttributesResponse = updateResponse('UpdateAttributesResponse', AdminAttribute)
export const DeleteAttributesResponse = deleteResponse('DeleteAttributesResponse')

const MOST_FILTERS = 20

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
