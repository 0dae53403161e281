/** The states of a tenant (T2, U8); `purging`: it is archived, and its data is being erased. */
export const TENANT_STATUSES = ['active', 'archived', 'purging'] as const

/** How often users get a recap (N2). */
export const RECAP_FREQUENCIES = ['none', 'weekly', 'monthly'] as const
export type RecapFrequency = (typeof RECAP_FREQUENCIES)[number]

/** The name of the audit log of the account. Without multi-tenancy there is only one log (Z1). */
export const LOG_OF_ACCOUNT = ''
