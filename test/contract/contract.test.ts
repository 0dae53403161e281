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

/**
 * Where Laurel allows more than the contract on purpose, and clients of the contract never set it: the rule, and the
 * differences that it makes. An entry that explains nothing fails a test.
 */
const WIDER: readonly (readonly [rule: string, what: string, differences: RegExp])[] = [
  ['S1', 'thresholds with decimals', /streaks_settings.*threshold is number, expected integer/],
]

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

const webhookDocument = openApiDocument([], { title: '', version: '', base: '', webhooks: WEBHOOKS })
const webhookTypes = webhooks.map((line) => line.split(' ', 1)[0] ?? '')

/** Each operation and webhook type of the contract, with what Laurel lacks or has in another form. */
const found = [
  ...surfaces.flatMap(({ surface, document }) =>
    agreed
      .filter((one) => one.surface === surface)
      .map((one) => ({ id: one.id, all: differences(one, document) })),
  ),
  ...webhooks.map((line, index) => {
    const id = webhookTypes[index] ?? ''
    const sent = webhookDocument.webhooks?.[id]?.post.requestBody.content['application/json'].schema
    return { id, all: misfits(shapeOf(sent, webhookDocument), parseShape(line.slice(id.length)), 'answer') }
  }),
]

const explains = ([, , pattern]: (typeof WIDER)[number], id: string, difference: string) =>
  pattern.test(`${id}: ${difference}`)

test.each(found)('$id conforms to the contract', ({ id, all }) => {
  expect(all.filter((difference) => !WIDER.some((entry) => explains(entry, id, difference)))).toEqual([])
})

test.each(WIDER)('[%s] the exception for %s is needed', (...entry) => {
  expect(found.some(({ id, all }) => all.some((difference) => explains(entry, id, difference)))).toBe(true)
})

test('the contract has 85 operations, each with a response, and 18 webhooks that are all there are', () => {
  expect(agreed).toHaveLength(85)
  expect(agreed.filter(({ responses }) => responses.size === 0)).toEqual([])
  expect(webhookTypes).toHaveLength(18)
  expect(Object.keys(WEBHOOKS).sort()).toEqual(webhookTypes)
  expect([...EVENT_TYPES].sort()).toEqual(webhookTypes)
})

describe.each(surfaces)('the $surface interface', ({ surface, operations, document }) => {
  test('its document names the version of the contract', () =>
    expect(document.info['x-contract']).toBe('1.27.0'))

  test('every operation is on its own interface', () => {
    expect(operations.filter((spec) => spec.surface !== surface).map((spec) => spec.id)).toEqual([])
  })

  test('no two operations share an id, or a method and path', () => {
    const ids = operations.map(({ id }) => id)
    const places = operations.map(({ method, path }) => `${method} ${path}`)
    expect(ids).toEqual([...new Set(ids)])
    expect(places).toEqual([...new Set(places)])
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
  const compared = (change: object) => {
    const document = openApiDocument([{ ...made, ...change }], { title: '', version: '', base: '' })
    return differences(parseOperation(line), document)
  }
  const answering = (body: z.ZodType) => compared({ responses: { 201: { description: '', body } } })

  test('finds nothing if the document conforms to the contract and has more', () =>
    expect(compared({})).toEqual([]))

  test('finds a missing operation', () =>
    expect(compared({ method: 'put' })).toEqual(['post /things/{key} is missing']))

  test('finds a different id', () =>
    expect(compared({ id: 'things_create' })).toEqual(['its id is things_create']))

  test('finds parameters that are missing, required or of another type', () => {
    expect(compared({ headers: undefined })).toEqual(['header Idempotency-Key is missing'])
    expect(compared({ query: z.object({ size: z.int(), page: z.string() }) })).toEqual([
      'query size is required',
      'query page is required, and unknown to the contract',
    ])
    expect(compared({ query: z.object({ size: z.boolean().optional() }) })).toEqual([
      'query size is integer, expected boolean',
    ])
  })

  test('finds fields of the body that are missing, required, narrower or not described', () => {
    expect(compared({ body: undefined })).toEqual(['it takes no body'])
    expect(compared({ body: Body.omit({ kind: true }) })).toEqual(['body.kind is unknown'])
    expect(compared({ body: Body.extend({ more: z.string() }) })).toEqual([
      'body.more is required, and may be missing',
    ])
    expect(compared({ body: Body.extend({ kind: z.enum(['a']).optional() }) })).toEqual([
      'body.kind is a|b, expected a',
    ])
    expect(compared({ body: Body.extend({ end: z.string().optional() }) })).toEqual(['body.end may be null'])
    expect(compared({ body: Body.extend({ name: z.unknown() }) })).toEqual(['body.name is not described'])
  })

  test('finds fields of the response that are missing, optional, null, wider or of another format', () => {
    expect(answering(Answer.omit({ tags: true }))).toEqual(['201.tags is required, and may be missing'])
    expect(answering(Answer.omit({ level: true }))).toEqual(['201.level is never sent'])
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
    expect(compared({ responses: { 200: { description: '', body: Answer } } })).toEqual([
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
