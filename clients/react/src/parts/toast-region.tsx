'use client'
import { startTimer } from '@laurel/client/app'
import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react'

export interface ToastRegionProps extends Omit<ComponentProps<'div'>, 'children' | 'ref'> {
  /** Name of the region for screen readers. */
  label: string
  /** The content of the toast, which screen readers announce. Null closes it. */
  message: ReactNode
  /** Controls beside the message, such as a button that closes it. Screen readers do not announce them. */
  actions?: ReactNode
  /** A new value starts the time again. */
  toastId: string | number | undefined
  /** Milliseconds until the toast closes by itself. `Infinity` for never. */
  duration: number
  onDismiss: () => void
}

/**
 * A message that appears for some seconds. It never takes the focus. It stays while the pointer or the focus
 * is in it. Escape closes it if the focus is in it.
 */
export function ToastRegion(props: ToastRegionProps) {
  const { label, message, actions, toastId, duration, onDismiss, ...rest } = props
  const [isHeld, setHeld] = useState(false)
  const dismiss = useRef(onDismiss)
  useEffect(() => {
    dismiss.current = onDismiss
  })
  const isOpen = message !== null && message !== undefined
  useEffect(() => {
    if (toastId === undefined || !isOpen || isHeld) return
    return startTimer(() => dismiss.current(), duration)
  }, [toastId, isOpen, isHeld, duration])
  // Without its message, the toast can lose the pointer or the focus without an event.
  if (!isOpen && isHeld) setHeld(false)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the handlers only keep the toast open or close it.
    <div
      {...rest}
      data-open={isOpen || undefined}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={({ currentTarget }) => setHeld(currentTarget.contains(document.activeElement))}
      onFocus={() => setHeld(true)}
      onBlur={({ currentTarget, relatedTarget }) => setHeld(currentTarget.contains(relatedTarget))}
      onKeyDown={({ key }) => {
        if (key === 'Escape' && isOpen) onDismiss()
      }}
    >
      <div role="status" aria-label={label}>
        {message}
      </div>
      {isOpen && actions}
    </div>
  )
}
