import type { Bindings } from '../../src/runtime/env'
import { chance } from './random'

/**
 * The bindings with faults before them. Everything is forwarded to the real ones; what becomes of the n-th call at a boundary is
 * decided by the seed alone, so that one seed is one plan of faults, however the calls come to be ordered.
 */

export type Boundary = 'd1' | 'lane' | 'board' | 'timekeeper' | 'delivery' | 'kv' | 'queue'

/**
 * What becomes of a call. `before`: it fails, and nothing is done. `after`: it is done, and the answer is lost. `late`: the answer is lost before
 * it is done, and it is done all the same. `drop`: it seems done, and never is. `double`: it is done twice. `stale`: what was read the last time is
 * read again.
 */
export type Kind = 'before' | 'after' | 'late' | 'drop' | 'double' | 'stale'

/** How often each happens, as a share of the calls. */
export type Rates = Partial<Record<Boundary, Partial<Record<Kind, number>>>>

/** What a distributed system says when nobody knows what became of a call. */
const lost = () => new Error('D1_ERROR: Network connection lost (simulated).')

/** Whose faults these are; one for an isolate, since objects and tests of this runner share it. */
class Chaos {
  isOn = false
  /** Whose world it is. */
  tenantId = ''
  /** By how much more faults there are than the rates say. */
  scale = 1
  #seed = 0
  #rates: Rates = {}
  #calls = new Map<Boundary, number>()
  /** Faults so far, by boundary and kind. */
  counts = new Map<string, number>()
  injected = 0
  /** Guards that raised; where users share a batch, they don't. */
  conflicts = 0
  lanes = 0
  /** Calls that go on although their caller was told that they failed. */
  readonly pending = new Set<Promise<unknown>>()
  /** What was sent to the queues, to be brought again. */
  sent: { queue: 'OUTBOX' | 'REPAIRS'; body: unknown }[] = []
  /** What objects and isolates are told beside their bindings: where providers are. */
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

  /** Notes a fault that was made from outside. */
  note(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
    this.injected += 1
  }

  /** What becomes of the next call; null: nothing. */
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

  /** Waits for what is under way; what an object had under way that was killed never comes to an end, and is left after two seconds. */
  async settled(): Promise<void> {
    for (let waited = 0; this.pending.size > 0 && waited < 20; waited += 1) {
      const soon = new Promise((resolve) => setTimeout(resolve, 100))
      await Promise.race([Promise.allSettled([...this.pending]), soon])
    }
    this.pending.clear()
  }

  /** Makes a call, or what becomes of it. */
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

/** A namespace of objects whose methods meet faults. */
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

/** KV that loses entries, and tells what was there before. */
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
    DB: d1(env.DB),
    KEYS: kv(env.KEYS),
    USER_LANE: objects('lane', env.USER_LANE),
    LEADERBOARD: objects('board', env.LEADERBOARD),
    TIMEKEEPER: objects('timekeeper', env.TIMEKEEPER),
    DELIVERY_QUEUE: objects('delivery', env.DELIVERY_QUEUE),
    REPAIRS: queue('REPAIRS', env.REPAIRS),
    OUTBOX: queue('OUTBOX', env.OUTBOX),
  }
}
