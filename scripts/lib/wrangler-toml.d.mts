export function boundDatabases(toml: string): number
export function withDatabase(toml: string, database: { number: number; id: string }): string
export function withLocalDatabases(toml: string, count: number): string
