import type { TenantContext } from '../platform/context'
import { configurationUnchanged, isConflict } from '../platform/guard'
import type { Statement } from '../platform/statement'
import { type DueWork, workUnchanged } from '../time/due-work.repository'
import { loadConfiguration, recentConfiguration } from './configuration.repository'
import type { Configuration } from './configuration.types'

/**
 * Does one step of due work in one guarded batch. `decide` makes the statements from the configuration. If
 * the step was already done, or if the configuration has changed, nothing is stored: the work is still due,
 * and is read again.
 */
export async function guardedStep(
  context: TenantContext,
  work: DueWork,
  decide: (config: Configuration) => Promise<readonly Statement[]>,
): Promise<void> {
  const { db } = context
  const config = await recentConfiguration(context)
  const statements = await decide(config)
  try {
    await db.batch([configurationUnchanged(db, config.version), workUnchanged(db, work), ...statements])
  } catch (error) {
    if (!isConflict(error)) throw error
    await loadConfiguration(context)
  }
}
