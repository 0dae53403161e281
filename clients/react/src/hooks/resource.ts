'use client'
import { useCallback, useMemo, useState, useSyncExternalStore } from 'react'
import type { Resource } from '../view/data.ts'
import { type LaurelContext, useLaurelContext } from './provider.tsx'

/** The key of data about a user in the cache. It begins with the keys of fewer parts. */
export const keyOf = ({ cache, userId }: LaurelContext, ...parts: readonly unknown[]): string =>
  `${JSON.stringify([cache.name, userId, ...parts]).slice(0, -1)},`

/** Data that a server has read already. With it, the first rendering is complete (server rendering). */
export interface InitialData<Data> {
  /** It belongs to the first user, key and group that the hook gets, and is not shown for others. */
  initialData?: Data | undefined
  /** When the server read it, in milliseconds since 1970. Now if absent. Old data is read again at once. */
  initialDataUpdatedAt?: number | undefined
}

/** The data of a hook, and how to read it. */
export interface Read<Data> extends InitialData<Data> {
  /** Tells the data from other data of the same user. */
  parts: readonly unknown[]
  read: (context: LaurelContext, signal: AbortSignal) => PromiseLike<Data>
  isEnabled?: boolean
}

/**
 * The time at which data from a server is taken, in milliseconds since 1970. Not on the server itself: Next.js
 * refuses to render a page in advance if that needs the time.
 */
const takenAt = () => (typeof document === 'undefined' ? 0 : Date.now())

const neverChanges = () => () => {}

/** Data of the user, with the browser's time at which it was read, in milliseconds since 1970. */
export function useRead<Data>(options: Read<Data>): Resource<Data> & { readAt: number } {
  const { parts, read, initialData, initialDataUpdatedAt, isEnabled = true } = options
  const context = useLaurelContext()
  const { userId, cache } = context
  const isWanted = isEnabled && userId !== ''
  const dataKey = keyOf(context, ...parts)
  const newOwner = () => (isWanted ? { dataKey, since: takenAt() } : undefined)
  const [owner, setOwner] = useState(newOwner)
  if (owner === undefined && isWanted) setOwner(newOwner)
  const entry = cache.entry<Data>(dataKey, (signal) => read(context, signal))
  if (isWanted && owner?.dataKey === dataKey && initialData !== undefined)
    entry.begin(initialData, initialDataUpdatedAt ?? owner.since)
  const current = useCallback(() => entry.state, [entry])
  const rendered = useCallback(() => entry.rendered, [entry])
  const state = useSyncExternalStore(isWanted ? entry.watch : neverChanges, current, rendered)
  return useMemo(() => {
    const { data, error, readAt } = state
    return {
      data: isWanted ? data : undefined,
      error: isWanted ? error : null,
      isLoading: isWanted && error === null && data === undefined,
      refetch: () => {
        if (isWanted) void entry.read()
      },
      dataKey,
      readAt,
    }
  }, [state, isWanted, entry, dataKey])
}

/** A resource made of two. It is there as soon as both are. */
export function both<A, B, C>(a: Resource<A>, b: Resource<B>, join: (a: A, b: B) => C): Resource<C> {
  return {
    data: a.data === undefined || b.data === undefined ? undefined : join(a.data, b.data),
    error: a.error ?? b.error,
    isLoading: a.isLoading || b.isLoading,
    refetch: () => {
      a.refetch()
      b.refetch()
    },
    dataKey: a.dataKey,
  }
}
