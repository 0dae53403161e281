import type { InUse } from './directory.mjs'

export const MOST_DATABASES: number
export function bindingOf(number: number): string
export function nameOf(number: number): string
export function numbersTo(count: number): number[]
export function parseDatabases(value: string | undefined): number
export function listed(names: readonly string[]): string
export function demandBound(inUse: InUse, count: number): void
export function demandDeployable(inUse: InUse, count: number): void
