'use client'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Resource } from '../view/data.ts'
import { type LaurelContext, useLaurelContext } from './provider.tsx'

/** The key of data about a user in the cache. */
export const keyOf = (userId: string, ...parts: readonly unknown[]) => ['laurel', userId, ...parts]

/** Data is read again on focus if it is older than this, in milliseconds. */
const FRESH = 10_000

/** The data of a hook, and how to read it. */
export interface Read<Data> {
  /** Tells the data from other data of the same user. */
  parts: readonly unknown[]
  read: (context: LaurelContext, signal: AbortSignal) => PromiseLike<Data>
  /** Data that a server has read already, for server rendering. */
  initialData?: Data | undefined
  isEnabled?: boolean
}

/** Data of the user, with the time of the service at which it was read, in milliseconds since 1970. */
export function useRead<Data>(options: Read<Data>): Resource<Data> & { readAt: number } {
  const { parts, read, initialData, isEnabled = true } = options
  const context = useLaurelContext()
  const { client } = context
  const { data, error, isPending, dataUpdatedAt, refetch } = useQuery(
    {
      queryKey: keyOf(context.userId, ...parts),
      queryFn: async ({ signal }) => read(context, signal),
      enabled: isEnabled,
      staleTime: FRESH,
      // The client itself repeats requests, and knows which ones it may repeat.
      retry: false,
      networkMode: 'always',
      ...(initialData !== undefined && { initialData }),
    },
    context.cache,
  )
  return useMemo(
    () => ({
      data,
      error,
      isLoading: isPending && isEnabled,
      refetch: () => void refetch(),
      // The cache has the browser's time.
      readAt: dataUpdatedAt + client.now() - Date.now(),
    }),
    [data, error, isPending, isEnabled, refetch, dataUpdatedAt, client],
  )
}

/** A resource with other data, made of its own. */
export function mapped<A, B>(
  { data, error, isLoading, refetch }: Resource<A>,
  map: (data: A) => B,
): Resource<B> {
  return { data: data === undefined ? undefined : map(data), error, isLoading, refetch }
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
  }
}
