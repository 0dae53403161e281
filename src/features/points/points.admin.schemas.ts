import * as z from 'zod'
import {
  Badge,
  ConfigKey,
  createResponse,
  DateField,
  DateResponse,
  Description,
  defaulted,
  deleteResponse,
  isNamed,
  itemName,
  items,
  Name,
  optional,
  rule,
  UserId,
  Uuid,
  UuidResponse,
  updateResponse,
  wholeNumber,
} from '../../api/fields'
import { Filters, FiltersResponse } from '../../api/shapes/attributes'
import {
  BOOST_STATUSES,
  SWITCH_STATUSES,
  TIME_UNITS,
  TRIGGER_FIELDS,
  TRIGGER_TYPES,
  type TriggerField,
} from '../../configuration/enumerations'
import { INT32_MAX, ROUNDINGS } from '../../lib/decimal'
import { MOST_NESTED_ITEMS, MOST_TRIGGER_POINTS } from '../../lib/limits'
import { isCivilDate } from '../../lib/zone'

const isNot = (wrong: number) => (value: number) => value !== wrong

const BadgeResponse = z.object({ url: z.string() })
const Positive = wholeNumber(1, INT32_MAX)

/* Levels (P9) */

const LevelPoints = wholeNumber(0, INT32_MAX)

/** A level to create. */
export const CreatePointsLevelRequestItem = z
  .object({
    name: Name,
    key: ConfigKey,
    points: LevelPoints,
    description: optional(Description),
    badge: optional(Badge),
  })
  .meta({ id: 'CreatePointsLevelRequestItem' })

/** A change to a level. Its key is fixed. A badge of null removes the badge. */
export const PatchPointsLevelRequestItem = z
  .object({
    ...itemName,
    name: optional(Name),
    points: optional(LevelPoints),
    description: optional(Description),
    badge: Badge.nullish(),
  })
  .check(isNamed)

/** A level as the admin interface returns it. */
export const AdminPointsLevel = z
  .object({
    id: UuidResponse,
    name: z.string(),
    key: z.string(),
    points: z.int32(),
    description: z.string(),
    badge: BadgeResponse.nullable(),
  })
  .meta({ id: 'AdminPointsLevel' })

export const CreatePointsLevelsRequest = items(CreatePointsLevelRequestItem).meta({
  id: 'CreatePointsLevelsRequest',
})
export const PatchPointsLevelsRequest = items(PatchPointsLevelRequestItem).meta({
  id: 'PatchPointsLevelsRequest',
})
export const ListPointsLevelsResponse = z.array(AdminPointsLevel).meta({ id: 'ListPointsLevelsResponse' })
export const CreatePointsLevelsResponse = createResponse('CreatePointsLevelsResponse', AdminPointsLevel)
export const PatchPointsLevelsResponse = updateResponse('PatchPointsLevelsResponse', AdminPointsLevel)
export const DeletePointsLevelsResponse = deleteResponse('DeletePointsLevelsResponse')

/* Boosts (P5) */

const Multiplier = z.number().gt(0).lt(100).refine(isNot(1), 'must not be 1, which changes nothing')
const Rounding = z.enum(ROUNDINGS)

const isDate = (value: unknown): value is string => typeof value === 'string' && isCivilDate(value)
const endsInOrder = ({ start, end }: { start?: unknown; end?: unknown }) =>
  !isDate(start) || !isDate(end) || start <= end
const endNotBeforeStart = rule('end', 'must not be before start')

/** A boost to create: for all users, for one user, or for users with certain attributes. */
export const CreatePointsBoostRequestItem = z
  .object({
    userId: UserId.nullish(),
    key: optional(ConfigKey),
    name: Name,
    start: DateField,
    end: DateField.nullish(),
    multiplier: Multiplier,
    rounding: defaulted(Rounding, 'down'),
    userAttributes: Filters,
  })
  .refine(endsInOrder, endNotBeforeStart)
  .refine(
    ({ userId, userAttributes }) => userId == null || !userAttributes?.length,
    rule('userAttributes', 'must be left out if userId is given. Pass only one of the two'),
  )
  .meta({ id: 'CreatePointsBoostRequestItem' })

/** A change to a boost. Null removes its end or its filters. */
export const PatchPointsBoostRequestItem = z
  .object({
    ...itemName,
    name: optional(Name),
    start: optional(DateField),
    end: DateField.nullish(),
    multiplier: optional(Multiplier),
    rounding: optional(Rounding),
    userAttributes: Filters,
  })
  .refine(endsInOrder, endNotBeforeStart)
  .check(isNamed)

/** A boost as the admin interface returns it. */
export const AdminPointsBoost = z
  .object({
    id: UuidResponse,
    key: z.string(),
    name: z.string(),
    status: z.enum(BOOST_STATUSES),
    start: DateResponse,
    end: DateResponse.nullable(),
    multiplier: z.number(),
    rounding: Rounding,
    userId: z.string().nullable(),
    userAttributes: FiltersResponse.optional(),
  })
  .meta({ id: 'AdminPointsBoost' })

export const CreatePointsBoostsRequest = items(CreatePointsBoostRequestItem).meta({
  id: 'CreatePointsBoostsRequest',
})
export const PatchPointsBoostsRequest = items(PatchPointsBoostRequestItem).meta({
  id: 'PatchPointsBoostsRequest',
})
export const ListPointsBoostsResponse = z.array(AdminPointsBoost).meta({ id: 'ListPointsBoostsResponse' })
export const CreatePointsBoostsResponse = createResponse('CreatePointsBoostsResponse', AdminPointsBoost)
export const PatchPointsBoostsResponse = updateResponse('PatchPointsBoostsResponse', AdminPointsBoost)
export const DeletePointsBoostsResponse = deleteResponse('DeletePointsBoostsResponse')

/* Triggers (P1–P4) */

const TriggerType = z.enum(TRIGGER_TYPES)
const TriggerStatus = z.enum(SWITCH_STATUSES)
const TriggerPoints = wholeNumber(-MOST_TRIGGER_POINTS, MOST_TRIGGER_POINTS).refine(isNot(0), 'must not be 0')
const TimeUnit = z.enum(TIME_UNITS)

/** The fields that only some types of trigger have, in a request. */
const typedFields = {
  metricId: optional(Uuid),
  metricThreshold: optional(Positive),
  eventAttributes: Filters,
  achievementId: optional(Uuid),
  streakLength: optional(Positive),
  timeUnit: optional(TimeUnit),
  timeInterval: optional(Positive),
} satisfies Record<TriggerField | 'eventAttributes', z.ZodType>

const typedFieldsResponse = {
  metricId: UuidResponse.optional(),
  metricThreshold: z.int32().optional(),
  eventAttributes: FiltersResponse.optional(),
  achievementId: UuidResponse.optional(),
  streakLength: z.int32().optional(),
  timeUnit: TimeUnit.optional(),
  timeInterval: z.int32().optional(),
} satisfies Record<TriggerField | 'eventAttributes', z.ZodType>

/** The keys of the resources that a trigger refers to, in a request (O1). */
const referencedKeys = { metricKey: optional(ConfigKey), achievementKey: optional(ConfigKey) }

/** The field that names the same resource by its key: `metricKey` for `metricId` (O1). */
const keyField = (field: TriggerField) => field.replace(/Id$/, 'Key')

/** Checks that a trigger of the type has the field, or names the same resource by its key. */
const neededBy = (type: z.output<typeof TriggerType>, field: TriggerField) =>
  z.refine<Readonly<Record<string, unknown>>>(
    (trigger) =>
      trigger.type !== type || trigger[field] !== undefined || trigger[keyField(field)] !== undefined,
    rule(field, `is needed by a trigger of type ${type}, and is missing`),
  )

/** A trigger to create. It is inactive unless `status` says otherwise (P3). */
export const CreatePointsTriggerRequestItem = z
  .object({
    key: optional(ConfigKey),
    type: TriggerType,
    points: TriggerPoints,
    status: defaulted(TriggerStatus, 'inactive'),
    userAttributes: Filters,
    ...typedFields,
    ...referencedKeys,
    blockIfOutOfPoints: defaulted(z.boolean(), false),
  })
  .check(...TRIGGER_TYPES.flatMap((type) => TRIGGER_FIELDS[type].map((field) => neededBy(type, field))))
  .meta({ id: 'CreatePointsTriggerRequestItem' })

/** A change to a trigger. Null removes its filters. */
export const PatchPointsTriggerRequestItem = z
  .object({
    ...itemName,
    type: optional(TriggerType),
    points: optional(TriggerPoints),
    status: optional(TriggerStatus),
    userAttributes: Filters,
    ...typedFields,
    ...referencedKeys,
    blockIfOutOfPoints: optional(z.boolean()),
  })
  .check(isNamed)

/** A trigger as the admin interface returns it. */
export const AdminPointsTrigger = z
  .object({
    id: UuidResponse,
    key: z.string(),
    type: TriggerType,
    points: z.int32(),
    status: TriggerStatus,
    userAttributes: FiltersResponse,
    ...typedFieldsResponse,
    blockIfOutOfPoints: z.boolean(),
  })
  .meta({ id: 'AdminPointsTrigger' })

export const CreatePointsTriggersRequest = items(CreatePointsTriggerRequestItem).meta({
  id: 'CreatePointsTriggersRequest',
})
export const PatchPointsTriggersRequest = items(PatchPointsTriggerRequestItem).meta({
  id: 'PatchPointsTriggersRequest',
})
export const ListPointsTriggersResponse = z
  .array(AdminPointsTrigger)
  .meta({ id: 'ListPointsTriggersResponse' })
export const CreatePointsTriggersResponse = createResponse('CreatePointsTriggersResponse', AdminPointsTrigger)
export const PatchPointsTriggersResponse = updateResponse('PatchPointsTriggersResponse', AdminPointsTrigger)
export const DeletePointsTriggersResponse = deleteResponse('DeletePointsTriggersResponse')

/* Points systems */

/** A points system to create, with its levels, boosts and triggers. */
export const CreatePointsSystemRequestItem = z
  .object({
    name: Name,
    key: ConfigKey,
    description: optional(Description),
    badge: Badge.nullish(),
    maxPoints: Positive.nullish(),
    levels: optional(z.array(CreatePointsLevelRequestItem).max(MOST_NESTED_ITEMS)),
    boosts: optional(z.array(CreatePointsBoostRequestItem).max(MOST_NESTED_ITEMS)),
    triggers: optional(z.array(CreatePointsTriggerRequestItem).max(MOST_NESTED_ITEMS)),
  })
  .meta({ id: 'CreatePointsSystemRequestItem' })

/** A change to a points system. Null removes its badge or its cap. */
export const UpdatePointsSystemRequestItem = z
  .object({
    ...itemName,
    name: optional(Name),
    description: optional(Description),
    badge: Badge.nullish(),
    maxPoints: Positive.nullish(),
  })
  .check(isNamed)
  .meta({ id: 'UpdatePointsSystemRequestItem' })

/** A points system as the admin interface returns it. */
export const AdminPointsSystem = z
  .object({
    id: UuidResponse,
    name: z.string(),
    key: z.string(),
    description: z.string(),
    status: z.enum(['active', 'archived']),
    badge: BadgeResponse.nullable(),
    maxPoints: z.int32().nullable(),
  })
  .meta({ id: 'AdminPointsSystem' })

/** A new points system, with the levels, boosts and triggers that were created in it. */
export const CreatedAdminPointsSystem = AdminPointsSystem.extend({
  levels: z.array(AdminPointsLevel).optional(),
  boosts: z.array(AdminPointsBoost).optional(),
  triggers: z.array(AdminPointsTrigger).optional(),
}).meta({ id: 'CreatedAdminPointsSystem' })

export const CreatePointsSystemsRequest = items(CreatePointsSystemRequestItem).meta({
  id: 'CreatePointsSystemsRequest',
})
export const UpdatePointsSystemsRequest = items(UpdatePointsSystemRequestItem).meta({
  id: 'UpdatePointsSystemsRequest',
})
export const ListPointsSystemsResponse = z.array(AdminPointsSystem).meta({ id: 'ListPointsSystemsResponse' })
export const CreatePointsSystemsResponse = createResponse(
  'CreatePointsSystemsResponse',
  CreatedAdminPointsSystem,
)
export const UpdatePointsSystemsResponse = updateResponse('UpdatePointsSystemsResponse', AdminPointsSystem)
export const DeletePointsSystemsResponse = deleteResponse('DeletePointsSystemsResponse')
