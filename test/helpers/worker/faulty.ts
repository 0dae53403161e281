import { env } from 'cloudflare:workers'
import { failing } from '../failing'
import { lastDatabase, replaced } from './harness'

/** The error of D1 if the outcome of a batch is unknown. */
export const lost = failing('Network connection lost.')

/**
 * A batch that is sent to D1: the texts and parameters of its statements. `run` sends it, with further statements
 * at its end.
 */
export type Batch = { texts: string[]; params: unknown[][]; run: (...more: string[]) => Promise<D1Result[]> }

/** D1 that calls `onBatch` instead of sending a batch. */
export function intercepted(d1: D1Database, onBatch: (batch: Batch) => Promise<D1Result[]>): D1Database {
  const sent = new WeakMap<D1PreparedStatement, { text: string; params: unknown[] }>()
  const prepare = (text: string) => {
    const statement = d1.prepare(text)
    const bind = statement.bind.bind(statement)
    statement.bind = (...params) => {
      const bound = bind(...params)
      sent.set(bound, { text, params })
      return bound
    }
    return statement
  }
  const batch = (statements: D1PreparedStatement[]) =>
    onBatch({
      texts: statements.map((one) => sent.get(one)?.text ?? ''),
      params: statements.map((one) => sent.get(one)?.params ?? []),
      run: (...more) => d1.batch([...statements, ...more.map((sql) => d1.prepare(sql))]),
    })
  return new Proxy(d1, {
    get: (target, name) =>
      name === 'batch' ? batch : name === 'prepare' ? prepare : Reflect.get(target, name, target),
  })
}

const isWrite = ({ texts }: Batch) => texts.some((text) => /^\s*(INSERT|UPDATE|DELETE|WITH)/.test(text))

/** Is called instead of a batch, with its number, from 0. */
export type NumberedFault<B = Batch> = (batch: B, nth: number) => Promise<D1Result[]>

/**
 * D1 with a fault: `fault` gets each write batch with its number, from 0. `seen` counts write batches, and
 * the rows of all batches. `d1` is the database behind it, and `isCounted` says which batches are writes.
 */
export function faulty(
  fault: NumberedFault,
  d1: D1Database = env.DB,
  seen = { writes: 0, rowsWritten: 0, rowsRead: 0 },
  isCounted = isWrite,
) {
  const DB = intercepted(d1, (batch) => {
    const run = async () => {
      const results = await batch.run()
      for (const { meta } of results) {
        seen.rowsWritten += meta.rows_written
        seen.rowsRead += meta.rows_read
      }
      return results
    }
    if (!isCounted(batch)) return run()
    seen.writes += 1
    return fault({ ...batch, run }, seen.writes - 1)
  })
  return { DB, seen }
}

/** The last database with a fault, as `DB`, and as the bindings of a Worker. See `newTenantInLast`. */
export function faultyLast(fault: NumberedFault, isCounted = isWrite) {
  const { name, d1 } = lastDatabase()
  const { DB, seen } = faulty(fault, d1, undefined, isCounted)
  return { DB, seen, bindings: { [name]: DB } }
}

/** All databases with a fault, as the bindings of a Worker. They share the numbers of writes and `seen`. */
export function faultyAll(fault: NumberedFault) {
  const seen = { writes: 0, rowsWritten: 0, rowsRead: 0 }
  const bindings = replaced((d1) => faulty(fault, d1, seen).DB)
  return { bindings, seen }
}

/** A batch with the name of its database. */
export type Call = Batch & { database: string; isWrite: boolean }
/** Is called instead of the batch. */
export type Fault = (call: Call) => Promise<D1Result[]>

/** All databases of the tests behind a fault. */
export const behind = (fault: Fault): Record<string, D1Database> =>
  replaced((d1, database) =>
    intercepted(d1, (batch) => {
      const writes = batch.texts.some((text) => /^\s*(insert|update|delete)/i.test(text))
      return fault({ ...batch, database, isWrite: writes })
    }),
  )

/** All databases, of which one cannot be reached. */
export const away = (name: string): Record<string, D1Database> =>
  behind(({ database, run }) => (database === name ? Promise.reject(lost()) : run()))

/** All databases behind a fault for calls of one kind, which `seen` counts. */
export function only(kind: (call: Call) => boolean, fault: NumberedFault<Call>) {
  const seen = { count: 0 }
  const bindings = behind((call) => {
    if (!kind(call)) return call.run()
    seen.count += 1
    return fault(call, seen.count - 1)
  })
  return { bindings, seen }
}

/** All databases behind a fault for writes. */
export const onWrites = (fault: NumberedFault<Call>) => only(({ isWrite }) => isWrite, fault)

/** Runs the batch and loses its answer. */
export async function answerLost({ run }: Batch): Promise<never> {
  await run()
  throw lost()
}

/** Loses the n-th call, before or after D1 has run it. */
export const losing =
  (nth: number, isStored: boolean): NumberedFault =>
  (call, n) =>
    n !== nth ? call.run() : isStored ? answerLost(call) : Promise.reject(lost())

/** Does something else before each call. */
export const beforeEachCall =
  (act: (nth: number) => unknown): NumberedFault =>
  async ({ run }, nth) => {
    await act(nth)
    return run()
  }

/** Does something else before the first call. */
export const beforeFirst = (act: () => unknown) => beforeEachCall((nth) => nth === 0 && act())

/** Loses the first call, which the test can run `late`. */
export function delayed() {
  let late: Batch | undefined
  const fault: NumberedFault = (call, n) => {
    if (n > 0) return call.run()
    late = call
    return Promise.reject(lost())
  }
  return { fault, late: async () => late?.run() }
}

/** D1 that cannot be reached after this number of batches; each later batch fails with this error. */
export function awayAfter(batches: number, failure: () => Error = lost, d1: D1Database = env.DB): D1Database {
  let done = 0
  return intercepted(d1, ({ run }) => {
    done += 1
    return done > batches ? Promise.reject(failure()) : run()
  })
}

/** The last database as one that cannot be reached, as the bindings of a Worker. See `newTenantInLast`. */
export function lastAway(): Record<string, D1Database> {
  const { name, d1 } = lastDatabase()
  return { [name]: awayAfter(0, undefined, d1) }
}
