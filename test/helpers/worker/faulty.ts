import { env } from 'cloudflare:workers'
import { failing } from '../failing'
import { lastDatabase, replaced } from './harness'

/** The error of D1 if the outcome of a batch is unknown. */
export const lost = failing('Network connection lost.')

type Fault = (run: () => Promise<D1Result[]>, write: number) => Promise<D1Result[]>

/**
 * D1 with a fault: `fault` gets each write batch with its number, from 0. `seen` counts write batches, and
 * the rows of all batches. `d1` is the database behind it.
 */
export function faulty(
  fault: Fault,
  d1: D1Database = env.DB,
  seen = { writes: 0, rowsWritten: 0, rowsRead: 0 },
) {
  const texts = new WeakMap<D1PreparedStatement, string>()
  const prepare = (sql: string) => {
    const statement = d1.prepare(sql)
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
      const results = await d1.batch(statements)
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
  const DB = new Proxy(d1, {
    get: (target, name) =>
      name === 'batch' ? batch : name === 'prepare' ? prepare : Reflect.get(target, name, target),
  })
  return { DB, seen }
}

/** The last database with a fault, as `DB`, and as the bindings of a Worker. See `newTenantInLast`. */
export function faultyLast(fault: Fault) {
  const { name, d1 } = lastDatabase()
  const { DB, seen } = faulty(fault, d1)
  return { DB, seen, bindings: { [name]: DB } }
}

/** All databases with a fault, as the bindings of a Worker. They share the numbers of writes and `seen`. */
export function faultyAll(fault: Fault) {
  const seen = { writes: 0, rowsWritten: 0, rowsRead: 0 }
  const bindings = replaced((d1) => faulty(fault, d1, seen).DB)
  return { bindings, seen }
}

/** D1 that cannot be reached after this number of batches; each later batch fails with this error. */
export function awayAfter(batches: number, failure = lost, d1: D1Database = env.DB): D1Database {
  let done = 0
  const batch = (statements: D1PreparedStatement[]) => {
    done += 1
    return done > batches ? Promise.reject(failure()) : d1.batch(statements)
  }
  return new Proxy(d1, {
    get: (target, name) => (name === 'batch' ? batch : Reflect.get(target, name, target)),
  })
}

/** The last database as one that cannot be reached, as the bindings of a Worker. See `newTenantInLast`. */
export function lastAway(): Record<string, D1Database> {
  const { name, d1 } = lastDatabase()
  return { [name]: awayAfter(0, undefined, d1) }
}
