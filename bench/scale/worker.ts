/**
 * The Worker as it is deployed, but it notes for how long a statement held a database, by D1's own figure
 * (`meta.duration`): `GET /bench/longest` answers the longest one so far. The Worker and all its objects are
 * in one isolate of the runtime, so they have the same class of databases.
 */
import type { Bindings } from '../../src/platform/env'
import worker from '../../src/worker'

export * from '../../src/worker'

/**
 * The longest statement so far: milliseconds, and the beginning of its text. And the rows that were read to find
 * the next anniversaries.
 */
const longest = { ms: 0, sql: '', looked: 0 }
/** How much of a statement's text is kept, in characters. */
const KEPT = 300

/** Classes of databases that are watched already. */
const watched = new WeakSet<object>()

function watch(d1: D1Database): void {
  const prototype = Object.getPrototypeOf(d1)
  if (watched.has(prototype)) return
  watched.add(prototype)
  const { batch } = prototype
  prototype.batch = async function (statements: { statement: string }[]) {
    const results: D1Result[] = await batch.call(this, statements)
    for (const [index, { meta }] of results.entries()) {
      if (statements[index]?.statement.includes('AND anniversary >')) longest.looked += meta.rows_read
      if (meta.duration <= longest.ms) continue
      longest.ms = meta.duration
      longest.sql = (statements[index]?.statement ?? '').replace(/\s+/g, ' ').slice(0, KEPT)
    }
    return results
  }
}

export default {
  ...worker,
  fetch(request, env, ctx) {
    watch(env.DB)
    if (new URL(request.url).pathname === '/bench/longest') return Response.json(longest)
    return worker.fetch(request, env, ctx)
  },
} satisfies ExportedHandler<Bindings>
