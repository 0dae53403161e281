'use client'
import type { Laurel } from '@laurel/client/app'
import { QueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { LaurelSettings, type SettingsProps } from '../view/settings.tsx'
import { Streams } from './streams.ts'

export interface LaurelProviderProps extends SettingsProps {
  /** Make it once, outside of your components: another client empties the cache. */
  client: Laurel
  /** The id of the user. The hooks read the data of this user, and send this user's events. */
  userId: string
  /** A cache of your own, if your app uses TanStack Query. All keys begin with `laurel`. */
  queryClient?: QueryClient | undefined
  children: ReactNode
}

/** The things that all hooks of a provider share. */
export interface LaurelContext {
  client: Laurel
  userId: string
  cache: QueryClient
  streams: Streams
  sending: { active: number; isOverlapped: boolean }
}

const Context = createContext<LaurelContext | undefined>(undefined)

const newShared = (client: Laurel) => ({
  client,
  cache: new QueryClient(),
  streams: new Streams(),
  sending: { active: 0, isOverlapped: false },
})

/** Gives the hooks a client and a user, and the components a language. */
export function LaurelProvider(props: LaurelProviderProps) {
  const { client, userId, queryClient, children, ...settings } = props
  const [shared, setShared] = useState(() => newShared(client))
  if (shared.client !== client) setShared(newShared(client))
  const cache = queryClient ?? shared.cache
  const value = useMemo(() => ({ ...shared, cache, userId }), [shared, cache, userId])
  useEffect(() => {
    // Reads again on focus, and when the browser is online again.
    cache.mount()
    return () => cache.unmount()
  }, [cache])
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
