import * as z from 'zod'
import { instant } from '../../lib/clock'
import { systemNow } from '../../lib/system-clock'
import type { Access } from '../../platform/context'
import type { Variables } from '../../platform/env'
import { KEY_SCOPES } from '../../platform/key-scopes.types'
import type { Credential } from '../keys.rules'
import { openToken, type SignedToken, signToken } from './signing.service'

/** How long a ticket opens streams, in seconds of real time (Y2). */
const TICKET_SECONDS = 60

/** The holder of a ticket: the holder of the key or token that it was made with, in one tenant. */
export type TicketHolder = { access: Access; credential: Credential | null; tenantId: string }

/** The claims of a ticket. An absent one is null at the holder. */
const Claims = z.object({
  tenant: z.string(),
  kind: z.enum(['admin', 'application']),
  /** The prefix of the key. */
  prefix: z.string().optional(),
  /** The id of an admin key. */
  keyId: z.string().optional(),
  /** The user of an application key or a user token. */
  sub: z.string().optional(),
  /** The internal id of the user of a user token. */
  iid: z.string().optional(),
  scope: z.enum(KEY_SCOPES).optional(),
  /** When the key or the user token ends, in milliseconds. */
  ends: z.string().optional(),
})

/** Signs a ticket. It opens streams as its holder may, for 60 s. Throws 422 without a secret (Y2). */
export function signTicket(
  variables: Variables,
  { access, credential, tenantId }: TicketHolder,
): Promise<SignedToken> {
  const claims: Record<string, string> = {
    tenant: tenantId,
    kind: access.kind,
    ...(access.kind === 'admin'
      ? access.keyId !== null && { keyId: access.keyId }
      : { sub: access.userId, scope: access.scope }),
    ...(credential?.prefix != null && { prefix: credential.prefix }),
    ...(credential?.user != null && { iid: credential.user.iid }),
    ...(credential?.expires != null && { ends: String(credential.expires) }),
  }
  return signToken(variables, 'live', claims, { now: systemNow(), ttl: TICKET_SECONDS })
}

/** The holder of a ticket. Null if Laurel did not sign it, or if its time is over. */
export async function openTicket(variables: Variables, ticket: string): Promise<TicketHolder | null> {
  const opened = await openToken(variables, 'live', Claims, ticket)
  if (opened === null || systemNow() >= opened.expires) return null
  const { tenant: tenantId, kind, prefix, keyId = null, sub = '', iid, scope = 'read', ends } = opened.claims
  const user = iid === undefined ? null : { tenantId, id: sub, iid }
  const expires = ends === undefined ? null : instant(Number(ends))
  return {
    tenantId,
    access: kind === 'admin' ? { kind, keyId, keyName: null } : { kind, userId: sub, scope },
    credential: prefix === undefined && user === null ? null : { prefix: prefix ?? null, user, expires },
  }
}
