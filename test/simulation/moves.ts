/** Moves of users between databases, in worlds with several of them. */
import { env } from 'cloudflare:workers'
import { databases } from '../helpers/worker/harness'
import { chaos } from './faults'
import type { World } from './world'

/** The weights of one rebalancing after another: each database is emptied, and filled again. */
const weightsOf = (nth: number): Record<string, number> => {
  const names = databases().map(({ name }) => name)
  const name = names[nth % (names.length + 1)]
  return name === undefined ? {} : { [name]: 0 }
}

const KNOWN = `
  INSERT INTO known_databases (name, since) SELECT value, 0 FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET since = 0`

/** Asks for another spread. With one database it does nothing. The answer does not matter. */
export async function rebalance({ client }: World, isolate: number): Promise<void> {
  if (databases().length === 1) return
  const weights = weightsOf(chaos.counts.get('rebalance') ?? 0)
  chaos.note('rebalance')
  // Users wait half a minute for a database that was just added.
  await env.DB.prepare(KNOWN)
    .bind(JSON.stringify(databases().map(({ name }) => name)))
    .run()
  const path = '/admin/v1/databases/rebalance'
  await client.once(isolate, { method: 'POST', path, body: { weights }, headers: { 'tenant-id': '' } })
}
