import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { boundDatabases } from '../../../src/platform/context'
import { PATIENCE } from '../patience'

const TABLES = "SELECT name FROM sqlite_master WHERE name = 'tenants'"

/**
 * Deletes the data of D1 and of all objects, and applies the migrations.
 *
 * An object that still works may open D1 again while `reset` deletes the files. D1 would then keep its data,
 * so the data is deleted until D1 has no tables.
 */
export async function deleteData(): Promise<void> {
  await vi.waitUntil(
    async () => {
      await reset()
      const tables = await Promise.all(boundDatabases(env).map(({ d1 }) => d1.prepare(TABLES).all()))
      return tables.every(({ results }) => results.length === 0)
    },
    { timeout: PATIENCE, interval: 20 },
  )
  for (const { d1 } of boundDatabases(env)) {
    await applyD1Migrations(d1, env.MIGRATIONS)
    // A failure during an upgrade is a 503. The tests begin long after it.
    await d1.prepare("UPDATE d1_migrations SET applied_at = '2026-01-01'").run()
  }
}
