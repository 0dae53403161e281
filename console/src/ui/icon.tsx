/*! The symbols are those of Lucide (https://lucide.dev): ISC License, Copyright (c) Lucide Icons and Contributors. */
import drawings from 'virtual:icons'
import type { ICONS } from '../../icons'

/** The name of a symbol: the one that it has at Lucide. */
export type IconName = (typeof ICONS)[number]

/** A symbol of `size` pixels. What it means is said beside it, so readers of the screen leave it out. */
export const Icon = ({ name, size, className }: { name: IconName; size: number; className?: string }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    className={className}
    aria-hidden="true"
    // biome-ignore lint/security/noDangerouslySetInnerHtml: it is from a package, when the console is built.
    dangerouslySetInnerHTML={{ __html: drawings[name] }}
  />
)
