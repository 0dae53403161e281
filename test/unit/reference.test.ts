/**
 * The OpenAPI documents tell a newcomer everything: the effect of each operation, its input, the meaning of
 * each field. If you add an operation or a field, these tests name the missing texts. Add them to a chapter
 * in a `.reference.ts` file.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { OpenApiDocument, OperationObject } from '../../src/api/openapi'
import { admin, application, CHAPTERS } from '../../src/worker/openapi'
import { adminOperations } from '../../src/worker/operations'
import { resolved } from '../contract/shape'

type Json = Record<string, unknown>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A hint in failure messages. */
const WHERE = 'add the missing text to a chapter in a .reference.ts file'

/** True if a value is a useful sentence. */
const isSentence = (text: unknown) => typeof text === 'string' && /^\S.*[.)]$/s.test(text)

function operationsOf(document: OpenApiDocument): OperationObject[] {
  return Object.values(document.paths).flatMap((item) => Object.values(item))
}

/** Every field below a part of the document, by its place. */
function fieldsIn(part: unknown, place: string): [place: string, field: unknown][] {
  if (Array.isArray(part)) return part.flatMap((one) => fieldsIn(one, place))
  if (!isObject(part)) return []
  return Object.entries(part).flatMap(([key, value]) => {
    // Examples contain values, not fields.
    if (key === 'example') return []
    // Beside properties, alternatives only say which of them are needed.
    if ('properties' in part && (key === 'anyOf' || key === 'oneOf')) return []
    if (key !== 'properties' || !isObject(value)) return fieldsIn(value, `${place} ${key}`)
    return Object.entries(value).flatMap(([name, field]): [string, unknown][] => [
      [`${place}.${name}`, field],
      ...fieldsIn(field, `${place}.${name}`),
    ])
  })
}

/** Whether an item has the fields that a schema needs. Their types are not looked at. */
function fits(schema: unknown, value: unknown): boolean {
  const { required = [], properties = {}, anyOf, oneOf, allOf = [], not, const: only } = Object(schema)
  const all: unknown[] = allOf
  const isThere = (name: string) => isObject(value) && value[name] !== undefined
  return (
    (only === undefined || only === value) &&
    (not?.type !== 'null' || value !== null) &&
    required.every(isThere) &&
    Object.entries(properties).every(([name, one]) => !isThere(name) || fits(one, Object(value)[name])) &&
    all.every((one) => fits(one, value)) &&
    (!isObject(value) || anyOf === undefined || anyOf.some((one: unknown) => fits(one, value))) &&
    (oneOf === undefined || oneOf.filter((one: unknown) => fits(one, value)).length === 1)
  )
}

describe.each([
  ['application', application.document],
  ['admin', admin.document],
])('the document of the %s interface', (_name, document) => {
  const operations = operationsOf(document)

  test('has operations', () => expect(operations.length).toBeGreaterThan(20))

  test('describes the effect of each operation', () => {
    const silent = operations.filter(
      ({ summary, description }) => summary === '' || summary.endsWith('.') || !isSentence(description),
    )
    expect(
      silent.map(({ operationId }) => operationId),
      WHERE,
    ).toEqual([])
  })

  test('has an example for each operation: a value for each required parameter, and a body', () => {
    const noted = new Map(CHAPTERS.flatMap(({ operations: notes = {} }) => Object.entries(notes)))
    const lacking = operations.flatMap(({ operationId, parameters, requestBody }) => [
      ...(noted.has(operationId) ? [] : [operationId]),
      ...parameters.flatMap((parameter) =>
        'name' in parameter && parameter.required && parameter.example === undefined
          ? [`${operationId} ${parameter.name}`]
          : [],
      ),
      ...(requestBody !== undefined && requestBody.content['application/json'].example === undefined
        ? [`${operationId} body`]
        : []),
    ])
    expect(lacking, WHERE).toEqual([])
  })

  test('describes each parameter and each header', () => {
    const silent = operations.flatMap(({ operationId, parameters, responses }) => {
      const headers = Object.values(responses).flatMap((answer) => Object.entries(answer.headers ?? {}))
      return [
        ...parameters.flatMap((one) =>
          'name' in one && !isSentence(one.description) ? [`${operationId} ${one.name}`] : [],
        ),
        ...headers.flatMap(([name, header]) =>
          isObject(header) && ('$ref' in header || isSentence(header.description))
            ? []
            : [`${operationId} ${name}`],
        ),
      ]
    })
    expect(silent, WHERE).toEqual([])
    const { parameters: shared, headers } = document.components
    for (const parameter of [...Object.values(shared), ...Object.values(headers)]) {
      expect(parameter).toMatchObject({ description: expect.stringMatching(/\.$/) })
    }
  })

  test('describes each field of requests, responses and webhooks', () => {
    const { paths, webhooks, components } = document
    const fields = [
      ...fieldsIn(components.schemas, ''),
      ...operationsOf({ ...document, paths }).flatMap((one) => fieldsIn(one, one.operationId)),
      ...fieldsIn(webhooks, 'webhook'),
    ]
    expect(fields.length).toBeGreaterThan(400)
    const silent = fields.filter(([, field]) => !isObject(field) || !isSentence(field.description))
    expect(
      silent.map(([place]) => place),
      WHERE,
    ).toEqual([])
  })

  test('says when each webhook is sent', () => {
    const silent = Object.entries(document.webhooks ?? {}).filter(
      ([, { post }]) => post.summary === undefined || !isSentence(post.description),
    )
    expect(
      silent.map(([type]) => type),
      WHERE,
    ).toEqual([])
  })
})

test('the chapters have no texts for things that do not exist', () => {
  const used = new Set([...application.used, ...admin.used])
  const isUsed = (of: readonly (string | RegExp)[], path: string) =>
    [...used].some((note) =>
      of.some((one) => {
        const name = note.slice(0, note.length - path.length - 1)
        return note.endsWith(`.${path}`) && (typeof one === 'string' ? one === name : one.test(name))
      }),
    )
  const idle = CHAPTERS.flatMap(({ operations = {}, webhooks = {}, fields = [] }) => [
    ...Object.keys(operations).filter((id) => !used.has(id)),
    ...Object.keys(webhooks).filter((type) => !used.has(`webhook ${type}`)),
    ...fields.flatMap(({ of, fields: notes }) =>
      Object.keys(notes).flatMap((path) => (isUsed(of, path) ? [] : [`${String(of[0])}.${path}`])),
    ),
  ])
  expect(idle).toEqual([])
})

/** The texts, and the modules that make the documents of them. */
const TEXTS = /\.reference\.ts$|^api\/reference\/|^worker\/(chapters|openapi)\.ts$|^api\/openapi\.ts$/

test('the Worker does not contain these texts: only the scripts that make the documents import them', () => {
  const source = join(import.meta.dirname, '..', '..', 'src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !TEXTS.test(name),
  )
  const importing = files.filter((name) =>
    /from '[./\w-]*(reference\/[\w-]+|\.reference|api\/openapi|\/chapters|worker\/openapi)'/.test(
      readFileSync(join(source, name), 'utf8'),
    ),
  )
  expect(importing).toEqual([])
})

describe('what validators and generators of requests need', () => {
  const documents = [application.document, admin.document]
  const everyOperation = documents.flatMap(operationsOf)
  const parameters = everyOperation.flatMap(({ operationId, parameters: all }) =>
    all.flatMap((one) =>
      'name' in one && isObject(one.schema) ? [{ ...one, operationId, schema: one.schema }] : [],
    ),
  )

  test('an example of a parameter has the type of its schema', () => {
    const typeOf = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value)
    const wrong = parameters.filter(({ example, schema: { type } }) => {
      const wanted = type === 'integer' ? 'number' : type
      return example !== undefined && wanted !== undefined && typeOf(example) !== wanted
    })
    expect(wrong.map(({ operationId, name }) => `${operationId} ${name}`)).toEqual([])
  })

  test('every pattern means the same with and without the flag u', () => {
    const found = [...JSON.stringify(documents).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)]
    const patterns = new Set(found.map(([, text = '""']) => String(JSON.parse(text))))
    expect(patterns.size).toBeGreaterThan(1)
    for (const pattern of patterns) expect(pattern).not.toMatch(/\\[pPu]/)
  })

  test('[O5, G2] every operation has the 405 with Allow, and every response X-Request-Id', () => {
    for (const { operationId, responses } of everyOperation) {
      expect([operationId, responses[405]]).toMatchObject([operationId, { headers: { Allow: {} } }])
      const without = Object.entries(responses).filter(
        ([, { headers }]) => headers?.['X-Request-Id'] === undefined,
      )
      expect([operationId, without]).toEqual([operationId, []])
    }
  })

  test('[Y2] the stream has the ticket as a second way of signing in, and no other operation', () => {
    const others = everyOperation.filter(({ security }) => security !== undefined)
    expect(others).toMatchObject([
      { operationId: 'leaderboards_live', security: [{ apiKey: [] }, { ticket: [] }] },
    ])
    const { ticket } = application.document.components.securitySchemes
    expect(ticket).toMatchObject({ type: 'apiKey', in: 'query', name: 'ticket' })
  })

  const ID = '00000000-0000-7000-8000-000000000000'
  test.each([
    ['admin_metrics_update', { name: 'x' }, { id: ID, key: 'k' }],
    [
      'admin_points_triggers_create',
      { type: ['metric', 'achievement', 'streak', 'time', 'user_creation'], points: 1 },
      {
        ...{ metricId: ID, metricKey: 'k', metricThreshold: 1, achievementId: ID, achievementKey: 'k' },
        ...{ streakLength: 1, timeUnit: 'days', timeInterval: 1 },
      },
    ],
    [
      'admin_notification_templates_create',
      { type: 'recap', channel: ['email', 'push'], body: 'x' },
      { subject: 'x', title: 'x' },
    ],
  ])(
    '[O1, P2, N3] %s: the document says which fields an item needs, as the service does',
    (id, base, more) => {
      const spec = adminOperations.find((one) => one.id === id)
      const asked = operationsOf(admin.document).find(({ operationId }) => operationId === id)
      const { items } = Object(
        resolved(asked?.requestBody?.content['application/json'].schema, admin.document),
      )
      const document = resolved(items, admin.document)
      const outcomes = new Set<boolean>()
      let candidates: Json[] = [{}]
      const by = (name: string, values: readonly unknown[]) => {
        candidates = candidates.flatMap((one) =>
          values.map((value) => (value === undefined ? one : { ...one, [name]: value })),
        )
      }
      for (const [name, value] of Object.entries(base)) by(name, [value].flat())
      for (const [name, value] of Object.entries(more)) by(name, [undefined, null, value])
      for (const item of candidates) {
        const isTaken = spec?.body?.safeParse([item]).success ?? null
        expect([item, fits(document, item)]).toEqual([item, isTaken])
        outcomes.add(isTaken === true)
      }
      expect(outcomes.size).toBe(2)
    },
  )

  test('[G6, G7, U8] lengths of texts, and lists that may repeat an id', () => {
    const search = parameters.find(
      ({ operationId, name }) => operationId === 'admin_users_list' && name === 'search',
    )
    expect(search?.schema).toMatchObject({ minLength: 1, maxLength: 255 })
    const ids = parameters.filter(({ name }) => name === 'ids' || name === 'keys')
    expect(ids.filter(({ schema }) => 'maxItems' in schema)).toEqual([])
    const pairs = parameters.filter(({ name }) => name === 'userAttributes')
    expect(pairs.length).toBeGreaterThan(5)
    const pattern = '^[a-zA-Z0-9_-]+:'
    const repeated = { type: ['string', 'array'], pattern, items: { type: 'string', pattern } }
    for (const { schema } of pairs) expect(schema).toEqual(repeated)
    const text = JSON.stringify(documents)
    expect(text).toContain('"url":{"type":"string","maxLength":2048,"pattern":"^[hH]')
  })

  test('[U7, P3, P5, V1, N3] values that are refused though their type is right', () => {
    const schemas = (name: string) =>
      documents.map(({ components }) => Object(components.schemas)[name]).find((one) => one !== undefined)
    const field = (name: string, of: string) => Object(schemas(name)).properties?.[of]
    const preferences = JSON.stringify(schemas('UpdateUserPreferencesRequest'))
    expect(preferences).toContain('"additionalProperties":false')
    expect(field('CreatePointsAdjustmentRequestItem', 'amount')).toMatchObject({ not: { const: 0 } })
    const text = JSON.stringify(documents)
    expect(text).toContain('"not":{"const":1}')
    expect(text).toContain('"threshold":{"type":"number","minimum":0.000001,"maximum":1000000000')
    expect(field('CreateTemplateRequestItem', 'body')).toMatchObject({ minLength: 1, maxLength: 65_536 })
  })
})
