/**
 * The Worker as it is deployed, but it notes for how long a statement held a database, by D1's own figure
 * (`meta.duration`): `GET /bench/longest` answers the longest one so far. The Worker and all its objects are
 * in one isolate of the runtime.
 */
import { boundDatabases } from '../../src/platform/databases/bound'
import type { Bindings } from '../../src/platform/env'
import worker, * as real from '../../src/worker'

export { DeletionList } from '../../src/worker'

/** The longest statement so far: milliseconds, and the beginning of its text. */
const longest = { milliseconds: 0, sql: '' }
/** How much of a statement's text is kept, in characters. */
const KEPT = 300

function note(results: readonly D1Result[], texts: readonly (string | undefined)[]): void {
  for (const [index, { meta }] of results.entries()) {
    if (meta.duration <= longest.milliseconds) continue
    longest.milliseconds = meta.duration
    longest.sql = (texts[index] ?? '').replace(/\s+/g, ' ').slice(0, KEPT)
  }
}

function watched(d1: D1Database): D1Database {
  const texts = new WeakMap<D1PreparedStatement, string>()
  const prepare = (sql: string) =>
    new Proxy(d1.prepare(sql), {
      get(target, name) {
        if (name !== 'bind') throw new Error(`a statement was asked for ${String(name)}`)
        return (...params: unknown[]) => {
          const bound = target.bind(...params)
          texts.set(bound, sql)
          return bound
        }
      },
    })
  const batch = async (statements: D1PreparedStatement[]) => {
    const results = await d1.batch(statements)
    note(
      results,
      statements.map((statement) => texts.get(statement)),
    )
    return results
  }
  return new Proxy(d1, {
    get(_target, name) {
      if (name === 'batch') return batch
      if (name === 'prepare') return prepare
      throw new Error(`D1 was asked for ${String(name)}`)
    },
  })
}

/** The same bindings, with watched databases. */
const watching = (env: Bindings): Bindings => ({
  ...env,
  ...Object.fromEntries(boundDatabases(env).map(({ name, d1 }) => [name, watched(d1)])),
})

export class Courier extends real.Courier {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, watching(env))
  }
}

export class UserLane extends real.UserLane {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, watching(env))
  }
}

export class LeaderboardObject extends real.LeaderboardObject {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, watching(env))
  }
}

export class Timekeeper extends real.Timekeeper {
  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, watching(env))
  }
}

export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname === '/bench/longest') return Response.json(longest)
    return worker.fetch(request, watching(env), ctx)
  },
  scheduled: (controller, env, ctx) => worker.scheduled(controller, watching(env), ctx),
  queue: (batch, env, ctx) => worker.queue(batch, watching(env), ctx),
} satisfies ExportedHandler<Bindings>
