'use client'
import type { QueryObserverOptions, QueryObserverResult } from '@tanstack/react-query'
import { hashKey, notifyManager, type QueryClient, QueryObserver } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import type { Resource } from '../view/data.ts'
import { type LaurelContext, useLaurelContext } from './provider.tsx'

/** The key of data about a user in the cache: what one client has read is not that of another. */
export const keyOf = (
  { userId, clientName }: Pick<LaurelContext, 'userId' | 'clientName'>,
  ...parts: readonly unknown[]
) => ['laurel', userId, clientName, ...parts]

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

/** Data of the user, with the time of the service at which it was read, in milliseconds since 1970. */
export function useRead<Data>(options: Read<Data>): Resource<Data> & { readAt: number } {
  const { parts, read, initialData, initialDataUpdatedAt, isEnabled = true } = options
  const context = useLaurelContext()
  const { client, userId, cache } = context
  const isWanted = isEnabled && userId !== ''
  const queryKey = keyOf(context, ...parts)
  const dataKey = hashKey(queryKey)
  const newOwner = () => (isWanted ? { dataKey, since: Date.now() } : undefined)
  const [owner, setOwner] = useState(newOwner)
  if (owner === undefined && isWanted) setOwner(newOwner)
  const given = isWanted && owner?.dataKey === dataKey ? initialData : undefined
  const result = useObserved<Data>(cache, {
    queryKey,
    queryFn: async ({ signal }) => read(context, signal),
    enabled: isWanted,
    ...(given !== undefined && {
      initialData: () => given,
      initialDataUpdatedAt: () => initialDataUpdatedAt ?? owner?.since,
    }),
  })
  const { error, dataUpdatedAt, refetch } = result
  // Old versions of the cache ignore initial data if another hook has asked for the same data before.
  const data = isWanted ? (result.data ?? given) : undefined
  return useMemo(
    () => ({
      data,
      error: isWanted ? error : null,
      isLoading: isWanted && error === null && data === undefined,
      refetch: () => {
        if (isWanted) void refetch()
      },
      dataKey,
      // The cache has the browser's time.
      readAt: dataUpdatedAt + client.now() - Date.now(),
    }),
    [data, error, isWanted, refetch, dataKey, dataUpdatedAt, client],
  )
}

/** Follows a query, in another cache too. `useQuery` would stay with the first cache that it was given. */
function useObserved<Data>(
  cache: QueryClient,
  options: QueryObserverOptions<Data>,
): QueryObserverResult<Data> {
  const defaulted = cache.defaultQueryOptions(options)
  // A read that begins after the rendering is in its result already.
  defaulted._optimisticResults = 'optimistic'
  const newHeld = () => ({ cache, observer: new QueryObserver<Data>(cache, defaulted) })
  const [held, setHeld] = useState(newHeld)
  const { observer } = held.cache === cache ? held : newHeld()
  if (held.cache !== cache) setHeld({ cache, observer })
  const result = observer.getOptimisticResult(defaulted)
  const subscribe = useCallback(
    (changed: () => void) => {
      const stop = observer.subscribe(notifyManager.batchCalls(changed))
      // The query may have changed since the observer was made.
      observer.updateResult()
      return stop
    },
    [observer],
  )
  const current = () => observer.getCurrentResult()
  useSyncExternalStore(subscribe, current, current)
  useEffect(() => observer.setOptions(defaulted), [observer, defaulted])
  return result
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
