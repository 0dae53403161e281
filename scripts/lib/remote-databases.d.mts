/** Asks which migrations a database has. */
export const APPLIED_QUESTION: string
