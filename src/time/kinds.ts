import type { tenants } from '../access/tenants.sql.ts'

/** The kinds of due work. Each job adds its own kind in its own file, with `declare module`. */
// biome-ignore lint/suspicious/noEmptyInterface: the rooms above fill it.
export interface DueKinds {}
export type DueKind = keyof DueKinds & string

/** The status of a tenant: active, archived (T3), or being erased. */
export type TenantStatus = (typeof tenants.$inferSelect)['status']

/** The data that the table of due work needs about a kind. */
export type WorkKind = {
  kind: DueKind
  /**
   * The statuses of the tenant in which the work is done. In other statuses it waits. The default is active.
   */
  while?: readonly TenantStatus[]
  /**
   * When the test clock is removed, this work finds its new time by itself, so `capDueTimes` leaves it
   * unchanged. All other work is then due at once, because its stored time may be far in the future (C1).
   */
  keepsItsTime?: boolean
}
