import type { TenantDatabase } from '../../db/database'
import type { Unmoved } from '../../db/guard'
import type { Change } from '../../engine/happen'
import type { Configuration } from '../configuration/configuration'
import { parcelsOfChange } from './messages.rules'
import { putParcels } from './outbox.repository'
import { notePoints } from './points-told.repository'

/**
 * What puts into the outbox what changes have to tell, of one user or of many; part of the batch that stores them all or none (W2). Nothing
 * where nobody listens.
 */
export function newsOf(
  db: TenantDatabase,
  config: Configuration,
  changes: readonly Change[],
  among: Unmoved,
): D1PreparedStatement[] {
  if (!config.webhooks.some(({ status }) => status === 'active')) return []
  const parcels = changes.flatMap((change) => parcelsOfChange(config, change))
  return [...putParcels(db, parcels, among), ...notePoints(db, config, changes, among)]
}
