import type { KeyScope } from '../platform/key-scopes.types'

/** The interface that an operation belongs to (G1). */
export const SURFACES = ['application', 'admin'] as const
export type Surface = (typeof SURFACES)[number]

/** The rules of an operation for access. */
export type Entrance = {
  /**
   * The scope that an application key needs (K5). By default, GET needs `read`, and all other methods need
   * `write`.
   */
  needs?: KeyScope

  /** Is true if a ticket in the query, `ticket`, may take the place of the key (Y2). */
  ticket?: boolean
  /** Is true for operations of the whole account. They take no `Tenant-ID` (T2). */
  account?: boolean
  /** Is true if `Tenant-ID` is optional. Without it, the operation is for the whole account (Z1). */
  tenantOrAccount?: boolean
  /** Is true if the operation also serves archived tenants: their users can be exported and erased (U8). */
  archived?: boolean
}
