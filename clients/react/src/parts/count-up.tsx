'use client'
import { useEffect, useRef, useState } from 'react'
import { useReducedMotion } from './browser.ts'
import { VisuallyHidden } from './visually-hidden.tsx'

const DURATION = 700

/** Slows down towards the end. */
const ease = (progress: number) => 1 - (1 - progress) ** 3

export interface CountUpProps {
  value: number
  /** Text of a value on the way. */
  format: (value: number) => string
  /** Text of the value for screen readers. */
  text?: string | undefined
}

/**
 * A number that counts to its new value. Screen readers, and users who want less motion, get the value at
 * once.
 */
export function CountUp({ value, format, text }: CountUpProps) {
  const isReduced = useReducedMotion()
  const [shown, setShown] = useState(value)
  const current = useRef(value)
  useEffect(() => {
    const from = current.current
    if (isReduced || from === value) {
      current.current = value
      setShown(value)
      return
    }
    const start = performance.now()
    let frame = requestAnimationFrame(function step(now) {
      const progress = Math.min(1, Math.max(0, (now - start) / DURATION))
      current.current = progress === 1 ? value : Math.round(from + (value - from) * ease(progress))
      setShown(current.current)
      if (progress < 1) frame = requestAnimationFrame(step)
    })
    return () => cancelAnimationFrame(frame)
  }, [value, isReduced])
  return (
    <>
      <span aria-hidden="true">{format(isReduced ? value : shown)}</span>
      <VisuallyHidden>{text ?? format(value)}</VisuallyHidden>
    </>
  )
}
