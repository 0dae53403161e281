import type { TenantContext } from '../../context'
import type { Instant } from '../../shared/clock'
import type { Configuration } from '../configuration/configuration'
import { carry } from '../couriers/couriers.service'
import { isTold, NOTIFICATION_MESSAGES, type Parcel } from './outbox'

/** The ways to the users themselves. */
const CHANNELS = ['email', 'push'] as const

/**
 * Hands what is to be told over to the couriers of the webhooks that listen to it, and notifications to those of their channels, each message once however often this is called.
 * Throws where a courier can't be reached: whoever calls this keeps the parcels until it has succeeded.
 */
export async function handOver(
  context: TenantContext,
  config: Configuration,
  parcels: readonly Parcel[],
  now: Instant,
): Promise<void> {
  const { tenantId } = context.db
  await Promise.all([
    ...config.webhooks.map(async (webhook) => {
      const letters = parcels.flatMap(({ at, seq, userIid, messages }) =>
        messages
          .filter(({ type }) => isTold(webhook, type))
          .map(({ id, type, body }) => ({
            id,
            at,
            seq,
            subject: userIid,
            event: type,
            body: JSON.stringify({ type, ...body }),
          })),
      )
      await carry(context, { kind: 'webhook', tenantId, webhookId: webhook.id }, letters, now)
    }),
    ...CHANNELS.map(async (kind) => {
      const letters = parcels.flatMap(({ at, seq, userIid, messages }) =>
        messages
          .filter(({ type }) => type === NOTIFICATION_MESSAGES[kind])
          .map(({ id, body }) => ({
            id,
            at,
            seq,
            subject: userIid,
            event: String(body.type),
            body: JSON.stringify(body),
          })),
      )
      await carry(context, { kind, tenantId }, letters, now)
    }),
  ])
}
