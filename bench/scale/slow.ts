/**
 * Part of the Worker of the bench of several databases. It makes each database as slow as a model says: a batch travels
 * to it, waits until all batches before it are done, occupies it for its service time, and travels back.
 */
import { env } from 'cloudflare:workers'
import { boundDatabases } from '../../src/platform/context'

/** In milliseconds: one way, and the service times of batches that read, and of those that write. */
const WAY = 100
const READ = 100
const WRITE = 200

for (const { d1 } of boundDatabases(env)) {
  const batch = d1.batch.bind(d1)
  /** When the database is free. */
  let free = 0
  d1.batch = async (statements: D1PreparedStatement[]) => {
    await scheduler.wait(WAY)
    const isRead = statements.every((statement) => /^\s*SELECT/i.test(String(Reflect.get(statement, 'sql'))))
    free = Math.max(free, Date.now()) + (isRead ? READ : WRITE)
    await scheduler.wait(free - Date.now())
    try {
      return await batch<never>(statements)
    } finally {
      await scheduler.wait(WAY)
    }
  }
}
