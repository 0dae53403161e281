import type { OperationSpec } from './http/operation'

/** The operations of the application interface, in the order of its document. */
export const applicationOperations: readonly OperationSpec[] = []

/** The operations of the admin interface, in the order of its document. */
export const adminOperations: readonly OperationSpec[] = []
