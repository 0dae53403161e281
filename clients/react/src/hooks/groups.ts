'use client'
import type { LeaderboardGroup } from '@laurel/client/app'
import { useMemo, useSyncExternalStore } from 'react'
import type { GroupData, Resource } from '../view/data.ts'
import { attributesOf, isOwnGroup, type LiveState, usePlace } from './leaderboard.ts'
import { useLaurelContext } from './provider.tsx'
import { useUser } from './reads.ts'
import { useRead } from './resource.ts'

/** The most groups that an answer can have (L6). */
const MOST = 100

type Group = GroupData & Pick<LeaderboardGroup, 'userAttributes'>

/**
 * The groups of a leaderboard with breakdown (L6): the user's own one, and then the largest ones, 100 at most. The
 * counts follow the live leaderboards on the page.
 */
export function useLeaderboardGroups(ofBoard: string | null): Resource<Group[]> {
  const key = ofBoard ?? ''
  const { streams } = useLaurelContext()
  const groups = useRead<LeaderboardGroup[]>({
    parts: ['groups', key],
    read: ({ client }, signal) => client.leaderboards.groups.list(key, { limit: MOST }, { signal }),
    isEnabled: key !== '',
  })
  const place = usePlace(key)
  const user = useUser()
  const live = useSyncExternalStore(streams.subscribe, streams.states, streams.states)
  return useMemo(() => {
    // The own group comes with the others, so that nothing moves.
    const isWaiting = groups.isLoading || place.isLoading || (key !== '' && user.isLoading)
    const keys = place.data?.breakdownAttributes ?? []
    const all = groups.data && withOwnFirst(groups.data, keys, user.data?.attributes)
    return {
      data: isWaiting ? undefined : all?.map((group) => counted(group, key, live)),
      error: groups.error,
      isLoading: isWaiting && groups.error === null,
      refetch: () => {
        groups.refetch()
        place.refetch()
      },
      dataKey: groups.dataKey,
    }
  }, [groups, place, user.data, user.isLoading, live, key])
}

/** The groups, the user's own group first. It is there even if it has no ranked users yet. */
function withOwnFirst(
  groups: readonly LeaderboardGroup[],
  keys: readonly string[],
  attributes: Record<string, string> = {},
): Group[] {
  const isOwn = (group: GroupData) => isOwnGroup(attributesOf(group), attributes)
  const values = keys.flatMap((key) => {
    const value = attributes[key]
    return value === undefined ? [] : [{ key, value }]
  })
  const own = groups.find(isOwn) ?? {
    group: values,
    userAttributes: values,
    ...(groups.length < MOST && { users: 0 }),
  }
  const others = groups.filter((group) => !isOwn(group))
  // A user who lacks a value is in no group.
  return values.length < keys.length || keys.length === 0 ? others : [{ ...own, isOwn: true }, ...others]
}

/** A group with the number of its users, which an open stream knows better than an earlier answer. */
function counted(group: Group, key: string, live: readonly LiveState[]): Group {
  const stream = live.find(
    (one) =>
      one.key === key &&
      one.isOpen &&
      Object.keys(one.attributes ?? {}).length === group.group.length &&
      isOwnGroup(one.attributes, attributesOf(group)),
  )
  if (stream === undefined) return group
  const { length } = stream.rankings
  return { ...group, users: length < stream.limit ? length : Math.max(length, group.users ?? 0) }
}
