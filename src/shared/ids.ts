import { v7 } from 'uuid'
import type { Instant } from './clock'

/** A UUID v7 whose time is `at` (G4). Ids made in one millisecond are in no particular order. */
export function newId(at: Instant): string {
  return v7({ msecs: at })
}

/** Whether the text is a UUID of any version, in lower case as we serve them. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
