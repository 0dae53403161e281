import type { Configuration } from '../config/configuration.types'
import type { Change } from '../engine/change.rules'
import { levelOf } from '../engine/points/points.rules'
import type { UserState } from '../engine/state.types'
import type { StreakNotice } from '../engine/streaks/streak-events.types'
import { childId } from '../lib/ids'
import { newId } from '../lib/new-id'
import { unreachable } from '../lib/unreachable'
import { completedAnswers } from '../wire/presenters/achievement.presenter'
import { userAnswer } from '../wire/presenters/user.presenter'
import { achievementCompleted } from './events/achievement/achievement-completed.event'
import { draftOf, type EventDraft, type UserPayload } from './events/event.builder'
import { pointsLevelChanged } from './events/points/points-level-changed.event'
import { streakExtended } from './events/streak/streak-extended.event'
import { streakFreezeConsumed } from './events/streak/streak-freeze-consumed.event'
import { streakFreezeEarned } from './events/streak/streak-freeze-earned.event'
import { streakLost } from './events/streak/streak-lost.event'
import { streakStarted } from './events/streak/streak-started.event'
import { listens, type Parcel } from './outbox.messages'
import { parcelsOf } from './split.rules'

/** What of a change messages are made from. */
type Told = Pick<Change, 'completed' | 'notices'> & {
  before: Pick<UserState, 'points'> | null
  after: UserState
  awards: readonly { systemId: string }[]
}

/** Makes the user that messages of a change tell of, when the first of them needs it: all of them share the one object. */
type UserMaker = () => UserPayload

function userMaker(config: Configuration, after: UserState): UserMaker {
  let made: UserPayload | null = null
  return () => {
    made ??= userAnswer(config, after)
    return made
  }
}

/** What a change has to tell to those who listen, in E5's order; `points.changed` is made at a flush (W5). */
export function parcelsOfChange(config: Configuration, change: Told): Parcel[] {
  const user = userMaker(config, change.after)
  const drafts = [
    ...streakDrafts(config, change.after, change.notices, user),
    ...achievementDrafts(config, change, user),
    ...levelDrafts(config, change, user),
  ]
  return packedUp(change.after, drafts)
}

/** What is to be told of a user's streak alone (W6). */
export function streakParcelsOf(
  config: Configuration,
  after: UserState,
  notices: readonly StreakNotice[],
): Parcel[] {
  return packedUp(after, streakDrafts(config, after, notices, userMaker(config, after)))
}

/** What is to be told of a user's levels alone, after points were awarded (W6). */
export function levelParcelsOf(config: Configuration, change: Omit<Told, 'completed' | 'notices'>) {
  return packedUp(change.after, levelDrafts(config, change, userMaker(config, change.after)))
}

function packedUp(
  { iid, seq, changed }: Pick<UserState, 'iid' | 'seq' | 'changed'>,
  drafts: readonly EventDraft[],
): Parcel[] {
  if (drafts.length === 0) return []
  const id = newId(changed)
  const messages = drafts.map((draft, index) => ({ id: childId(id, index), ...draft }))
  // In the order of their ids they are handed over; most changes come to one.
  const more = messages.length === 1 ? [] : messages.slice(1).map(() => newId(changed))
  const ids = [id, ...more].sort()
  return parcelsOf({ at: changed, seq, userIid: iid }, messages, (n) => ids[n] ?? id)
}

function streakDrafts(
  config: Configuration,
  after: UserState,
  notices: readonly StreakNotice[],
  user: UserMaker,
): EventDraft[] {
  return notices
    .filter(({ kind }) => listens(config, `streak.${kind}`))
    .map((notice) => streakDraft(config, after, notice, user()))
}

function streakDraft(
  config: Configuration,
  after: UserState,
  notice: StreakNotice,
  user: UserPayload,
): EventDraft {
  switch (notice.kind) {
    case 'started':
      return draftOf(streakStarted, user, config, after)
    case 'extended':
      return draftOf(streakExtended, user, config, after)
    case 'lost':
      return draftOf(streakLost, user, notice)
    case 'freeze_consumed':
      return draftOf(streakFreezeConsumed, user, notice)
    case 'freeze_earned':
      return draftOf(streakFreezeEarned, user, notice)
    default:
      return unreachable(notice)
  }
}

function achievementDrafts(config: Configuration, change: Told, user: UserMaker): EventDraft[] {
  if (change.completed.length === 0 || !listens(config, achievementCompleted.type)) return []
  return completedAnswers(config, change).map((achievement) =>
    draftOf(achievementCompleted, user(), achievement),
  )
}

/** The systems in which a change took a user to another level. */
export function levelsMoved(
  config: Configuration,
  { before, after, awards }: Pick<Told, 'awards' | 'before'> & { after: Pick<UserState, 'points'> },
) {
  if (awards.length === 0 || !listens(config, pointsLevelChanged.type)) return []
  return config.systems.flatMap((system) => {
    const total = after.points.get(system.id) ?? 0
    const [from, to] = [levelOf(system, before?.points.get(system.id) ?? 0), levelOf(system, total)]
    return from?.id === to?.id ? [] : [{ system, total, from, to }]
  })
}

function levelDrafts(
  config: Configuration,
  change: Omit<Told, 'completed' | 'notices'>,
  user: UserMaker,
): EventDraft[] {
  return levelsMoved(config, change).map((moved) => draftOf(pointsLevelChanged, user(), moved))
}
