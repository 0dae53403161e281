'use client'
import type { Laurel } from '@laurel/client/app'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { useBrowserLayoutEffect } from '../parts/browser.ts'
import { LaurelSettings, type SettingsProps } from '../view/settings.tsx'
import { Cache } from './cache.ts'
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
  children: ReactNode
}

/** The things that all hooks of a provider share, as long as the client is the same. */
interface Shared {
  client: Laurel
  cache: Cache
  streams: Streams<LiveState>
}

/** The things that all hooks of one user share. If the client or the user changes, there is a new one. */
export interface LaurelContext extends Shared {
  /** Is empty while there is no user. */
  userId: string
  sending: { active: number; isOverlapped: boolean }
}

const Context = createContext<LaurelContext | undefined>(undefined)

/** The last user of each client. It outlives the provider: a page to sign in, between two users, may have none. */
const keyOwners = new WeakMap<Laurel, string>()

const newShared = (client: Laurel, name: number): Shared => ({
  client,
  cache: new Cache(name),
  streams: new Streams(),
})

/** Gives the hooks a client and a user, and the components a language. */
export function LaurelProvider(props: LaurelProviderProps) {
  const { client, children, userId: given, ...settings } = props
  const userId = given ?? ''
  const [shared, setShared] = useState(() => newShared(client, 1))
  if (shared.client !== client) setShared(newShared(client, shared.cache.name + 1))
  const value = useMemo(
    () => ({ ...shared, userId, sending: { active: 0, isOverlapped: false } }),
    [shared, userId],
  )
  // Before the effects of the hooks, so that none of them sends with the token of the user before.
  useBrowserLayoutEffect(() => {
    if ((keyOwners.get(client) ?? userId) !== userId) client.forgetKey()
    keyOwners.set(client, userId)
  }, [client, userId])
  const { cache, streams } = shared
  useEffect(() => {
    const refresh = () => {
      if (document.visibilityState === 'hidden') return
      for (const entry of cache.find()) entry.refresh()
      streams.revive()
    }
    document.addEventListener('visibilitychange', refresh)
    window.addEventListener('online', refresh)
    return () => {
      document.removeEventListener('visibilitychange', refresh)
      window.removeEventListener('online', refresh)
    }
  }, [cache, streams])
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
