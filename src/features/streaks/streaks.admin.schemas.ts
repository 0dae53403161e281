import * as z from 'zod'
import {
  DateField,
  DateResponse,
  deleteResponse,
  Issue,
  items,
  rule,
  UserId,
  UuidResponse,
} from '../../api/fields'
import { ListQuery } from '../../api/queries'
import { isCivilDate } from '../../lib/civil'

/**
 * An issue about a user. Older client libraries need `level` and `reason`, the old names of `severity` and
 * `message` (G7, G10).
 */
export const UserIssue = Issue.extend({
  userId: z.string(),
  level: Issue.shape.severity,
  reason: z.string(),
}).meta({ id: 'AdminUserIssue' })

/** The users who get one streak freeze each (S7). */
export const CreateStreakFreezesRequest = z
  .object({ freezes: items(z.object({ userId: UserId })) })
  .meta({ id: 'CreateStreakFreezesRequest' })

export const CreateStreakFreezesResponse = z
  .object({ issues: z.array(UserIssue) })
  .meta({ id: 'CreateStreakFreezesResponse' })

const isInOrder = ({ start, end }: { start?: unknown; end?: unknown }) =>
  !isDate(start) || !isDate(end) || start <= end
const isDate = (value: unknown): value is string => typeof value === 'string' && isCivilDate(value)

/** Pauses of users' streaks. The dates are local dates of the user, and both days are included (S7). */
export const CreateStreakPausesRequest = z
  .object({
    pauses: items(
      z
        .object({ userId: UserId, start: DateField, end: DateField })
        .refine(isInOrder, rule('end', 'must not be before start')),
    ),
  })
  .meta({ id: 'CreateStreakPausesRequest' })

export const AdminStreakPause = z
  .object({
    id: UuidResponse,
    userId: z.string(),
    start: DateResponse,
    end: DateResponse,
    status: z.enum(['active', 'archived']),
  })
  .meta({ id: 'AdminStreakPause' })

export const CreateStreakPausesResponse = z
  .object({ created: z.array(AdminStreakPause), issues: z.array(UserIssue) })
  .meta({ id: 'CreateStreakPausesResponse' })

/** The user whose pauses are listed, and the page (G7). */
export const StreakPausesQuery = ListQuery.extend({ userId: UserId })

export const ListStreakPausesResponse = z.array(AdminStreakPause).meta({ id: 'ListStreakPausesResponse' })

export const DeleteStreakPausesResponse = deleteResponse('DeleteStreakPausesResponse')

/** The users whose streaks are restored (S8). */
export const RestoreStreaksRequest = z
  .object({ users: items(z.object({ id: UserId })) })
  .meta({ id: 'RestoreStreaksRequest' })

export const RestoreStreaksResponse = z
  .object({ restoredUsers: z.array(z.string()), issues: z.array(UserIssue) })
  .meta({ id: 'RestoreStreaksResponse' })
