/**
 * A statement with its parameters. It is plain data and belongs to no database: the database is chosen when
 * the batch is sent, so that a batch about a user reaches the database that holds the user then (B2).
 */
export type Statement = {
  readonly sql: string
  readonly params: readonly unknown[]
  /**
   * The name of the statement in `EVERYWHERE` (everywhere.ts), if a change of the
   * configuration must do it in every database of the tenant, because it begins work on users (B4).
   */
  readonly everywhere?: string
  /**
   * Whether this guard reads the due work on users. If a change of the configuration has such a guard, the
   * guard must hold in each database with users of the tenant (B4).
   */
  readonly isForUsers?: true
  /** Whether it checks the placement itself (placement.ts), so that its batch needs no guard for that. */
  readonly isPlaced?: true
}

/**
 * SQL: the time of the database itself, in milliseconds of real time. If a database decides until when
 * something may be stored, no other clock counts.
 */
export const DATABASE_NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"

/**
 * Parameters of a statement that are known when it is sent: how often the buckets of the database have
 * changed, and the number that counts as such if the database has no row of the tenant. Both are null if
 * there is only one database.
 */
export const PLACEMENT = Symbol('placement')
export const PLACEMENT_WITHOUT_TENANT = Symbol('placement without tenant')
