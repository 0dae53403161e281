/** Ids and keys of existing things, by kind, as far as responses have shown them. Later requests use them. */
import type { Dice } from './dice'
import type { Operation } from './document'

/** The number of ids that are kept for each kind. */
const KEPT = 80

/**
 * The kind of ids in a field or parameter with this name. A kind is the last fixed part of the path that
 * creates the thing.
 */
const BY_NAME: Record<string, string> = {
  systemId: 'points',
  pointsSystemId: 'points',
  metricId: 'metrics',
  achievementId: 'achievements',
  achievementIds: 'achievements',
  attributeId: 'attributes',
  breakdownAttribute: 'attributes',
  breakdownAttributes: 'attributes',
  userId: 'users',
  userIds: 'users',
  deliveryId: 'deliveries',
}

/** The last fixed part of a path, such as `levels` of `/points/{systemId}/levels/{id}`. */
export const kindOf = (path: string) =>
  path
    .split('/')
    .filter((part) => part !== '' && !part.startsWith('{'))
    .at(-1) ?? ''

/** The last fixed part of a path before a parameter. */
const kindBefore = (path: string, name: string) => kindOf(path.slice(0, path.indexOf(`{${name}}`)))

export class Pool {
  readonly #ids = new Map<string, string[]>()
  readonly #keys = new Map<string, string[]>()
  /** Application keys and user tokens. Each belongs to a tenant. */
  readonly applicationKeys: string[] = []

  add(kind: string, id: string): void {
    remember(this.#ids, kind, id)
  }

  /** A seen id of a kind. Undefined if there is none. */
  id(dice: Dice, kind: string): string | undefined {
    const known = this.#ids.get(kind)
    return known && dice.pick(known)
  }

  /** An id or key for a parameter of a path. */
  parameter(dice: Dice, path: string, name: string): string | undefined {
    const kind = BY_NAME[name] ?? kindBefore(path, name)
    return name === 'key' ? this.key(dice, kind) : this.id(dice, kind)
  }

  key(dice: Dice, kind: string): string | undefined {
    const known = this.#keys.get(kind)
    return known && dice.pick(known)
  }

  /** An id or key for a field of a body or a query, in an operation with this path. */
  field(dice: Dice, path: string, name: string, isUuid: boolean): string | undefined {
    const own = kindOf(path)
    const kind = BY_NAME[name]
    if (kind !== undefined) return this.id(dice, kind)
    if (name === 'id' || name === 'ids') return this.id(dice, isUuid ? own : 'users')
    if (name === 'key') return this.key(dice, dice.chance(0.7) ? 'metrics' : own)
    if (name === 'customerId') return this.key(dice, 'tenants')
    return undefined
  }

  /** Keeps the ids and keys that a successful response names. */
  harvest({ id: operation, path }: Operation, body: unknown, headers: Headers): void {
    this.#take(kindOf(path.replace(/\/(rotate|rotate-secret|test|redeliver)$/, '')), body, 0)
    for (const { id } of list(Object(body).deleted)) this.#forget(kindOf(path), id)
    const batch = headers.get('x-batch-id')
    if (batch !== null) remember(this.#ids, 'batches', batch)
    const keys =
      operation === 'admin_application_api_keys_create'
        ? list(Object(body).created).map(({ key }) => key)
        : operation === 'admin_user_tokens_create'
          ? [Object(body).token]
          : []
    this.applicationKeys.push(...keys.filter((key) => typeof key === 'string'))
    this.applicationKeys.splice(0, Math.max(0, this.applicationKeys.length - 10))
  }

  #forget(kind: string, id: unknown): void {
    const left = (this.#ids.get(kind) ?? []).filter((one) => one !== id)
    if (left.length > 0) this.#ids.set(kind, left)
    else this.#ids.delete(kind)
  }

  #take(kind: string, value: unknown, depth: number): void {
    if (depth > 4 || typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const item of value.slice(0, 20)) this.#take(kind, item, depth + 1)
      return
    }
    const { id, key, customerId } = Object(value)
    if (typeof id === 'string') remember(this.#ids, kind, id)
    if (typeof key === 'string' && !/api-keys$/.test(kind)) remember(this.#keys, kind, key)
    if (typeof customerId === 'string') remember(this.#keys, 'tenants', customerId)
    for (const [name, inner] of Object.entries(value)) {
      const isEnvelope = ['created', 'updated', 'users', 'pauses'].includes(name)
      if (isEnvelope || typeof inner === 'object') this.#take(isEnvelope ? kind : name, inner, depth + 1)
    }
  }
}

const list = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value : [])

function remember(of: Map<string, string[]>, kind: string, value: string): void {
  const known = of.get(kind) ?? []
  if (known.includes(value)) return
  of.set(kind, [...known, value].slice(-KEPT))
}
