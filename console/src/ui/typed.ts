import { useEffect, useRef, useState } from 'react'
import { trimmed } from './text'

/** How long after the last key a text counts, in milliseconds. */
const PAUSE = 300

/** A value, a moment after its last change. `pause` is in milliseconds. */
export function useSettled<T extends string>(value: T, pause = PAUSE): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause)
    return () => clearTimeout(timer)
  }, [value, pause])
  return settled
}

/** A text that becomes part of the address a moment after it was typed. */
export function useTyped(given: string, show: (text: string) => void) {
  const [typed, setTyped] = useState(given)
  const sent = useRef(given)
  useEffect(() => {
    // The address may lag behind what was typed since.
    if (given !== sent.current) setTyped(given)
    sent.current = given
  }, [given])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing begins the wait again.
  useEffect(() => {
    const text = trimmed(typed)
    if (text === trimmed(given)) return
    const timer = setTimeout(() => {
      sent.current = text
      show(text)
    }, PAUSE)
    return () => clearTimeout(timer)
  }, [typed, given])
  return [typed, setTyped] as const
}
