import type { Configuration } from '../config/configuration.types'
import type { EventType } from '../config/webhook-events.types'
import type { Change } from '../engine/change.rules'
import { levelOf } from '../engine/points/points.rules'
import type { UserState } from '../engine/state.types'
import type { StreakNotice } from '../engine/streaks/streak-events.types'
import { childId } from '../lib/ids'
import { newId } from '../lib/new-id'
import { unreachable } from '../lib/unreachable'
import { completedAnswers } from '../wire/presenters/achievement.presenter'
import { levelAnswer, systemFields } from '../wire/presenters/points.presenter'
import { streakAnswer } from '../wire/presenters/streak.presenter'
import { userAnswer } from '../wire/presenters/user.presenter'
import { listens, type Message, type Parcel } from './outbox.messages'
import { parcelsOf } from './split.rules'

/** One message without its id. */
type Draft = Omit<Message, 'id'>

/** What of a change messages are made from. */
type Told = Pick<Change, 'completed' | 'notices'> & {
  before: Pick<UserState, 'points'> | null
  after: UserState
  awards: readonly { systemId: string }[]
}

/** Makes the user that messages of a change tell of, when the first of them needs it: all of them share the one object. */
type UserMaker = () => ReturnType<typeof userAnswer>

function userMaker(config: Configuration, after: UserState): UserMaker {
  let made: ReturnType<typeof userAnswer> | null = null
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
  drafts: readonly Draft[],
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
): Draft[] {
  return notices.flatMap((notice) => {
    const type: EventType = `streak.${notice.kind}`
    if (!listens(config, type)) return []
    return { type, body: { user: user(), ...streakFacts(config, after, notice) } }
  })
}

function streakFacts(config: Configuration, after: UserState, notice: StreakNotice): Record<string, unknown> {
  switch (notice.kind) {
    case 'started':
    case 'extended':
      return { streak: streakAnswer(config, after, after.changed) }
    case 'lost':
      return { length: notice.length }
    case 'freeze_consumed':
      return { consumed: 1, freezes: notice.freezes }
    case 'freeze_earned':
      return { earned: notice.earned, freezes: notice.freezes }
    default:
      return unreachable(notice)
  }
}

function achievementDrafts(config: Configuration, change: Told, user: UserMaker): Draft[] {
  if (change.completed.length === 0 || !listens(config, 'achievement.completed')) return []
  return completedAnswers(config, change).map((achievement) => ({
    type: 'achievement.completed',
    body: { user: user(), achievement },
  }))
}

/** The systems in which a change took a user to another level. */
export function levelsMoved(
  config: Configuration,
  { before, after, awards }: Pick<Told, 'awards' | 'before'> & { after: Pick<UserState, 'points'> },
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
  change: Omit<Told, 'completed' | 'notices'>,
  user: UserMaker,
): Draft[] {
  return levelsMoved(config, change).map(({ system, total, from, to }) => ({
    type: 'points.level_changed',
    body: {
      user: user(),
      points: { ...systemFields(system), total },
      previousLevel: from && levelAnswer(from),
      newLevel: to && levelAnswer(to),
    },
  }))
}
