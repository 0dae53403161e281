import { databases } from './harness'

/** A batch that is sent to one of the databases, with the texts and parameters of its statements. */
export type Call = {
  database: string
  isWrite: boolean
  texts: string[]
  params: unknown[][]
  run: () => Promise<D1Result[]>
}
/** Is called instead of the batch. */
export type Fault = (call: Call) => Promise<D1Result[]>

export { lost } from './faulty'

/** All databases of the tests behind a fault. */
export function behind(fault: Fault): Record<string, D1Database> {
  return Object.fromEntries(
    databases().map(({ name, d1 }) => {
      const known = new WeakMap<object, { sql: string; params: unknown[] }>()
      const batch = (statements: D1PreparedStatement[]) => {
        const sent = statements.map((one) => known.get(one) ?? { sql: '', params: [] })
        const texts = sent.map(({ sql }) => sql)
        const isWrite = texts.some((text) => /^\s*(insert|update|delete)/i.test(text))
        const params = sent.map((one) => one.params)
        return fault({ database: name, isWrite, texts, params, run: () => d1.batch(statements) })
      }
      const prepare = (sql: string) => ({
        bind: (...params: unknown[]) => {
          const statement = d1.prepare(sql).bind(...params)
          known.set(statement, { sql, params })
          return statement
        },
      })
      const proxy = new Proxy(d1, {
        get: (target, key) =>
          key === 'batch' ? batch : key === 'prepare' ? prepare : Reflect.get(target, key, target),
      })
      return [name, proxy]
    }),
  )
}
