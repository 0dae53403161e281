import type * as z from 'zod'
import { requestSnapshotStatement } from '../../access/tenants.repository'
import { auditEntries } from '../../configuration/audit/audit.repository'
import type { AuditEntry } from '../../configuration/audit/audit.types'
import { goneFields, userEntry } from '../../configuration/audit/entries.rules'
import { configurationOf } from '../../configuration/configuration.service'
import type { Achievement } from '../../configuration/configuration.types'
import { byIdOrKey } from '../../configuration/drafts.rules'
import { iso } from '../../lib/clock'
import { ApiError, errors } from '../../lib/errors'
import { newId } from '../../lib/new-id'
import { systemNow } from '../../lib/system-clock'
import type { Scope } from '../../platform/context'
import { revoked } from '../../rules/corrections.rules'
import type { Completion, UserState } from '../../rules/state.types'
import { lowerTenantCounter } from '../../store/counters.repository'
import { parseUser, userStatement } from '../../store/users.repository'
import { writeUsers } from '../../store/writer.service'
import { basisOf, restarts, store, untilStored, updateBoards } from './correction-writes.service'
import { revokeResponse } from './corrections.presenter'
import type { RevokeAchievementResponse } from './corrections.schemas'
import { awardsOfCompletion, parseAwards } from './ledger.repository'

type Response = z.infer<typeof RevokeAchievementResponse>

const notCompleted = () =>
  new ApiError(404, 'The user has not completed this achievement. Check the user and the achievement.')

/** The achievement with this id or key (O1). Throws 404 if there is none. */
export async function findAchievementToRevoke(scope: Scope, idOrKey: string): Promise<Achievement> {
  return byIdOrKey((await configurationOf(scope)).achievements, idOrKey, 'This achievement')
}

/** The entry of the audit log about a completion that was taken back (Z1). */
const revokeEntry = ({ iid }: UserState, achievementId: string, { id, at }: Completion): AuditEntry =>
  userEntry(
    'achievement_completion',
    'delete',
    { iid },
    goneFields({ id, achievementId, achievedAt: iso(at) }),
  )

/**
 * Takes the completion of an achievement back from a user, and with `withPoints` the points that it gave
 * (V4). Throws 404 if the user does not exist or does not have the achievement.
 */
export async function revokeCompletion(
  scope: Scope,
  userId: string,
  achievementId: string,
  withPoints: boolean,
): Promise<Response> {
  const id = newId(scope.now)
  /** The response of the last attempt, and the completion that it was about. */
  let tried: Response | null = null
  return untilStored(async () => {
    const { db, tenant } = scope
    const read = await db.batchOf({
      snapshot: requestSnapshotStatement(db, tenant.id, []),
      user: userStatement(db, userId, systemNow()),
      awards: awardsOfCompletion(db, userId, achievementId),
    })
    const basis = await basisOf(scope, read.snapshot)
    const { config } = basis
    const user = parseUser(read.user)
    const achievement = config.achievements.find((one) => one.id === achievementId)
    if (user === null) throw errors.notFound('This user')
    const completion = user.achievements.get(achievementId)
    // The response of an attempt was lost, and its completion is gone: that attempt was stored.
    if (tried !== null && completion?.id !== tried.completionId) return tried
    if (completion === undefined || achievement === undefined) throw notCompleted()
    const awards = parseAwards(read.awards)
    const given = withPoints ? { reversed: awards, kept: [] } : { reversed: [], kept: awards }
    const change = revoked(config, user, achievement, given, { at: basis.now, id, reason: null })
    const systemIds = new Set(given.reversed.map(({ systemId }) => systemId))
    tried = revokeResponse(config, achievement, completion, change, systemIds)
    const users = [{ was: user, changes: [change], newlyUsed: [] }]
    const writing = writeUsers(db, config, users, { kind: 'alone', clock: basis.clock })
    await store(scope, writing, [
      lowerTenantCounter(db, achievementId),
      ...restarts(db, change, null),
      ...auditEntries(scope, [revokeEntry(user, achievementId, completion)]),
    ])
    await updateBoards(scope, basis, [change])
    return tried
  })
}
