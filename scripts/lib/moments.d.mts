import type { State } from './restored.mjs'

export type Restored = { binding: string } & Pick<State, 'moment' | 'hasUsers'>

export function differingMoments(databases: readonly Restored[], used: readonly string[]): string | undefined
