/** The values that a field or a body may have. Only strings have a format. */
export type Shape = { nullable: boolean } & (
  | { kind: 'anything' }
  | { kind: 'scalar'; type: string; format?: string | undefined }
  | { kind: 'enumeration'; values: string[] }
  | { kind: 'list'; of: Shape }
  | { kind: 'map'; of: Shape }
  | { kind: 'object'; fields: Map<string, Field> }
)

export type Field = { required: boolean; shape: Shape }

const TOKEN = /\s*('[^']*'|[\w-]+|\S)/y

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) tokens.push(match[1] ?? '')
  return tokens
}

/**
 * Reads a shape as contract.json writes it: `{name: string, end?: string(date)|null, unit: 'day'|'hour',
 * tags: [string], attributes: {*: string}}`. Throws on anything else.
 */
export function parseShape(text: string): Shape {
  const tokens = tokensOf(text)
  const shape = readShape(tokens)
  if (tokens.length > 0) throw new Error(`unexpected ${tokens.join('')} in ${text}`)
  return shape
}

function take(tokens: string[], wanted?: string): string {
  const token = tokens.shift()
  if (token === undefined || (wanted !== undefined && token !== wanted)) {
    throw new Error(`expected ${wanted ?? 'a shape'}, found ${token ?? 'the end'}`)
  }
  return token
}

function skip(tokens: string[], token: string): boolean {
  if (tokens[0] !== token) return false
  tokens.shift()
  return true
}

function readShape(tokens: string[]): Shape {
  const shape = readAlternative(tokens)
  while (skip(tokens, '|')) {
    if (skip(tokens, 'null')) shape.nullable = true
    else if (shape.kind === 'enumeration') shape.values.push(take(tokens).slice(1, -1))
    else throw new Error('only null and enumerations have alternatives')
  }
  return shape
}

function readAlternative(tokens: string[]): Shape {
  const token = take(tokens)
  if (token.startsWith("'")) return { nullable: false, kind: 'enumeration', values: [token.slice(1, -1)] }
  if (token === '[') {
    const of = readShape(tokens)
    take(tokens, ']')
    return { nullable: false, kind: 'list', of }
  }
  if (token === '{') return readObject(tokens)
  if (!skip(tokens, '(')) return { nullable: false, kind: 'scalar', type: token }
  const format = take(tokens)
  take(tokens, ')')
  return { nullable: false, kind: 'scalar', type: token, format }
}

function readObject(tokens: string[]): Shape {
  if (skip(tokens, '*')) {
    take(tokens, ':')
    const of = readShape(tokens)
    take(tokens, '}')
    return { nullable: false, kind: 'map', of }
  }
  const fields = new Map<string, Field>()
  do {
    const name = take(tokens)
    const required = !skip(tokens, '?')
    take(tokens, ':')
    fields.set(name, { required, shape: readShape(tokens) })
  } while (skip(tokens, ','))
  take(tokens, '}')
  return { nullable: false, kind: 'object', fields }
}

type Json = Record<string, unknown>

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const strings = (value: unknown): string[] => [value].flat().filter((item) => typeof item === 'string')

/**
 * The target of a reference in the document. Any other value is returned unchanged. Throws if the target is
 * missing.
 */
export function resolved(value: unknown, document: unknown): unknown {
  if (!isRecord(value) || typeof value.$ref !== 'string') return value
  let target: unknown = document
  for (const step of value.$ref.split('/').slice(1)) target = isRecord(target) ? target[step] : undefined
  if (target === undefined) throw new Error(`${value.$ref} leads nowhere`)
  return resolved(target, document)
}

/** The shape of a JSON schema of our document. */
export function shapeOf(given: unknown, document: unknown): Shape {
  const schema = resolved(given, document)
  if (!isRecord(schema)) return { nullable: true, kind: 'anything' }
  // Beside properties, alternatives only say which of them are needed.
  if (Array.isArray(schema.anyOf) && schema.properties === undefined) {
    const parts = schema.anyOf.map((part) => resolved(part, document))
    const rest = parts.filter((part) => !isRecord(part) || part.type !== 'null')
    const shape = rest.length === 1 ? shapeOf(rest[0], document) : anything()
    return { ...shape, nullable: shape.nullable || rest.length < parts.length }
  }
  const types = strings(schema.type)
  const nullable = types.includes('null')
  const type = types.find((name) => name !== 'null')
  if (Array.isArray(schema.enum)) return { nullable, kind: 'enumeration', values: strings(schema.enum) }
  if (typeof schema.const === 'string') return { nullable, kind: 'enumeration', values: [schema.const] }
  if (type === 'array') return { nullable, kind: 'list', of: shapeOf(schema.items, document) }
  if (type === 'object') return objectOf(schema, nullable, document)
  if (type === undefined) return anything()
  const format = type === 'string' && typeof schema.format === 'string' ? schema.format : undefined
  return { nullable, kind: 'scalar', type, format }
}

const anything = (): Shape => ({ nullable: true, kind: 'anything' })

function objectOf(schema: Json, nullable: boolean, document: unknown): Shape {
  if (!isRecord(schema.properties) && isRecord(schema.additionalProperties)) {
    return { nullable, kind: 'map', of: shapeOf(schema.additionalProperties, document) }
  }
  const required = strings(schema.required)
  const fields = new Map<string, Field>()
  for (const [name, inner] of Object.entries(isRecord(schema.properties) ? schema.properties : {})) {
    fields.set(name, { required: required.includes(name), shape: shapeOf(inner, document) })
  }
  return { nullable, kind: 'object', fields }
}
