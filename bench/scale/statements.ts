/**
 * Part of the Worker of the scale. It logs each batch of a database that has taken longer than all before it, with its
 * statements, and how many rows were read so far to find the next anniversaries.
 */
import { env } from 'cloudflare:workers'
import { boundDatabases } from '../../src/platform/context'

const found = { work: 'bench', milliseconds: 0, sql: '', looked: 0 }
/** How much of the text of statements is kept, in characters. */
const KEPT = 300

for (const { d1 } of boundDatabases(env)) {
  const batch = d1.batch.bind(d1)
  d1.batch = async (statements: D1PreparedStatement[]) => {
    const began = Date.now()
    const results = await batch<never>(statements)
    const took = Date.now() - began
    const texts = statements.map((statement) => String(Reflect.get(statement, 'sql')))
    const looked = results.filter((_, index) => texts[index]?.includes('AND anniversary >'))
    for (const { meta } of looked) found.looked += meta.rows_read
    if (took <= found.milliseconds && looked.length === 0) return results
    if (took > found.milliseconds)
      Object.assign(found, { milliseconds: took, sql: texts.join('; ').replace(/\s+/g, ' ').slice(0, KEPT) })
    console.log(JSON.stringify(found))
    return results
  }
}
