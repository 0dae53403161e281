import { databases } from './harness'

/** A batch that is sent to one of the databases, with the texts of its statements. */
export type Call = {
  database: string
  isWrite: boolean
  texts: string[]
  run: () => Promise<D1Result[]>
}
/** Is called instead of the batch. */
export type Fault = (call: Call) => Promise<D1Result[]>

export const lost = () => new Error('D1_ERROR: Network connection lost.')

/** All databases of the tests behind a fault. */
export function behind(fault: Fault): Record<string, D1Database> {
  return Object.fromEntries(
    databases().map(({ name, d1 }) => {
      const texts = new WeakMap<object, string>()
      const batch = (statements: D1PreparedStatement[]) => {
        const sent = statements.map((one) => texts.get(one) ?? '')
        const isWrite = sent.some((text) => /^\s*(insert|update|delete)/i.test(text))
        return fault({ database: name, isWrite, texts: sent, run: () => d1.batch(statements) })
      }
      const prepare = (sql: string) => ({
        bind: (...params: unknown[]) => {
          const statement = d1.prepare(sql).bind(...params)
          texts.set(statement, sql)
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
