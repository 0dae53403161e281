'use client'
import type { ReactNode } from 'react'
import { VisuallyHidden } from '../parts/visually-hidden.tsx'
import type { ResourceProps } from '../view/data.ts'
import { cardLabels } from '../view/labels.ts'
import { useSettings } from '../view/settings.tsx'

/** Attributes that every component passes to its outermost element. */
export interface CardAttributes {
  className?: string | undefined
  id?: string | undefined
}

interface CardProps<Data> extends CardAttributes {
  /** Part of the class names: `laurel-` and this. */
  kind: string
  /** Name of the component for screen readers. While there is none, it says that data is loading. */
  label: string | undefined
  resource: ResourceProps<Data>
  /** Is drawn as grey blocks while data is loading, so that nothing moves when the data is there. */
  placeholder: Data
  /** The first part of the box, which `controls` follow. */
  head?: (data: Data, isReady: boolean) => ReactNode
  /** Controls that stay, with their focus, while other data is loading. */
  controls?: ReactNode
  children: (data: Data, isReady: boolean) => ReactNode
}

/** The box of a component, in one of three states: loading, failed, or ready. */
export function Card<Data>(props: CardProps<Data>) {
  const { kind, label, resource, placeholder, head, controls, children, className, id } = props
  const { labels, reducedMotion } = useSettings(cardLabels)
  const { data, error, refetch, dataKey = '' } = resource
  const isReady = data !== undefined
  const shown = data ?? placeholder
  const isHidden = isReady ? undefined : true
  const state = isReady ? 'ready' : error ? 'error' : 'loading'
  return (
    // biome-ignore lint/a11y/useSemanticElements: the elements inside belong together, but are no form.
    <div
      id={id}
      role="group"
      aria-label={label || labels.loading}
      aria-busy={state === 'loading' || undefined}
      className={`laurel laurel-card laurel-${kind}${className === undefined ? '' : ` ${className}`}`}
      data-state={state}
      data-motion={reducedMotion ? 'reduced' : undefined}
    >
      {head !== undefined && (
        <div className="laurel-body" aria-hidden={isHidden}>
          {head(shown, isReady)}
        </div>
      )}
      {controls}
      {/* Without the key, numbers of the placeholder or of another user would count to those of the data. */}
      <div key={isReady ? `data ${dataKey}` : 'placeholder'} className="laurel-body" aria-hidden={isHidden}>
        {children(shown, isReady)}
      </div>
      {state === 'loading' && <VisuallyHidden>{labels.loading}</VisuallyHidden>}
      {state === 'error' && (
        <div className="laurel-failure">
          <span>{labels.error}</span>
          {refetch && (
            <button type="button" className="laurel-button" onClick={() => refetch()}>
              {labels.retry}
            </button>
          )}
        </div>
      )}
    </div>
  )
}
