import { env } from 'cloudflare:workers'

/** The error of D1 if the outcome of a batch is unknown. */
export const lost = () => new Error('D1_ERROR: Network connection lost.')

/**
 * D1 with a fault: `fault` gets each write batch with its number, from 0. `seen` counts write batches, and
 * the rows of all batches.
 */
export function faulty(fault: (run: () => Promise<D1Result[]>, write: number) => Promise<D1Result[]>) {
  const seen = { writes: 0, rowsWritten: 0, rowsRead: 0 }
  const texts = new WeakMap<D1PreparedStatement, string>()
  const prepare = (sql: string) => {
    const statement = env.DB.prepare(sql)
    return new Proxy(statement, {
      get: (target, name) => {
        if (name !== 'bind') return Reflect.get(target, name, target)
        return (...values: unknown[]) => {
          const bound = target.bind(...values)
          texts.set(bound, sql)
          return bound
        }
      },
    })
  }
  const batch = async (statements: D1PreparedStatement[]) => {
    const run = async () => {
      const results = await env.DB.batch(statements)
      for (const { meta } of results) {
        seen.rowsWritten += meta.rows_written
        seen.rowsRead += meta.rows_read
      }
      return results
    }
    if (!statements.some((one) => /^\s*(INSERT|UPDATE|DELETE|WITH)/.test(texts.get(one) ?? ''))) return run()
    seen.writes += 1
    return fault(run, seen.writes - 1)
  }
  const DB = new Proxy(env.DB, {
    get: (target, name) =>
      name === 'batch' ? batch : name === 'prepare' ? prepare : Reflect.get(target, name, target),
  })
  return { DB, seen }
}

/** D1 that cannot be reached after this number of batches; each later batch fails with D1's message. */
export function awayAfter(batches: number, message = 'D1_ERROR: Network connection lost.'): D1Database {
  let done = 0
  const batch = (statements: D1PreparedStatement[]) => {
    done += 1
    return done > batches ? Promise.reject(new Error(message)) : env.DB.batch(statements)
  }
  return new Proxy(env.DB, {
    get: (target, name) => (name === 'batch' ? batch : Reflect.get(target, name, target)),
  })
}
