'use client'
import type { CSSProperties, ReactNode } from 'react'

const hidden: CSSProperties = {
  position: 'absolute',
  inlineSize: 1,
  blockSize: 1,
  margin: -1,
  overflow: 'hidden',
  clipPath: 'inset(50%)',
  whiteSpace: 'nowrap',
}

/**
 * Text for screen readers only. The stylesheet hides it too: a page of a server may forbid styles in its HTML
 * (`Content-Security-Policy`).
 */
export const VisuallyHidden = ({ children }: { children: ReactNode }) => (
  <span data-part="hidden" style={hidden}>
    {children}
  </span>
)
