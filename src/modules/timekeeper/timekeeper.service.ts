import type { Scope } from '../../context'
import type { Instant } from '../../shared/clock'

/** Has the tenant's Timekeeper look at what is due, do what little of it is due by now, and see to the rest by alarm. Never throws. */
export async function wake(_scope: Scope): Promise<void> {}

/** Has the tenant's Timekeeper do everything that is due by a moment, and waits for it. */
export async function catchUp(_scope: Scope, _to: Instant): Promise<void> {}
