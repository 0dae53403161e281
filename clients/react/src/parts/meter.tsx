'use client'
import { type ComponentProps, type CSSProperties, type ReactNode, useRef } from 'react'
import { useBrowserLayoutEffect } from './browser.ts'

export interface MeterProps extends Omit<ComponentProps<'div'>, 'role' | 'children' | 'ref'> {
  /** `progressbar` for the way to a goal, `meter` for a supply that goes up and down. */
  role?: 'progressbar' | 'meter' | undefined
  value: number
  min?: number | undefined
  max: number
  /** Name for screen readers. */
  label: string
  /** Value for screen readers, such as "750 of 1,000 XP". */
  text: string
  /** The content of the bar. */
  children?: ReactNode
}

/**
 * A bar. The custom property `--laurel-ratio` (0 to 1) says how far it is filled. Its first child is the
 * filled part, with `data-part="fill"`.
 */
export function Meter(props: MeterProps) {
  const { role = 'progressbar', value, min = 0, max, label, text, style, children, ...rest } = props
  const size = max - min
  const ratio = size > 0 ? Math.min(1, Math.max(0, (value - min) / size)) : 1
  const variables: CSSProperties & Record<'--laurel-ratio', number> = { '--laurel-ratio': ratio, ...style }
  const bar = useRef<HTMLDivElement>(null)
  // A page of a server may forbid styles in its HTML (`Content-Security-Policy`). Scripts may set them.
  useBrowserLayoutEffect(() => bar.current?.style.setProperty('--laurel-ratio', `${ratio}`), [ratio])
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles have a name.
    <div
      {...rest}
      ref={bar}
      role={role}
      aria-label={label}
      aria-valuemin={min}
      aria-valuemax={Math.max(min, max)}
      aria-valuenow={Math.min(Math.max(min, max), Math.max(min, value))}
      aria-valuetext={text}
      style={variables}
    >
      {children ?? <span data-part="fill" />}
    </div>
  )
}
