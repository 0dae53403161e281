import { completedResponses } from '../../api/shapes/achievements'
import { levelResponse, systemFields } from '../../api/shapes/points'
import { streakResponse } from '../../api/shapes/streaks'
import { userResponse } from '../../api/shapes/users'
import type { Configuration } from '../../configuration/model'
import { unreachable } from '../../lib/errors'
import { childId } from '../../lib/ids'
import { newId } from '../../lib/new-id'
import type { Statement, TenantDatabase } from '../../platform/database'
import type { UsersAsRead } from '../../platform/guard'
import type { Change } from '../../rules/change.rules'
import { levelOf } from '../../rules/points/points.rules'
import type { UserState } from '../../rules/state'
import type { StreakEvent } from '../../rules/streaks/streak-state.rules'
import { draftOf, type EventBody, type EventDraft } from '../events'
import { listens, type OutboxEntry, splitIntoEntries } from './outbox'
import { insertOutboxEntries } from './outbox.sql.ts'
import { notePoints } from './points-changed.sql.ts'

type MessageInput = Pick<Change, 'completed' | 'streakEvents'> & {
  before: Pick<UserState, 'points'> | null
  after: UserState
  awards: readonly { systemId: string }[]
}

type UserPayload = EventBody<'achievement.completed'>['user']

/** Makes the user of a change's messages for the first message. All messages share the object. */
type UserMaker = () => UserPayload

function userMaker(config: Configuration, after: UserState): UserMaker {
  let made: UserPayload | null = null
  return () => {
    made ??= userResponse(config, after)
    return made
  }
}

/** A change's entries in E5's order, for types with a listener. A flush makes `points.changed` (W5). */
function outboxEntriesOfChange(config: Configuration, change: MessageInput): OutboxEntry[] {
  const user = userMaker(config, change.after)
  const drafts = [
    ...streakDrafts(config, change.after, change.streakEvents, user),
    ...achievementDrafts(config, change, user),
    ...levelDrafts(config, change, user),
  ]
  return packedUp(change.after, drafts)
}

/** The outbox entries of changed levels alone, after an award of points (W6). */
export function levelEntriesOf(
  config: Configuration,
  change: Omit<MessageInput, 'completed' | 'streakEvents'>,
) {
  return packedUp(change.after, levelDrafts(config, change, userMaker(config, change.after)))
}

function packedUp(
  { iid, seq, changed }: Pick<UserState, 'iid' | 'seq' | 'changed'>,
  drafts: readonly EventDraft[],
): OutboxEntry[] {
  if (drafts.length === 0) return []
  const id = newId(changed)
  const messages = drafts.map((draft, index) => ({ id: childId(id, index), ...draft }))
  // Entries are delivered in the order of their ids. Most changes make only one entry.
  const more = messages.length === 1 ? [] : messages.slice(1).map(() => newId(changed))
  const ids = [id, ...more].sort()
  return splitIntoEntries({ at: changed, seq, userIid: iid }, messages, (n) => ids[n] ?? id)
}

function streakDrafts(
  config: Configuration,
  after: UserState,
  streakEvents: readonly StreakEvent[],
  user: UserMaker,
): EventDraft[] {
  return streakEvents
    .filter(({ kind }) => listens(config, `streak.${kind}`))
    .map((streakEvent) => streakDraft(config, after, streakEvent, user()))
}

function streakDraft(
  config: Configuration,
  after: UserState,
  streakEvent: StreakEvent,
  user: UserPayload,
): EventDraft {
  switch (streakEvent.kind) {
    case 'started':
    case 'extended': {
      const streak = streakResponse(config, after, after.changed)
      return draftOf(`streak.${streakEvent.kind}`, { user, streak })
    }
    case 'lost':
      return draftOf('streak.lost', { user, length: streakEvent.length })
    case 'freeze_consumed':
      return draftOf('streak.freeze_consumed', { user, consumed: 1, freezes: streakEvent.freezes })
    case 'freeze_earned': {
      const { earned, freezes } = streakEvent
      return draftOf('streak.freeze_earned', { user, earned, freezes })
    }
    default:
      return unreachable(streakEvent)
  }
}

function achievementDrafts(config: Configuration, change: MessageInput, user: UserMaker): EventDraft[] {
  if (change.completed.length === 0 || !listens(config, 'achievement.completed')) return []
  return completedResponses(config, change).map((achievement) =>
    draftOf('achievement.completed', { user: user(), achievement }),
  )
}

/** The systems in which a change moved a user to another level. Empty if no webhook listens. */
export function levelsMoved(
  config: Configuration,
  { before, after, awards }: Pick<MessageInput, 'awards' | 'before'> & { after: Pick<UserState, 'points'> },
) {
  if (awards.length === 0 || !listens(config, 'points.level_changed')) return []
  return config.systems.flatMap((system) => {
    const total = after.points.get(system.id) ?? 0
    const [from, to] = [levelOf(system, before?.points.get(system.id) ?? 0), levelOf(system, total)]
    return from?.id === to?.id ? [] : [{ system, total, from, to }]
  })
}

function levelDrafts(
  config: Configuration,
  change: Omit<MessageInput, 'completed' | 'streakEvents'>,
  user: UserMaker,
): EventDraft[] {
  return levelsMoved(config, change).map(({ system, total, from, to }) =>
    draftOf('points.level_changed', {
      user: user(),
      points: { ...systemFields(system), total },
      previousLevel: from && levelResponse(from),
      newLevel: to && levelResponse(to),
    }),
  )
}

/**
 * The statements that write the messages of changes, of one user or of many, to the outbox. They are part of
 * the batch that stores the changes (W2). There are none without an active webhook.
 */
export function outboxInserts(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly Change[],
  among: UsersAsRead,
): Statement[] {
  if (!config.webhooks.some(({ status }) => status === 'active')) return []
  const outboxEntries = changes.flatMap((change) => outboxEntriesOfChange(config, change))
  return [...insertOutboxEntries(db, outboxEntries, among), ...notePoints(db, config, changes, among)]
}
