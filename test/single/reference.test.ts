/**
 * The served OpenAPI documents, on a new demo. Each example works when it is sent, as "Try it out" in the
 * viewer does.
 */
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { version } from '../../package.json'
import { IMPLICIT_TENANT_ID } from '../../src/access/tenants.sql'
import { PATIENCE } from '../helpers/patience'
import { ADMIN_KEY, at, call, type Send, toApp } from '../helpers/worker/harness'
import { newDemo } from '../helpers/worker/new-demo'

const PATHS = { '/v1': '/v1/openapi.json', '/admin/v1': '/admin/v1/openapi.json' } as const

/** The id in examples of objects that the demo does not have. */
const SAMPLE_ID = '01900000-0000-7000-8000-000000000000'

/** The parts of an operation that a viewer sends. */
const Operation = z.object({
  operationId: z.string(),
  parameters: z.array(
    z.union([
      z.object({ $ref: z.string() }),
      z.object({
        name: z.string(),
        in: z.enum(['path', 'query', 'header']),
        example: z.unknown().optional(),
      }),
    ]),
  ),
  requestBody: z
    .object({ content: z.object({ 'application/json': z.object({ example: z.unknown() }) }) })
    .optional(),
})
const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) })

/** The example of an operation as a request. */
type Example = { id: string; method: string; path: string; headers: Record<string, string>; body: unknown }

function requestOf(
  base: string,
  path: string,
  method: string,
  operation: z.infer<typeof Operation>,
): Example {
  const named = operation.parameters.flatMap((one) =>
    'name' in one && one.example !== undefined ? [{ ...one, values: [one.example].flat().map(String) }] : [],
  )
  const inPath = named.filter((one) => one.in === 'path')
  const query = new URLSearchParams(
    named
      .filter((one) => one.in === 'query')
      .flatMap(({ name, values }) => values.map((value) => [name, value])),
  )
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path: `${base}${inPath.reduce((whole, { name, values: [value = ''] }) => whole.replace(`{${name}}`, encodeURIComponent(value)), path)}?${query}`,
    headers: Object.fromEntries(
      named.filter((one) => one.in === 'header').map(({ name, values }) => [name, values.join()]),
    ),
    body: operation.requestBody?.content['application/json'].example,
  }
}

/** The examples of both documents as they are served now. */
async function examplesAt(send: Send): Promise<Example[]> {
  const documents = await Promise.all(
    Object.entries(PATHS).map(async ([base, path]) => ({ base, body: (await call(send, 'GET', path)).body })),
  )
  return documents.flatMap(({ base, body }) =>
    Object.entries(Document.parse(body).paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => requestOf(base, path, method, operation)),
    ),
  )
}

/** The response to an example that fails; null if the example works. */
async function failure(send: Send, { id, method, path, headers, body }: Example): Promise<string | null> {
  const answer = await call(send, method, path, { headers: { 'x-api-key': ADMIN_KEY, ...headers }, body })
  const hasFailedItems = Failed.safeParse(answer.body).success && id !== 'admin_tenants_delete'
  return answer.status < 300 && !hasFailedItems
    ? null
    : `${id}: ${answer.status} ${JSON.stringify(answer.body)}`
}

/** A response with an item that could not be done. */
const Failed = z.object({
  issues: z
    .array(z.object({ severity: z.string() }))
    .refine((all) => all.some((one) => one.severity === 'error')),
})

/** The ids of the examples that lack an id of the demo. */
const nameless = async (send: Send) =>
  (await examplesAt(send)).filter((one) => JSON.stringify(one).includes(SAMPLE_ID)).map(({ id }) => id)

/** A service with the demo and no other data. The first delivery of the demo arrives a moment later. */
async function freshDemo(): Promise<Send> {
  const send = await newDemo()
  await expect.poll(() => nameless(send), { timeout: PATIENCE }).toEqual([])
  return send
}

/** These examples need multi-tenancy, and the demo needs it off. */
const isOfTenants = ({ path }: Example) => path.startsWith('/admin/v1/tenants')

describe('the OpenAPI documents', () => {
  it.each(Object.values(PATHS))('%s shows the version of Laurel', async (path) => {
    const { body } = await call(toApp, 'GET', path)
    expect(at(body, 'info')).toMatchObject({ title: expect.stringContaining('Laurel'), version })
  })

  it.each(Object.values(PATHS))('%s has no stored ids if there is no demo', async (path) => {
    const { body } = await call(toApp, 'GET', path)
    const ids = JSON.stringify(body).match(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{22}/g) ?? []
    expect(ids.filter((id) => ![SAMPLE_ID, IMPLICIT_TENANT_ID].includes(id))).toEqual([])
    expect(JSON.stringify(body).includes('"demo:')).toBe(false)
  })
})

describe('the examples of the documents', () => {
  // In both orders, each example is sent before and after each other one. So none of them needs or breaks
  // another.
  it.each([
    ['first to last', (examples: Example[]) => examples],
    ['last to first', (examples: Example[]) => examples.toReversed()],
  ])('work on a new demo, from %s', async (_order, sorted) => {
    const send = await freshDemo()
    const examples = (await examplesAt(send)).filter((one) => !isOfTenants(one))
    expect(examples.length).toBeGreaterThan(100)
    const failures: string[] = []
    for (const example of sorted(examples))
      failures.push(...[await failure(send, example)].filter((one) => one !== null))
    expect(failures).toEqual([])
  })

  it('of tenants work if multi-tenancy is on', async () => {
    await freshDemo()
    const tenants = (await examplesAt(toApp)).filter(isOfTenants)
    expect(tenants).toHaveLength(6)
    // The tenant in this example does not exist, so that no user erases a tenant by trying out an example.
    const harmless = 'admin_tenants_purge'
    for (const example of tenants.filter(({ id }) => id !== harmless))
      expect(await failure(toApp, example)).toBeNull()
    for (const example of tenants.filter(({ id }) => id === harmless))
      expect(await failure(toApp, example)).toContain('404')
  })
})
