import { type AuditEntry, type Change, entriesOf } from '../../configuration/audit.rules'
import type { Boost, Level, System, Trigger } from '../../configuration/configuration.types'
import type { Instant } from '../../lib/clock'
import { adminBoost, adminLevel, adminSystem, adminTrigger } from './points.admin.presenter'

const nested = <T extends object>({ systemId }: { systemId: string }, shown: T) => ({
  ...shown,
  pointsSystemId: systemId,
})

/** The entries of the audit log about points systems, without the resources in them (Z1). */
export const systemEntries = (changes: readonly Change<System>[]): AuditEntry[] =>
  entriesOf('points_system', changes, adminSystem)

/** The entries of the audit log about levels (Z1). */
export const levelEntries = (changes: readonly Change<Level>[]): AuditEntry[] =>
  entriesOf('points_level', changes, (level) => nested(level, adminLevel(level)))

/** The entries of the audit log about triggers (Z1). */
export const triggerEntries = (changes: readonly Change<Trigger>[]): AuditEntry[] =>
  entriesOf('points_trigger', changes, (trigger) => nested(trigger, adminTrigger(trigger)))

/**
 * The entries of the audit log about boosts. They leave out the caller's own id of the user, and the entries
 * about a user's own boosts lose their fields when the user is erased (Z1, U8).
 */
export function boostEntries(
  changes: readonly Change<Boost>[],
  now: Instant,
  zoneOf: (boost: Boost) => string | null,
): AuditEntry[] {
  return changes.flatMap((change) => {
    const iid = (change.after ?? change.before)?.userIid ?? null
    const entries = entriesOf('points_boost', [change], (boost) => {
      const { userId: _userId, ...shown } = adminBoost(boost, now, zoneOf(boost))
      return nested(boost, shown)
    })
    return iid === null ? entries : entries.map((entry) => ({ ...entry, user: { iid } }))
  })
}

/** The entries of the audit log about everything in points systems that come into being or disappear (Z1). */
export function nestedEntries(
  systems: readonly System[],
  changesOf: <R>(resources: readonly R[]) => Change<R>[],
  now: Instant,
  zoneOf: (boost: Boost) => string | null,
): AuditEntry[] {
  return [
    ...levelEntries(changesOf(systems.flatMap(({ levels }) => levels))),
    ...triggerEntries(changesOf(systems.flatMap(({ triggers }) => triggers))),
    ...boostEntries(changesOf(systems.flatMap(({ boosts }) => boosts)), now, zoneOf),
  ]
}
