export type InUse = { used: string[]; left: string[] }

export const DIRECTORY_EXISTS: string
export const DIRECTORY_ROWS: string
export function databasesInUse(rows: readonly Record<string, unknown>[]): InUse
