import * as z from 'zod'
import { ATTRIBUTE_TYPES, ATTRIBUTE_WRITERS } from '../config/enumerations.types'
import {
  AttributeValue,
  ConfigKey,
  createResponse,
  deleteResponse,
  items,
  Name,
  optional,
  Uuid,
  UuidResponse,
  updateResponse,
} from '../http/fields'

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

/** A change to an attribute. Its key and type are fixed. */
export const UpdateAttributeRequestItem = z
  .object({
    id: Uuid,
    name: optional(Name),
    writableBy: optional(WritableBy),
  })
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

/** Attribute filters to configure. All of them must match (P2). Null is the same as an empty list. */
export const Filters = z
  .array(z.object({ attributeId: Uuid, attributeValue: AttributeValue }))
  .max(MOST_FILTERS)
  .nullish()

/** Attribute filters as the admin interface serves them. */
export const FiltersResponse = z.array(z.object({ attributeId: UuidResponse, attributeValue: z.string() }))
