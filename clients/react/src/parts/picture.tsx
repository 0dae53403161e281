'use client'
import { type ComponentProps, type ReactNode, useCallback, useState } from 'react'

export interface PictureProps extends Omit<ComponentProps<'img'>, 'src' | 'alt' | 'ref'> {
  src: string | null | undefined
  /** Empty by default: the text beside the picture says the same. */
  alt?: string | undefined
  /** Is shown without `src`, and if the picture cannot be loaded. */
  fallback: ReactNode
}

/** A picture with a fallback. */
export function Picture({ src, alt = '', fallback, ...rest }: PictureProps) {
  const [failed, setFailed] = useState<string>()
  // A picture of server-rendered HTML may have failed before React listens to its errors.
  const check = useCallback(
    (image: HTMLImageElement | null) => {
      if (src && image?.complete && image.naturalWidth === 0 && image.currentSrc !== '') setFailed(src)
    },
    [src],
  )
  if (src === null || src === undefined || src === '' || failed === src) return fallback
  return (
    <img
      key={src}
      loading="lazy"
      decoding="async"
      {...rest}
      ref={check}
      src={src}
      alt={alt}
      onError={() => setFailed(src)}
    />
  )
}
