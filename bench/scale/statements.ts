/**
 * Part of the Worker of the scale. It logs each batch of a database that has taken longer than all before it, with its
 * statements.
 */
import { env } from 'cloudflare:workers'
import { boundDatabases } from '../../src/platform/context'

let longest = 0
/** How much of the text of statements is kept, in characters. */
const KEPT = 300

for (const { d1 } of boundDatabases(env)) {
  const batch = d1.batch.bind(d1)
  d1.batch = async (statements: D1PreparedStatement[]) => {
    const began = Date.now()
    const results = await batch<never>(statements)
    const milliseconds = Date.now() - began
    if (milliseconds <= longest) return results
    longest = milliseconds
    const sql = statements.map((statement) => String(Reflect.get(statement, 'sql')).trim()).join('; ')
    console.log(JSON.stringify({ work: 'bench', milliseconds, sql: sql.slice(0, KEPT) }))
    return results
  }
}
