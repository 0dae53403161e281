'use client'
import type { ReactNode } from 'react'
import { useSeconds } from './browser.ts'

export interface CountdownProps {
  /** An instant, in ISO 8601. */
  until: string
  /** Content for the whole seconds that are left. Null on servers, where the time is not known. */
  children: (seconds: number | null) => ReactNode
}

/** Content that changes every second until an instant. Screen readers do not announce the changes. */
export function Countdown({ until, children }: CountdownProps) {
  const now = useSeconds()
  const seconds = now === null ? null : Math.max(0, Math.ceil(Date.parse(until) / 1000) - now)
  return (
    <span role="timer" aria-live="off">
      {children(seconds)}
    </span>
  )
}
