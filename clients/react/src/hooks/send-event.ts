'use client'
import type {
  EventResponse,
  GetUserPointsResponse,
  MetricResponse,
  NewEvent,
  StreakResponse,
  UserAchievementWithStatsResponse,
} from '@laurel/client/app'
import { useCallback, useMemo, useState } from 'react'
import { changesOf } from '../view/changes.ts'
import type { Change } from '../view/data.ts'
import { errorOf } from './cache.ts'
import type { Place } from './leaderboard.ts'
import { type LaurelContext, useLaurelContext } from './provider.tsx'
import { MOST_AWARDS } from './reads.ts'
import { keyOf } from './resource.ts'

/** An event of the provider's user. `user` can change fields of the user in the same call. */
export type EventOfUser = Omit<NewEvent, 'user'> & { user?: Omit<NewEvent['user'], 'id'> | undefined }

export interface SentEvent {
  answer: EventResponse
  changes: Change[]
}

export interface SendEvent {
  /**
   * Sends an event of a metric. All hooks have its effects as soon as the promise resolves. Rejects with a
   * `LaurelError`.
   */
  send: (metric: string, event: EventOfUser) => Promise<SentEvent>
  /**
   * The same for an event of the user that your own server sends. The function calls your server, and resolves with
   * Laurel's answer to the event. If it rejects, so does this, with the same error.
   */
  sendVia: (request: () => Promise<EventResponse>) => Promise<SentEvent>
  isSending: boolean
  /** The error of the last event, until the next one is sent. */
  error: Error | null
  /** The changes by the last event that has changed something, for `AwardToast`. */
  changes: readonly Change[]
  /** Tells the last event from the one before, for `AwardToast`. */
  toastId: string | undefined
  /** Empties `changes`, so that the toast closes. */
  onDismiss: () => void
}

interface State {
  /** The user and client that the rest is about. */
  context: LaurelContext
  sending: number
  error: Error | null
  changes: readonly Change[]
  toastId: string | undefined
}

const newState = (context: LaurelContext): State => ({
  context,
  sending: 0,
  error: null,
  changes: [],
  toastId: undefined,
})

/** Sends events, and answers their changes. Spread the result into `AwardToast`, or pick some of it. */
export function useSendEvent(): SendEvent {
  const context = useLaurelContext()
  const [kept, setState] = useState(() => newState(context))
  const state = kept.context === context ? kept : newState(context)
  if (state !== kept) setState(state)
  const change = useCallback(
    (of: (now: State) => Partial<State>) =>
      // An answer may come after the user has changed. The next user does not see it.
      setState((now) => (now.context === context ? { ...now, ...of(now) } : now)),
    [context],
  )
  const run = useCallback(
    async (request: () => Promise<EventResponse>, stale: readonly unknown[] | null): Promise<SentEvent> => {
      const { cache, sending } = context
      change((now) => ({ sending: now.sending + 1, error: null }))
      sending.active += 1
      if (sending.active > 1) sending.isOverlapped = true
      try {
        const answer = await request()
        const changes = changesOf(answer)
        applyAnswer(context, answer, stale)
        // An event without any leaves the toast of the one before open.
        if (changes.length > 0) change(() => ({ changes, toastId: answer.eventId }))
        return { answer, changes }
      } catch (error) {
        change(() => ({ error: errorOf(error) }))
        throw error
      } finally {
        change((now) => ({ sending: now.sending - 1 }))
        sending.active -= 1
        if (sending.active === 0 && sending.isOverlapped) {
          // Answers of parallel events can arrive in any order, so the newest data is not known.
          sending.isOverlapped = false
          cache.invalidate(keyOf(context))
        }
      }
    },
    [context, change],
  )
  const send = useCallback(
    (metric: string, { user, ...event }: EventOfUser) =>
      // New fields of the user change days, runs, groups and rows, of which the answer says nothing.
      run(
        async () => {
          const { client, userId } = context
          if (userId === '') throw new Error('An event needs a user: the provider has no userId yet.')
          return client.event(metric, { ...event, user: { ...user, id: userId } })
        },
        user === undefined ? null : [],
      ),
    [context, run],
  )
  const sendVia = useCallback((request: () => Promise<EventResponse>) => run(request, ['user']), [run])
  const onDismiss = useCallback(() => change(() => ({ changes: [] })), [change])
  return useMemo(() => {
    const { error, changes, toastId } = state
    return { send, sendVia, isSending: state.sending > 0, error, changes, toastId, onDismiss }
  }, [send, sendVia, onDismiss, state])
}

/**
 * Brings the data of all hooks up to date with the answer to an event (E2).
 *
 * @param stale the keys of data that is read again, because the answer does not have it
 */
function applyAnswer(context: LaurelContext, answer: EventResponse, stale: readonly unknown[] | null): void {
  const { cache } = context
  // A request that is on its way may answer the state before the event.
  const old = new Set<{ invalidate: () => void }>(
    cache.find(keyOf(context)).filter(({ isReading }) => isReading),
  )
  function update<Data>(parts: readonly unknown[], change: (data: Data) => Data) {
    for (const entry of cache.find<Data>(keyOf(context, ...parts)))
      if (entry.state.data !== undefined) entry.set(change(entry.state.data))
  }
  // Of a repeat, the first answer may not have arrived. Then the hooks lack what the event changed.
  const unknown = answer.idempotentReplayed ? [] : stale
  if (unknown !== null) for (const entry of cache.find(keyOf(context, ...unknown))) old.add(entry)
  if (!answer.idempotentReplayed) {
    for (const [key, change] of Object.entries(answer.points)) {
      update<GetUserPointsResponse>(['points', key], (points) => withPoints(points, change))
    }
    for (const entry of cache.find<UserAchievementWithStatsResponse[]>(keyOf(context, 'achievements'))) {
      const list = entry.state.data
      if (list === undefined) continue
      entry.set(withAchievements(list, answer.achievements))
      // A list of the completed ones does not have a new one yet.
      if (answer.achievements.some(({ id }) => !list.some((one) => one.id === id))) old.add(entry)
    }
    for (const [key, { start, rank, previousRank }] of Object.entries(answer.leaderboards)) {
      update<Place>(['place', key, start], (place) => ({ ...place, rank, previousRank }))
      // The answer has no scores, and other users have moved too.
      for (const part of ['place', 'board', 'groups'])
        for (const entry of cache.find(keyOf(context, part, key))) old.add(entry)
    }
  }
  update<MetricResponse[]>(['metrics'], (list) =>
    list.map((metric) => (metric.id === answer.metricId ? { ...metric, current: answer.total } : metric)),
  )
  for (const entry of cache.find<StreakResponse>(keyOf(context, 'streak'))) {
    const streak = entry.state.data
    if (streak === undefined) continue
    const isKnown = hasPeriod(streak, answer.currentStreak)
    entry.set(withStreak(streak, answer.currentStreak))
    // The answer has neither the moment of the extension nor periods that have begun since the last read.
    if (answer.currentStreak.extended || !isKnown) old.add(entry)
  }
  for (const entry of old) entry.invalidate()
}

function withPoints(
  points: GetUserPointsResponse,
  { total, level, awards }: EventResponse['points'][string],
): GetUserPointsResponse {
  return {
    ...points,
    total,
    level: level === undefined ? points.level : level,
    awards: [...awards].reverse().concat(points.awards).slice(0, MOST_AWARDS),
  }
}

const hasPeriod = ({ streakHistory }: StreakResponse, { periodStart }: EventResponse['currentStreak']) =>
  periodStart === null || streakHistory.at(-1)?.periodStart === periodStart

function withStreak(
  streak: StreakResponse,
  { extended: _, ...present }: EventResponse['currentStreak'],
): StreakResponse {
  const { streakHistory } = streak
  const last = streakHistory.at(-1)
  if (last === undefined || last.periodStart !== present.periodStart) return { ...streak, ...present }
  const history = [...streakHistory.slice(0, -1), { ...last, length: present.length }]
  return { ...streak, ...present, streakHistory: history }
}

function withAchievements(
  list: UserAchievementWithStatsResponse[],
  completed: EventResponse['achievements'],
): UserAchievementWithStatsResponse[] {
  const byId = new Map(completed.map(({ id, achievedAt }) => [id, achievedAt]))
  return list.map((one) => {
    const achievedAt = byId.get(one.id)
    return achievedAt === undefined ? one : { ...one, achievedAt }
  })
}
