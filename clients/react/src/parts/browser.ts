'use client'
import { useEffect, useLayoutEffect, useSyncExternalStore } from 'react'
import { useSettings } from '../view/settings.tsx'

const REDUCED = '(prefers-reduced-motion: reduce)'

/** The browser's answer. Some engines have no media queries, or none with events. */
const motionQuery = (): Partial<MediaQueryList> | undefined =>
  typeof window.matchMedia === 'function' ? window.matchMedia(REDUCED) : undefined

function watchMotion(changed: () => void): () => void {
  const query = motionQuery()
  query?.addEventListener?.('change', changed)
  return () => query?.removeEventListener?.('change', changed)
}

/** True if the settings or the user's system ask for less motion, and on servers. */
export function useReducedMotion(): boolean {
  const { reducedMotion } = useSettings({})
  const isPreferred = useSyncExternalStore(
    watchMotion,
    () => motionQuery()?.matches ?? false,
    () => true,
  )
  return reducedMotion || isPreferred
}

function everySecond(changed: () => void): () => void {
  const timer = setInterval(changed, 1000)
  return () => clearInterval(timer)
}

/**
 * Present time in whole seconds since 1970, and null on servers and during hydration.
 *
 * @param ahead milliseconds by which the wanted clock is ahead of the browser's
 */
export const useSeconds = (ahead: number): number | null =>
  useSyncExternalStore<number | null>(
    everySecond,
    () => Math.floor((Date.now() + ahead) / 1000),
    () => null,
  )

/** `useLayoutEffect` in browsers. On servers React 18 would warn about it. */
export const useBrowserLayoutEffect = typeof document === 'undefined' ? useEffect : useLayoutEffect
