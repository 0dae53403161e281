import { isRecord, parseShape, resolved, type Shape, shapeOf } from './shape'

type Parameter = { in: string; name: string; required: boolean; shape: Shape }

/** One operation of the contract. */
export type Agreed = {
  id: string
  surface: string
  method: string
  path: string
  parameters: Parameter[]
  body: Shape | null
  statuses: string[]
  /** Statuses of success only, without API errors. */
  responses: Map<string, Shape>
}

/**
 * Reads one line of contract.json: `id surface method path`, then parameters, body and statuses between
 * semicolons.
 */
export function parseOperation(line: string): Agreed {
  const [head = '', ...parts] = line.split('; ')
  const [id = '', surface = '', method = '', path = ''] = head.split(' ')
  const operation: Agreed = {
    ...{ id, surface, method, path },
    ...{ parameters: [], body: null, statuses: [], responses: new Map() },
  }
  for (const part of parts) {
    const [word = '', rest = ''] = split(part, ' ')
    if (word === 'body') operation.body = parseShape(rest)
    else if (/^\d{3}$/.test(word)) {
      operation.statuses.push(word)
      if (rest) operation.responses.set(word, parseShape(rest))
    } else {
      const [name, shape] = split(rest, ': ')
      const required = !name.endsWith('?')
      const parameter = { in: word, name: name.replace('?', ''), required, shape: parseShape(shape) }
      operation.parameters.push(parameter)
    }
  }
  return operation
}

function split(text: string, at: string): [string, string] {
  const index = text.indexOf(at)
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + at.length)]
}

/**
 * In requests, we must accept everything that the contract lets callers send. In responses, callers must
 * accept everything that we send.
 */
type Direction = 'request' | 'answer'

/**
 * The reasons why a receiver that expects `expected` might not understand a value of the shape `sent`. Empty
 * if it always understands. Requests must not have fields that we do not know. Callers ignore new fields in
 * responses.
 */
export function misfits(sent: Shape, expected: Shape, direction: Direction, path = ''): string[] {
  const at = path || 'it'
  const nulls = sent.nullable && !expected.nullable ? [`${at} may be null`] : []
  if (sent.kind === 'anything' || expected.kind === 'anything') return [`${at} is not described`]
  if (sent.kind === 'list' && expected.kind === 'list') {
    return [...nulls, ...misfits(sent.of, expected.of, direction, `${path}[]`)]
  }
  if (sent.kind === 'map' && expected.kind === 'map') {
    return [...nulls, ...misfits(sent.of, expected.of, direction, `${path}.*`)]
  }
  if (sent.kind === 'object' && expected.kind === 'object') {
    const found = [...nulls]
    for (const [name, field] of expected.fields) {
      const other = sent.fields.get(name)
      if (field.required && !other?.required) found.push(`${path}.${name} is required, and may be missing`)
      else if (!other && direction === 'answer') found.push(`${path}.${name} is never sent`)
    }
    for (const [name, field] of sent.fields) {
      const other = expected.fields.get(name)
      if (other) found.push(...misfits(field.shape, other.shape, direction, `${path}.${name}`))
      else if (direction === 'request') found.push(`${path}.${name} is unknown`)
    }
    return found
  }
  return fits(sent, expected, direction)
    ? nulls
    : [...nulls, `${at} is ${name(sent)}, expected ${name(expected)}`]
}

function fits(sent: Shape, expected: Shape, direction: Direction): boolean {
  if (sent.kind === 'enumeration') {
    const { values } = sent
    if (expected.kind === 'enumeration') return values.every((value) => expected.values.includes(value))
    if (expected.kind !== 'scalar') return false
    // In a query string, the texts true and false are a boolean.
    const isBoolean = expected.type === 'boolean' && values.every((value) => /^(true|false)$/.test(value))
    return expected.type === 'string' || (direction === 'request' && isBoolean)
  }
  if (sent.kind !== 'scalar' || expected.kind !== 'scalar') return false
  if (sent.type !== expected.type) return sent.type === 'integer' && expected.type === 'number'
  // The contract may allow any string in a request, while behaviour.md still requires a UUID or an address.
  return direction === 'request' || expected.format === undefined || sent.format === expected.format
}

function name(shape: Shape): string {
  if (shape.kind === 'enumeration') return shape.values.join('|')
  return shape.kind === 'scalar' ? shape.type + (shape.format ? `(${shape.format})` : '') : shape.kind
}

/**
 * The parts of a contract operation that our OpenAPI document lacks or has in another form. Empty if it
 * conforms.
 */
export function differences(agreed: Agreed, document: unknown): string[] {
  const item = dig(document, 'paths', agreed.path)
  const ours = dig(item, agreed.method)
  if (!isRecord(ours)) return [`${agreed.method} ${agreed.path} is missing`]
  const found = ours.operationId === agreed.id ? [] : [`its id is ${String(ours.operationId)}`]
  found.push(...parameterDifferences(agreed.parameters, parametersOf(ours, document)))

  const body = dig(ours, 'requestBody', 'content', 'application/json', 'schema')
  if (agreed.body && body === undefined) found.push('it takes no body')
  else if (agreed.body) found.push(...misfits(agreed.body, shapeOf(body, document), 'request', 'body'))
  else if (body !== undefined) found.push('it demands a body')

  for (const status of agreed.statuses) {
    const answer = dig(ours, 'responses', status)
    const expected = agreed.responses.get(status) ?? parseShape('{error: string}')
    const schema = dig(answer, 'content', 'application/json', 'schema')
    if (answer === undefined) found.push(`status ${status} is missing`)
    else found.push(...misfits(shapeOf(schema, document), expected, 'answer', status))
  }
  return found
}

function parameterDifferences(agreed: readonly Parameter[], ours: readonly Parameter[]): string[] {
  const key = (parameter: Parameter) => `${parameter.in} ${parameter.name}`
  const found: string[] = []
  for (const parameter of agreed) {
    const own = ours.find((other) => key(other).toLowerCase() === key(parameter).toLowerCase())
    if (!own) found.push(`${key(parameter)} is missing`)
    else {
      if (own.required && !parameter.required) found.push(`${key(parameter)} is required`)
      found.push(...misfits(parameter.shape, own.shape, 'request', key(parameter)))
    }
  }
  for (const own of ours) {
    const known = agreed.some((parameter) => key(parameter).toLowerCase() === key(own).toLowerCase())
    if (own.required && !known) found.push(`${key(own)} is required, and unknown to the contract`)
  }
  return found
}

function parametersOf(operation: Record<string, unknown>, document: unknown): Parameter[] {
  const list = Array.isArray(operation.parameters) ? operation.parameters : []
  return list.flatMap((given) => {
    const parameter = resolved(given, document)
    if (!isRecord(parameter)) return []
    const shape = shapeOf(parameter.schema, document)
    return [
      {
        in: String(parameter.in),
        name: String(parameter.name),
        required: parameter.required === true,
        shape,
      },
    ]
  })
}

function dig(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((inner, step) => (isRecord(inner) ? inner[step] : undefined), value)
}
