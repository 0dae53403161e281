import type { tenants } from '../access/tenants.table'

/** The kinds of due work. Each job adds its own beside itself, by `declare module`. */
// biome-ignore lint/suspicious/noEmptyInterface: the rooms above fill it.
export interface DueKinds {}
export type DueKind = keyof DueKinds & string

/** What a tenant can be: served, archived (T3), or being erased. */
export type TenantStatus = (typeof tenants.$inferSelect)['status']

/** What the table of due work has to know of a kind. */
export type WorkKind = {
  kind: DueKind
  /** What a tenant must be for it to be done; otherwise it waits. Active, if this is not given. */
  while?: readonly TenantStatus[]
  /**
   * Its time is found anew by its own means when the test clock is removed, so `hasten` leaves it alone. All other work is then due at once,
   * because the time that is stored may be far ahead (C1).
   */
  keepsItsTime?: boolean
}
