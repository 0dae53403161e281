import * as z from 'zod'
import {
  Badge,
  ConfigKey,
  createResponse,
  Description,
  deleteResponse,
  isNamed,
  itemName,
  items,
  Name,
  optional,
  Uuid,
  UuidResponse,
  updateResponse,
  wholeNumber,
} from '../../api/fields'
import { Filters, FiltersResponse } from '../../api/shapes/attribute.schemas'
import { ACHIEVEMENT_STATUSES, ACHIEVEMENT_TRIGGERS } from '../../configuration/enumerations'
import { INT32_MAX, MICROS_PER_UNIT } from '../../lib/decimal'
import { MOST_METRIC_TOTAL, MOST_PREREQUISITES } from '../../lib/limits'

/** The smallest amount by which a total changes (E1). */
const LEAST_TOTAL = 1 / MICROS_PER_UNIT

const Status = z.enum(ACHIEVEMENT_STATUSES)
const Trigger = z.enum(ACHIEVEMENT_TRIGGERS)

/** The fields that only some triggers have, and the filters (A2). */
const conditions = {
  metricId: optional(Uuid),
  metricKey: optional(ConfigKey),
  metricValue: optional(z.number().min(LEAST_TOTAL).max(MOST_METRIC_TOTAL)),
  streakLength: optional(wholeNumber(1, INT32_MAX)),
  achievementIds: optional(z.array(Uuid).min(1).max(MOST_PREREQUISITES)),
  achievementKeys: optional(z.array(ConfigKey).min(1).max(MOST_PREREQUISITES)),
  userAttributes: Filters,
  eventAttributes: Filters,
}

/** An achievement to create. It is inactive unless `status` says otherwise (A1). */
export const CreateAchievementRequestItem = z
  .object({
    name: Name,
    key: ConfigKey,
    description: optional(Description),
    badge: Badge.nullish(),
    status: optional(Status),
    trigger: Trigger,
    ...conditions,
  })
  .meta({ id: 'CreateAchievementRequestItem' })

/** A change to an achievement. Its key is fixed. Null removes its badge or its filters. */
export const UpdateAchievementRequestItem = z
  .object({
    ...itemName,
    name: optional(Name),
    description: optional(Description),
    badge: Badge.nullish(),
    status: optional(Status),
    trigger: optional(Trigger),
    ...conditions,
  })
  .check(isNamed)
  .meta({ id: 'UpdateAchievementRequestItem' })

/** An achievement as the admin interface returns it, with the fields of its trigger. */
export const AdminAchievement = z
  .object({
    id: UuidResponse,
    name: z.string(),
    key: z.string(),
    description: z.string(),
    badge: z.object({ url: z.string() }).nullable(),
    status: Status,
    trigger: Trigger,
    metricId: UuidResponse.optional(),
    metricValue: z.number().optional(),
    streakLength: z.int32().optional(),
    achievementIds: z.array(UuidResponse).optional(),
    userAttributes: FiltersResponse,
    eventAttributes: FiltersResponse.optional(),
  })
  .meta({ id: 'AdminAchievement' })

export const CreateAchievementsRequest = items(CreateAchievementRequestItem).meta({
  id: 'CreateAchievementsRequest',
})
export const UpdateAchievementsRequest = items(UpdateAchievementRequestItem).meta({
  id: 'UpdateAchievementsRequest',
})
export const ListAchievementsResponse = z.array(AdminAchievement).meta({ id: 'ListAchievementsResponse' })
export const CreateAchievementsResponse = createResponse('CreateAchievementsResponse', AdminAchievement)
export const UpdateAchievementsResponse = updateResponse('UpdateAchievementsResponse', AdminAchievement)
export const DeleteAchievementsResponse = deleteResponse('DeleteAchievementsResponse')
