export function restoredStatements(options: { undelete: boolean }): string[]
