import * as z from 'zod'
import {
  ConfigKey,
  createResponse,
  DateField,
  DateResponse,
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
} from '../api/fields'
import { RankBy, RunUnit, TimeOfDay } from '../api/shapes/leaderboards'
import { LEADERBOARD_STATUSES } from '../configuration/enumerations'
import { INT32_MAX } from '../lib/decimal'
import { MOST_BREAKDOWN_ATTRIBUTES, MOST_PARTICIPANTS } from '../lib/limits'

const Status = z.enum(LEADERBOARD_STATUSES)
const MaxParticipants = wholeNumber(1, MOST_PARTICIPANTS)
const RunInterval = wholeNumber(1, INT32_MAX)
const Breakdown = z.array(Uuid).max(MOST_BREAKDOWN_ATTRIBUTES)

/**
 * A leaderboard to create. Without a status it is created inactive, or scheduled if its start is in the
 * future (L7). `maxParticipants: null` means the default of 1,000 (L2).
 */
export const CreateLeaderboardRequestItem = z
  .object({
    name: Name,
    key: ConfigKey,
    description: optional(Description),
    status: optional(Status),
    rankBy: RankBy,
    metricId: optional(Uuid),
    metricKey: optional(ConfigKey),
    pointsSystemId: optional(Uuid),
    pointsSystemKey: optional(ConfigKey),
    maxParticipants: MaxParticipants.nullish(),
    start: optional(DateField),
    end: optional(DateField),
    startTime: optional(TimeOfDay),
    endTime: optional(TimeOfDay),
    breakdownAttributes: optional(Breakdown),
    breakdownAttributeKeys: optional(z.array(ConfigKey).max(MOST_BREAKDOWN_ATTRIBUTES)),
    runUnit: optional(RunUnit),
    runInterval: optional(RunInterval),
  })
  .meta({ id: 'CreateLeaderboardRequestItem' })

/** A change to a leaderboard. Null removes its end, its window or its runs, and sets its maximum to 1,000. */
export const UpdateLeaderboardRequestItem = z
  .object({
    ...itemName,
    name: optional(Name),
    description: optional(Description),
    status: optional(Status),
    rankBy: optional(RankBy),
    metricId: optional(Uuid),
    metricKey: optional(ConfigKey),
    pointsSystemId: optional(Uuid),
    pointsSystemKey: optional(ConfigKey),
    maxParticipants: MaxParticipants.nullish(),
    start: optional(DateField),
    end: DateField.nullish(),
    startTime: TimeOfDay.nullish(),
    endTime: TimeOfDay.nullish(),
    breakdownAttributes: optional(Breakdown),
    breakdownAttributeKeys: optional(z.array(ConfigKey).max(MOST_BREAKDOWN_ATTRIBUTES)),
    runUnit: RunUnit.nullish(),
    runInterval: optional(RunInterval),
  })
  .check(isNamed)
  .meta({ id: 'UpdateLeaderboardRequestItem' })

/** A leaderboard as the admin interface returns it. Fields without a value are left out (G10). */
export const AdminLeaderboard = z
  .object({
    id: UuidResponse,
    name: z.string(),
    key: z.string(),
    description: z.string().optional(),
    status: Status,
    rankBy: RankBy,
    metricId: UuidResponse.optional(),
    pointsSystemId: UuidResponse.optional(),
    maxParticipants: z.int32(),
    start: DateResponse,
    end: DateResponse.optional(),
    startTime: TimeOfDay.optional(),
    endTime: TimeOfDay.optional(),
    breakdownAttributes: z.array(UuidResponse),
    runUnit: RunUnit.optional(),
    runInterval: z.int32().optional(),
  })
  .meta({ id: 'AdminLeaderboard' })

export const CreateLeaderboardsRequest = items(CreateLeaderboardRequestItem).meta({
  id: 'CreateLeaderboardsRequest',
})
export const UpdateLeaderboardsRequest = items(UpdateLeaderboardRequestItem).meta({
  id: 'UpdateLeaderboardsRequest',
})
export const ListLeaderboardsResponse = z.array(AdminLeaderboard).meta({ id: 'ListLeaderboardsResponse' })
export const CreateLeaderboardsResponse = createResponse('CreateLeaderboardsResponse', AdminLeaderboard)
export const UpdateLeaderboardsResponse = updateResponse('UpdateLeaderboardsResponse', AdminLeaderboard)
export const DeleteLeaderboardsResponse = deleteResponse('DeleteLeaderboardsResponse')
