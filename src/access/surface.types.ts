/** The interface that an operation belongs to (G1). */
export const SURFACES = ['application', 'admin'] as const
export type Surface = (typeof SURFACES)[number]

/** The rules of an operation for access. */
export type Entrance = {
  /** Whether it is for the whole account, and so takes no `Tenant-ID` (T2). */
  account?: boolean
  /** Whether it is for a tenant if the request names one, and for the whole account otherwise (Z1). */
  tenantOrAccount?: boolean
  /** Whether it also serves archived tenants, whose users can still be exported and erased (U8). */
  archived?: boolean
}
