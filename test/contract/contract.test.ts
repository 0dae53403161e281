import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { errorStatusesOf, type OperationSpec } from '../../src/api/endpoint'
import { openApiDocument } from '../../src/api/openapi'
import { EVENT_TYPES } from '../../src/configuration/enumerations'
import { WEBHOOKS } from '../../src/webhooks/events'
import { adminOperations, applicationOperations } from '../../src/worker/operations'
import { differences, misfits, parseOperation } from './compare'
import contract from './contract.json'
import { parseShape, shapeOf } from './shape'
import webhooks from './webhooks.json'

const agreed = contract.map(parseOperation)

const surfaces = [
  {
    surface: 'application',
    operations: applicationOperations,
    document: openApiDocument(applicationOperations, { title: 'Laurel', version: '1', base: '/v1' }),
  },
  {
    surface: 'admin',
    operations: adminOperations,
    document: openApiDocument(adminOperations, { title: 'Laurel', version: '1', base: '/admin/v1' }),
  },
] as const

describe.each(surfaces)(
  'the $surface interface conforms to the contract',
  ({ surface, operations, document }) => {
    test('every operation is on its own interface', () => {
      expect(operations.filter((spec) => spec.surface !== surface).map((spec) => spec.id)).toEqual([])
    })

    test('no two operations share an id, or a method and path', () => {
      const ids = operations.map(({ id }) => id)
      const places = operations.map(({ method, path }) => `${method} ${path}`)
      expect(ids).toEqual([...new Set(ids)])
      expect(places).toEqual([...new Set(places)])
    })

    const isOurs = (id: string, place: string) =>
      operations.some((spec) => spec.id === id || `${spec.method} ${spec.path}` === place)
    const implemented = agreed.filter(
      (one) => one.surface === surface && isOurs(one.id, `${one.method} ${one.path}`),
    )
    for (const one of implemented) {
      test(one.id, () => expect(differences(one, document)).toEqual([]))
    }
  },
)

describe('webhook payloads conform to the contract', () => {
  const document = openApiDocument([], { title: '', version: '', base: '', webhooks: WEBHOOKS })
  const agreedBodies = webhooks.map((line) => {
    const [type = ''] = line.split(' ', 1)
    return { type, shape: parseShape(line.slice(type.length)) }
  })
  const types = agreedBodies.map(({ type }) => type)

  test('documents exactly the webhook types of the contract', () => {
    expect(Object.keys(WEBHOOKS).sort()).toEqual(types)
    expect([...EVENT_TYPES].sort()).toEqual(types)
  })

  test.each(agreedBodies)('$type', ({ type, shape }) => {
    const sent = document.webhooks?.[type]?.post.requestBody.content['application/json'].schema
    expect(misfits(shapeOf(sent, document), shape, 'answer')).toEqual([])
  })
})

describe('the comparison of an operation with the document', () => {
  const line =
    'things_make application post /things/{key}; path key: string; query size?: integer; header Idempotency-Key?: string; ' +
    "body {name: string, kind?: 'a'|'b', end?: string(date)|null}; 201 {id: string(uuid), tags: [string], total: number, level?: {points: integer}|null}; 401"

  const Body = z.object({
    name: z.string(),
    kind: z.enum(['a', 'b']).nullish(),
    end: z.string().nullish(),
    more: z.string().optional(),
  })
  const Answer = z.object({
    id: z.string().meta({ format: 'uuid' }),
    tags: z.array(z.string()),
    total: z.int32(),
    level: z.object({ points: z.int32() }).nullable().optional(),
    more: z.string(),
  })
  const made: OperationSpec = {
    id: 'things_make',
    surface: 'application',
    method: 'post',
    path: '/things/{key}',
    summary: 'Make a thing',
    query: z.object({ size: z.custom<string>().meta({ type: 'integer' }).optional() }),
    headers: z.object({ 'idempotency-key': z.string().optional() }),
    body: Body,
    responses: { 201: { description: 'Made.', body: Answer } },
  }
  const found = (change: object) => {
    const document = openApiDocument([{ ...made, ...change }], { title: '', version: '', base: '' })
    return differences(parseOperation(line), document)
  }
  const answering = (body: z.ZodType) => found({ responses: { 201: { description: '', body } } })

  test('finds nothing if the document conforms to the contract and has more', () =>
    expect(found({})).toEqual([]))

  test('finds a missing operation', () =>
    expect(found({ method: 'put' })).toEqual(['post /things/{key} is missing']))

  test('finds a different id', () =>
    expect(found({ id: 'things_create' })).toEqual(['its id is things_create']))

  test('finds parameters that are missing, required or of another type', () => {
    expect(found({ headers: undefined })).toEqual(['header Idempotency-Key is missing'])
    expect(found({ query: z.object({ size: z.int(), page: z.string() }) })).toEqual([
      'query size is required',
      'query page is required, and unknown to the contract',
    ])
    expect(found({ query: z.object({ size: z.boolean().optional() }) })).toEqual([
      'query size is integer, expected boolean',
    ])
  })

  test('finds fields of the body that are missing, required, narrower or not described', () => {
    expect(found({ body: undefined })).toEqual(['it takes no body'])
    expect(found({ body: Body.omit({ kind: true }) })).toEqual(['body.kind is unknown'])
    expect(found({ body: Body.extend({ more: z.string() }) })).toEqual([
      'body.more is required, and may be missing',
    ])
    expect(found({ body: Body.extend({ kind: z.enum(['a']).optional() }) })).toEqual([
      'body.kind is a|b, expected a',
    ])
    expect(found({ body: Body.extend({ end: z.string().optional() }) })).toEqual(['body.end may be null'])
    expect(found({ body: Body.extend({ name: z.unknown() }) })).toEqual(['body.name is not described'])
  })

  test('finds fields of the response that are missing, optional, null, wider or of another format', () => {
    expect(answering(Answer.omit({ tags: true }))).toEqual(['201.tags is required, and may be missing'])
    expect(answering(Answer.extend({ total: z.number().optional() }))).toEqual([
      '201.total is required, and may be missing',
    ])
    expect(answering(Answer.extend({ tags: z.array(z.string()).nullable() }))).toEqual([
      '201.tags may be null',
    ])
    expect(answering(Answer.extend({ level: z.object({ points: z.number() }) }))).toEqual([
      '201.level.points is number, expected integer',
    ])
    expect(answering(Answer.extend({ id: z.string() }))).toEqual(['201.id is string, expected string(uuid)'])
    expect(answering(z.array(Answer))).toEqual(['201 is list, expected object'])
  })

  test('finds a missing status', () => {
    expect(found({ responses: { 200: { description: '', body: Answer } } })).toEqual([
      'status 201 is missing',
    ])
  })
})

test('[G2] documents the errors of an operation from its path, its body and its tenant', () => {
  const plain: OperationSpec = {
    id: 'things_list',
    surface: 'admin',
    account: true,
    method: 'get',
    path: '/things',
    summary: 'List the things',
    responses: { 200: { description: 'The things.', body: z.array(z.string()) } },
  }
  const more = (change: object) =>
    errorStatusesOf({ ...plain, ...change }).filter((status) => !errorStatusesOf(plain).includes(status))
  expect(errorStatusesOf(plain)).toEqual([401, 403, 422, 429, 500, 503])
  expect(more({ path: '/things/{key}' })).toEqual([404])
  expect(more({ account: false })).toEqual([404])
  expect(more({ body: z.object({}) })).toEqual([400, 408, 413, 415])
  expect(more({ furtherErrors: [404] })).toEqual([404])
})

test('the contract has 75 operations, each with a response', () => {
  expect(agreed).toHaveLength(75)
  expect(agreed.filter(({ responses }) => responses.size === 0)).toEqual([])
})
