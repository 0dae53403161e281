import type { State } from './restored.mjs'

export type Restored = { binding: string; name?: string | undefined } & Pick<State, 'moment' | 'hasUsers'>

export function differingMoments(databases: readonly Restored[], used: readonly string[]): string | undefined
export function labelOf(database: { binding: string; name?: string | undefined }): string
