export type State = { epoch: number; version: number; moment: number | null; hasUsers: number }

export function restoredStatements(options: { undelete: boolean; epoch?: number }): string[]
export function restoredStatementsOfOthers(epoch: number): string[]

export const stateQuestion: string
export function nextEpoch(states: readonly State[], now: number): number

export const deletionsLeft: string
