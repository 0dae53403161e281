import type { TenantContext } from '../../context'
import { configurationUnchanged, isConflict } from '../../db/guard'
import type { Configuration } from '../configuration/configuration'
import { loadConfiguration } from '../configuration/configuration.repository'
import { type DueWork, workUnchanged } from './timekeeper.repository'

/**
 * Does one step of due work in one guarded batch of the statements that `decide` makes of the configuration. Where somebody else did the step,
 * or the configuration moved, nothing happens: the work is still due, and is looked at anew.
 */
export async function guardedStep(
  context: TenantContext,
  work: DueWork,
  decide: (config: Configuration) => Promise<readonly D1PreparedStatement[]>,
): Promise<void> {
  const { db, instance } = context
  const source = { db, configurations: instance.configurations }
  const config = source.configurations.get(db.tenantId) ?? (await loadConfiguration(source))
  const statements = await decide(config)
  try {
    await db.batch([configurationUnchanged(db, config.version), workUnchanged(db, work), ...statements])
  } catch (error) {
    if (!isConflict(error)) throw error
    await loadConfiguration(source)
  }
}
