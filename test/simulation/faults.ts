import { boundDatabases } from '../../src/platform/context'
import type { Bindings } from '../../src/platform/env'
import { failing } from '../helpers/failing'
import { chance } from './random'

/**
 * Wraps the bindings with faults. All calls are forwarded to the real ones. The seed alone decides the fault
 * of the n-th call at a boundary. So one seed is one plan of faults, in any order of the calls.
 */

export type Boundary = 'd1' | 'lane' | 'board' | 'timekeeper' | 'delivery' | 'kv' | 'queue'

/**
 * The fault of a call. `before`: it fails, and nothing is done. `after`: it is done, and the response is
 * lost. `late`: the response is lost first, and the call is done later. `drop`: it seems done, but never is.
 * `double`: it is done twice. `stale`: it returns the result of the last read again.
 */
export type Kind = 'before' | 'after' | 'late' | 'drop' | 'double' | 'stale'

/** The rate of each fault, as a share of the calls. */
export type Rates = Partial<Record<Boundary, Partial<Record<Kind, number>>>>

/** The error of a distributed system when the outcome of a call is unknown. */
const lost = failing('Network connection lost (simulated).')

/**
 * The faults of an isolate. There is one for an isolate, because objects and tests of this runner share it.
 */
class Chaos {
  isOn = false
  /** The tenant of the world. */
  tenantId = ''
  /** The factor by which faults are more frequent than the rates say. */
  scale = 1
  #seed = 0
  #rates: Rates = {}
  #calls = new Map<Boundary, number>()
  /** Faults so far, by boundary and kind. */
  counts = new Map<string, number>()
  injected = 0
  /** Guards that raised. Guards of users who share a batch do not raise. */
  conflicts = 0
  lanes = 0
  /** Calls that continue although their caller got an error. */
  readonly pending = new Set<Promise<unknown>>()
  /** Messages that were sent to the queues, for a later redelivery. */
  sent: { queue: 'OUTBOX' | 'REPAIRS'; body: unknown }[] = []
  /** Variables that objects and isolates get in addition to their bindings: the addresses of providers. */
  variables: Record<string, string> = {}

  begin(seed: number, rates: Rates): void {
    this.#seed = seed
    this.#rates = rates
    this.#calls = new Map()
    this.counts = new Map()
    this.injected = 0
    this.conflicts = 0
    this.lanes = 0
    this.sent = []
  }

  /** Counts a fault that was made from outside. */
  note(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
    this.injected += 1
  }

  /** The fault of the next call. Null for no fault. */
  decide(boundary: Boundary, allowed: readonly Kind[]): Kind | null {
    if (!this.isOn) return null
    const nth = this.#calls.get(boundary) ?? 0
    this.#calls.set(boundary, nth + 1)
    let left = chance(this.#seed, boundary, nth)
    for (const [kind, rate] of Object.entries(this.#rates[boundary] ?? {})) {
      left -= rate * this.scale
      if (left >= 0) continue
      const found = allowed.find((one) => one === kind) ?? null
      if (found !== null) this.note(`${boundary} ${kind}`)
      return found
    }
    return null
  }

  /** Waits for calls in progress. A call of a killed object never ends, so this waits two seconds at most. */
  async settled(): Promise<void> {
    for (let waited = 0; this.pending.size > 0 && waited < 20; waited += 1) {
      const soon = new Promise((resolve) => setTimeout(resolve, 100))
      await Promise.race([Promise.allSettled([...this.pending]), soon])
    }
    this.pending.clear()
  }

  /** Makes a call, or its fault. */
  async through<T>(boundary: Boundary, run: () => Promise<T>): Promise<T> {
    const kind = this.decide(boundary, ['before', 'after', 'late', 'double'])
    if (kind === 'before') throw lost()
    if (kind === 'late') {
      const work = run().catch(() => undefined)
      this.pending.add(work)
      work.finally(() => this.pending.delete(work))
      throw lost()
    }
    const result = await run()
    if (kind === 'double') return run()
    if (kind === 'after') throw lost()
    return result
  }
}

export const chaos = new Chaos()

function d1(real: D1Database): D1Database {
  const batch = (statements: D1PreparedStatement[]) =>
    chaos.through('d1', async () => {
      try {
        return await real.batch(statements)
      } catch (error) {
        if (String(error).includes('laurel-conflict')) chaos.conflicts += 1
        throw error
      }
    })
  return new Proxy(real, {
    get(target, name) {
      if (name === 'batch') return batch
      if (name === 'prepare') return (sql: string) => target.prepare(sql)
      throw new Error(`D1 was asked for ${String(name)}`)
    },
  })
}

/** A namespace of objects whose methods have faults. */
function objects<N extends object>(boundary: Boundary, real: N): N {
  const stubOf = (stub: object) =>
    new Proxy(stub, {
      get(target, method) {
        const called: unknown = Reflect.get(target, method)
        if (typeof called !== 'function') return called
        return (...args: unknown[]) => {
          if (boundary === 'lane') chaos.lanes += 1
          return chaos.through(boundary, async () => Reflect.apply(called, target, args))
        }
      },
    })
  return new Proxy(real, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name)
      if (name !== 'getByName' || typeof found !== 'function') throw new Error(`asked for ${String(name)}`)
      return (id: string) => stubOf(Reflect.apply(found, target, [id]))
    },
  })
}

/** KV that loses entries, and returns old values. */
function kv(real: KVNamespace): KVNamespace {
  const known = new Map<string, unknown>()
  return new Proxy(real, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name)
      if (typeof found !== 'function') return found
      return async (...args: unknown[]) => {
        const reads = name === 'get'
        const kind = chaos.decide('kv', reads ? ['before', 'drop', 'stale'] : ['before', 'after', 'drop'])
        if (kind === 'before') throw lost()
        if (kind === 'drop') return reads ? null : undefined
        const id = String(args[0])
        if (kind === 'stale') return known.get(id) ?? null
        const result: unknown = await Reflect.apply(found, target, args)
        if (reads) known.set(id, result)
        if (kind === 'after') throw lost()
        return result
      }
    },
  })
}

function queue<Body>(name: 'OUTBOX' | 'REPAIRS', real: Queue<Body>): Queue<Body> {
  const send = async (body: Body, options?: QueueSendOptions) => {
    const kind = chaos.decide('queue', ['before', 'after', 'drop', 'double'])
    if (kind === 'before') throw lost()
    if (chaos.isOn) chaos.sent.push({ queue: name, body })
    if (kind === 'drop') return undefined
    if (kind === 'double') await real.send(body, options)
    const sent = await real.send(body, options)
    if (kind === 'after') throw lost()
    return sent
  }
  return new Proxy(real, {
    get(_target, method) {
      if (method !== 'send') throw new Error(`the queue was asked for ${String(method)}`)
      return send
    },
  })
}

/** All bindings, with faults. */
export function faulty(env: Bindings): Bindings {
  return {
    ...env,
    ...chaos.variables,
    ...Object.fromEntries(boundDatabases(env).map(({ name, d1: real }) => [name, d1(real)])),
    KEYS: kv(env.KEYS),
    USER_LANE: objects('lane', env.USER_LANE),
    LEADERBOARD: objects('board', env.LEADERBOARD),
    TIMEKEEPER: objects('timekeeper', env.TIMEKEEPER),
    DELIVERY_QUEUE: objects('delivery', env.DELIVERY_QUEUE),
    REPAIRS: queue('REPAIRS', env.REPAIRS),
    OUTBOX: queue('OUTBOX', env.OUTBOX),
  }
}
