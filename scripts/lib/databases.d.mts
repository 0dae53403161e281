export const MOST_DATABASES: number
export function bindingOf(number: number): string
export function nameOf(number: number): string
export function numbersTo(count: number): number[]
export function parseDatabases(value: string | undefined): number
export function listed(names: readonly string[]): string
export function demandBound(used: readonly string[], count: number): void
