export const DIRECTORY_EXISTS: string
export const DIRECTORY_PLACES: string
export function usedDatabases(places: readonly string[]): string[]
