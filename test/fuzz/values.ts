/** Values that a JSON schema allows. Existing ids and keys are used if a field's name asks for them. */
import fc from 'fast-check'
import type { Dice } from './dice'
import type { Operation, Schema } from './document'
import type { Pool } from './pool'

const DAY = 86_400_000
const ZONES = ['UTC', 'Asia/Kathmandu', 'America/New_York', 'Pacific/Kiritimati', 'Pacific/Pago_Pago']

/** A destination for webhooks on this machine. Nothing listens there. */
export const NOWHERE = 'http://127.0.0.1:9'

/** The source of the values of an operation. `now` is the service's time in milliseconds since the epoch. */
export type Source = Pick<Operation, 'path' | 'resolve'> & { pool: Pool; dice: Dice; now: number }

/** A value that fits a schema. `name` is the name of the field that gets it. */
export function valid(schema: Schema, name: string, source: Source, depth = 0): unknown {
  const { dice } = source
  const one = source.resolve(schema)
  if (one.const !== undefined) return one.const
  if (one.enum) return dice.pick(one.enum)
  // Beside properties, alternatives only say which of them are needed.
  const branches = one.properties ? undefined : (one.anyOf ?? one.oneOf)
  if (branches) return valid(dice.pick(branches), name, source, depth)
  if (one.allOf) return Object.assign({}, ...one.allOf.map((part) => valid(part, name, source, depth + 1)))
  const type = Array.isArray(one.type) ? dice.pick(one.type) : one.type
  switch (type) {
    case 'object':
      return objectOf(one, source, depth)
    case 'array': {
      const least = one.minItems ?? 0
      const most = Math.min(one.maxItems ?? 4, least + (dice.chance(0.05) ? 30 : 3))
      const length = least + dice.below(most - least + 1)
      return Array.from({ length }, () => valid(one.items ?? {}, name, source, depth + 1))
    }
    case 'string':
      return textOf(one, name, source)
    case 'integer':
    case 'number':
      return numberOf(one, type === 'integer', dice)
    case 'boolean':
      return dice.chance(0.5)
    case 'null':
      return null
    default:
      return dice.of(fc.jsonValue({ maxDepth: 2 }))
  }
}

function objectOf(schema: Schema, source: Source, depth: number): unknown {
  const { dice, pool } = source
  const entries: [string, unknown][] = []
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const isThere = schema.required?.includes(name) || dice.chance(depth > 3 ? 0.2 : 0.5)
    if (isThere) entries.push([name, valid(inner, name, source, depth + 1)])
  }
  if (typeof schema.additionalProperties === 'object')
    for (let n = dice.below(3); n > 0; n -= 1) {
      const key = pool.key(dice, 'attributes')
      if (key !== undefined) entries.push([key, valid(schema.additionalProperties, '', source, depth + 1)])
    }
  return Object.fromEntries(entries)
}

function textOf(schema: Schema, name: string, source: Source): string {
  const { dice, pool, path, now } = source
  const isUuid = schema.format === 'uuid' || /0-9a-f.*-4|a-f.*\{12\}/i.test(schema.pattern ?? '')
  if (dice.chance(0.85)) {
    const known = pool.field(dice, path, name, isUuid)
    if (known !== undefined && !(name === 'key' && dice.chance(0.3))) return known
  }
  if (isUuid) return dice.of(fc.uuid({ version: dice.pick([4, 7]) }))
  const day = () => now + (dice.below(60) - 20) * DAY
  if (schema.format === 'date') return new Date(day()).toISOString().slice(0, 10)
  if (schema.format === 'date-time') return new Date(day()).toISOString()
  if (name === 'userAttributes')
    return `${pool.key(dice, 'attributes') ?? 'plan'}:${dice.pick(['pro', 'pro', 'x', ''])}`
  if (name === 'tz') return dice.pick(ZONES)
  if (name === 'url') return `${NOWHERE}/${dice.of(fc.webPath())}`
  if (name === 'email') return dice.of(fc.emailAddress())
  if (/Time$/.test(name) && schema.pattern === undefined) return `${10 + dice.below(14)}:00`
  if (schema.pattern !== undefined && name !== 'email') {
    try {
      return dice.of(fc.stringMatching(new RegExp(schema.pattern, 'u'), { size: 'small' }))
    } catch {
      // fast-check does not support every pattern.
    }
  }
  const minLength = Math.min(schema.minLength ?? 0, 300)
  return dice.of(
    fc.string({ minLength, maxLength: Math.max(minLength, Math.min(schema.maxLength ?? 20, 20)) }),
  )
}

function numberOf(schema: Schema, isWhole: boolean, dice: Dice): number {
  const least = schema.minimum ?? (schema.exclusiveMinimum ?? -1_000) + (isWhole ? 1 : 0.01)
  const most = schema.maximum ?? (schema.exclusiveMaximum ?? 1_000_000) - (isWhole ? 1 : 0.01)
  // Mostly a small value. The bias of fast-check adds edge cases.
  if (dice.chance(0.6)) {
    const small = Math.max(least, Math.min(most, dice.below(12)))
    return isWhole ? Math.round(small) : small
  }
  return isWhole
    ? dice.of(fc.integer({ min: Math.max(least, -(2 ** 31)), max: Math.min(most, 2 ** 31 - 1) }))
    : dice.of(fc.double({ min: least, max: most, noNaN: true }))
}
