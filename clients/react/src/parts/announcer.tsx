'use client'
import { startTimer } from '@laurel/client/app'
import { useEffect, useRef, useState } from 'react'
import { VisuallyHidden } from './visually-hidden.tsx'

export interface AnnouncerProps {
  /** A screen reader says this text when it has changed. It does not say the first text. */
  text: string | undefined
  /** Least time between two announcements, in milliseconds. In between, only the newest text waits. */
  interval?: number | undefined
}

/** Tells screen readers about changes, politely and not too often. */
export function Announcer({ text, interval = 10_000 }: AnnouncerProps) {
  const [said, setSaid] = useState('')
  const known = useRef(text)
  const saidAt = useRef(Number.NEGATIVE_INFINITY)
  useEffect(() => {
    known.current ??= text
    if (text === undefined || text === known.current) return
    return startTimer(
      () => {
        known.current = text
        saidAt.current = Date.now()
        setSaid(text)
      },
      Math.max(0, saidAt.current + interval - Date.now()),
    )
  }, [text, interval])
  return (
    <div role="status">
      <VisuallyHidden>{said}</VisuallyHidden>
    </div>
  )
}
