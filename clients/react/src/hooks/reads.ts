'use client'
import type { GetUserPointsResponse, StreakResponse, User } from '@laurel/client/app'
import { startTimer } from '@laurel/client/app'
import { useEffect, useMemo } from 'react'
import type { EnergyData, LevelProgressData, Resource } from '../view/data.ts'
import { nextGain } from '../view/energy.ts'
import { type LevelView, levelView } from '../view/levels.ts'
import { useLaurelContext } from './provider.tsx'
import { both, type InitialData, useRead } from './resource.ts'

/** The most awards that an answer can have, and those that it has by default (P10). */
export const MOST_AWARDS = 100
const AWARDS = 10

/** How long after a tick is due the points are read again, in ms: the client's clock may be four seconds ahead. */
const TICK_DELAY = 5000

/** How long after a read that failed they are read again, in milliseconds. */
const RETRY_DELAY = 60_000

/** The user (U1). */
export const useUser = (given: InitialData<User> = {}): Resource<User> =>
  useRead({
    ...given,
    parts: ['user'],
    read: ({ client, userId }, signal) => client.users.get(userId, { signal }),
  })

export interface PointsOptions extends InitialData<GetUserPointsResponse> {
  /** Newest awards in the answer, 1 to 100. 10 if absent. */
  awards?: number | undefined
}

/** The user's points in a points system, with the level and the newest awards (P10). */
export const usePoints = (key: string | null, options?: PointsOptions): Resource<GetUserPointsResponse> =>
  usePointsRead(key ?? '', options)

function usePointsRead(key: string, { awards = AWARDS, ...given }: PointsOptions = {}) {
  const points = useRead<GetUserPointsResponse>({
    ...given,
    parts: ['points', key, awards],
    read: ({ client, userId }, signal) => client.users.points.get(userId, key, { awards }, { signal }),
    isEnabled: key !== '',
  })
  return useMemo(() => {
    // Events add theirs to those that were read.
    const data = points.data && { ...points.data, awards: points.data.awards.slice(0, awards) }
    return { ...points, data }
  }, [points, awards])
}

/** The user's level in a points system, and the way to the next one (P9). */
export function useLevel(
  ofPoints: string | null,
  options?: PointsOptions,
): Resource<LevelProgressData & LevelView> {
  const key = ofPoints ?? ''
  const points = usePoints(key, options)
  const levels = useRead({
    parts: ['levels', key],
    read: ({ client }, signal) => client.points.levels.list(key, { signal }),
    isEnabled: key !== '',
  })
  return useMemo(
    () =>
      both(points, levels, ({ name, total }, list) => ({
        name,
        total,
        levels: list,
        ...levelView(total, list),
      })),
    [points, levels],
  )
}

/**
 * Points that grow with time: a points system with a maximum and a time trigger (P4). When the next gain is
 * due, the points are read again.
 */
export function useEnergy(ofPoints: string | null): Resource<EnergyData> {
  const key = ofPoints ?? ''
  const { client } = useLaurelContext()
  const points = usePointsRead(key, { awards: MOST_AWARDS })
  const system = useRead({
    parts: ['system', key],
    read: ({ client }, signal) => client.points.get(key, { signal }),
    isEnabled: key !== '',
  })
  const energy = useMemo(
    () =>
      both(points, system, ({ name, total, maxPoints, badgeUrl, awards }, { triggers }): EnergyData => {
        const clockAhead = client.now() - Date.now()
        const next = nextGain(triggers, awards, points.readAt + clockAhead)
        const max = maxPoints ?? total
        return {
          name,
          total,
          badgeUrl,
          maxPoints: max,
          nextAt: next?.at,
          nextPoints: next?.points,
          clockAhead,
        }
      }),
    [points, system, client],
  )
  const { nextAt, total = 0, maxPoints = 0 } = energy.data ?? {}
  // Each read makes a new one, so the timer starts again.
  const { refetch, error } = points
  const dueAt = total < maxPoints ? nextAt : undefined
  useEffect(() => {
    if (!dueAt) return
    const delay = error === null ? TICK_DELAY : RETRY_DELAY
    return startTimer(refetch, Math.max(0, Date.parse(dueAt) - client.now()) + delay)
  }, [dueAt, refetch, error, client])
  return energy
}

export interface StreakOptions extends InitialData<StreakResponse> {
  /** Periods in `streakHistory`, 1 to 366. 60 if absent: with days, this month and the one before. */
  periods?: number | undefined
}

/** The user's streak with its last periods (S5, S6). */
export const useStreak = (options: StreakOptions = {}): Resource<StreakResponse> => useStreakRead(options)

/** The same, but only if it is wanted. */
export const useStreakRead = ({ periods = 60, ...given }: StreakOptions, isEnabled = true) =>
  useRead<StreakResponse>({
    ...given,
    parts: ['streak', periods],
    read: ({ client, userId }, signal) =>
      client.users.streak(userId, { historyPeriods: periods }, { signal }),
    isEnabled,
  })
