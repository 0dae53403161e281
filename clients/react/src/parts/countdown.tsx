'use client'
import type { ReactNode } from 'react'
import { useSeconds } from './browser.ts'

export interface CountdownProps {
  /** An instant, in ISO 8601. */
  until: string
  /**
   * Makes the content from the whole seconds that are left. They are null on servers, which do not know them.
   */
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
