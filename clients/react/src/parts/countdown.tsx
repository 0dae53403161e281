'use client'
import type { ReactNode } from 'react'
import { useSeconds } from './browser.ts'

export interface CountdownProps {
  /** An instant, in ISO 8601. */
  until: string
  /** Milliseconds by which the clock of the instant is ahead of the browser's. 0 by default. */
  clockAhead?: number | undefined
  /**
   * Makes the content from the whole seconds that are left. They are null on servers, which do not know them.
   */
  children: (seconds: number | null) => ReactNode
}

/** Content that changes every second until an instant. Screen readers do not announce the changes. */
export function Countdown({ until, clockAhead = 0, children }: CountdownProps) {
  const now = useSeconds(clockAhead)
  const seconds = now === null ? null : Math.max(0, Math.ceil(Date.parse(until) / 1000) - now)
  return (
    <span role="timer" aria-live="off">
      {children(seconds)}
    </span>
  )
}
