'use client'
import type { Laurel } from '@laurel/client/app'
import { focusManager, QueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react'
import { useBrowserLayoutEffect } from '../parts/browser.ts'
import { LaurelSettings, type SettingsProps } from '../view/settings.tsx'
import type { LiveState } from './leaderboard.ts'
import { Streams } from './streams.ts'

export interface LaurelProviderProps extends SettingsProps {
  /** Make it once, outside of your components: hooks read everything again for another client. */
  client: Laurel
  /**
   * The id of the user. The hooks read the data of this user, and send this user's events. With `null` they
   * wait, for example until the user has signed in. After a change, the client asks its function `apiKey` for a
   * new token.
   */
  userId: string | null
  /** A cache of your own, if your app uses TanStack Query. All keys begin with `laurel`. */
  queryClient?: QueryClient | undefined
  children: ReactNode
}

/** The things that all hooks of a provider share. */
interface Shared {
  client: Laurel
  queryClient: QueryClient | undefined
  /** The name of the client in keys of the cache. */
  clientName: string
  cache: QueryClient
  streams: Streams<LiveState>
}

/** The things that all hooks of one user share. If the client, the cache or the user changes, there is a new one. */
export interface LaurelContext extends Shared {
  /** Is empty while there is no user. */
  userId: string
  sending: { active: number; isOverlapped: boolean }
}

const Context = createContext<LaurelContext | undefined>(undefined)

/** Names of clients. They are random, as a page may keep its cache and have other clients after a reload. */
const clientNames = new WeakMap<Laurel, string>()

function nameOf(client: Laurel): string {
  const name = clientNames.get(client) ?? Math.random().toString(36).slice(2)
  clientNames.set(client, name)
  return name
}

/** Data is read again on focus if it is older than this, in milliseconds. */
const FRESH = 10_000

/** A cache with the data of the app's cache, if it has one, but without its defaults. */
function newCache(queryClient: QueryClient | undefined): QueryClient {
  // The client itself repeats requests, and knows which ones it may repeat.
  const defaultOptions = { queries: { staleTime: FRESH, retry: false, networkMode: 'always' } } as const
  return new QueryClient({
    ...(queryClient && { queryCache: queryClient.getQueryCache() }),
    defaultOptions,
  })
}

const newShared = (client: Laurel, queryClient: QueryClient | undefined): Shared => ({
  client,
  queryClient,
  clientName: nameOf(client),
  cache: newCache(queryClient),
  streams: new Streams(),
})

/** Gives the hooks a client and a user, and the components a language. */
export function LaurelProvider(props: LaurelProviderProps) {
  const { client, queryClient, children, userId: given, ...settings } = props
  const userId = given ?? ''
  const [shared, setShared] = useState(() => newShared(client, queryClient))
  if (shared.client !== client || shared.queryClient !== queryClient)
    setShared(newShared(client, queryClient))
  const value = useMemo(
    () => ({ ...shared, userId, sending: { active: 0, isOverlapped: false } }),
    [shared, userId],
  )
  const keyOwner = useRef(userId)
  // Before the effects of the hooks, so that none of them sends with the token of the user before.
  useBrowserLayoutEffect(() => {
    if (keyOwner.current !== userId) client.forgetKey()
    keyOwner.current = userId
  }, [client, userId])
  const { streams } = shared
  // Both have the same queries, and the app may have mounted its own already.
  const mounted = shared.queryClient ?? shared.cache
  useEffect(() => {
    // Reads again on focus, and when the browser is online again.
    mounted.mount()
    const stop = focusManager.subscribe(() => {
      if (focusManager.isFocused()) streams.revive()
    })
    return () => {
      stop()
      mounted.unmount()
    }
  }, [mounted, streams])
  return (
    <Context.Provider value={value}>
      <LaurelSettings {...settings}>{children}</LaurelSettings>
    </Context.Provider>
  )
}

/** The context of the hooks. Throws outside of a `LaurelProvider`. */
export function useLaurelContext(): LaurelContext {
  const context = useContext(Context)
  if (context === undefined) throw new Error('Hooks of @laurel/react need a <LaurelProvider> around them.')
  return context
}

/** The client of the provider, for calls that have no hook. */
export const useLaurel = (): Laurel => useLaurelContext().client
