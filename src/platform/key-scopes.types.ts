/** The things that an application key or a user token may do: reads and writes, or reads alone (K5). */
export const KEY_SCOPES = ['write', 'read'] as const
export type KeyScope = (typeof KEY_SCOPES)[number]
