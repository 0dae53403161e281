export function restoredStatements(options: { undelete: boolean }): string[]

export const deletionsLeft: string
