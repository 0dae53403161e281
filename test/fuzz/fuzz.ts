/**
 * Sends thousands of requests to a service, several at a time, and checks each response. The requests are
 * made from the service's own documents. No maintained fuzzer runs on Node (Schemathesis needs Python,
 * RESTler needs .NET, CATS needs Java), so this one uses fast-check.
 */
import { type Ask, settle, type World } from '../helpers/walk'
import { Dice } from './dice'
import { operationsOf } from './document'
import { curlOf, judged, type Reached, signatureOf } from './judge'
import { Pool } from './pool'
import { type Scene, type Shot, shotOf } from './requests'

const DAY = 86_400_000
/** The number of requests in a tenant. Then a new tenant begins, in which nothing has been deleted yet. */
const CHAPTER = 1_500
/** The number of requests that are reported for one kind of finding. */
const TOLD = 3

/** Sends one request. Resolves to null if it cannot be sent. Rejects if no response arrives in time. */
export type Send = (request: Pick<Shot, 'method' | 'path' | 'headers' | 'body'>) => Promise<Reached | null>

export type Options = {
  send: Send
  adminKey: string
  hasTenants: boolean
  /** The number of requests, and of clients that send at once. */
  requests: number
  clients: number
  seed: number
  /** The origin in the reported requests. */
  url: string
  /** When the first tenant begins: a noon that is not before the service's time. */
  start: number
  /** Called from time to time with the number of sent requests. */
  progress?: (sent: number) => void
}

export type Finding = { fault: string; times: number; curls: string[]; requestIds: string[] }

/** The result: responses by operation and status, and findings. */
export type Report = {
  sent: number
  responses: Map<string, Map<number, number>>
  findings: Finding[]
  /** The longest wait for a response, in milliseconds, and its operation. */
  slowest: { milliseconds: number; operation: string }
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export async function fuzz(options: Options): Promise<Report> {
  const { send, adminKey, requests, clients, seed, url, start, progress } = options
  const asJson = async (method: string, path: string, headers: Record<string, string>, body: unknown) => {
    const answer = await send({
      method,
      path,
      headers: {
        'x-api-key': adminKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : Buffer.from(JSON.stringify(body)),
    })
    if (answer === null) throw new Error(`${method} ${path} can't be sent`)
    return { ...answer, body: json(answer.text) }
  }
  const document = async (path: string) => (await asJson('GET', path, {}, undefined)).body
  const documents = [await document('/v1/openapi.json'), await document('/admin/v1/openapi.json')]
  const operations = documents.flatMap(operationsOf)
  const report: Report = {
    sent: 0,
    responses: new Map(operations.map(({ id }) => [id, new Map()])),
    findings: [],
    slowest: { milliseconds: 0, operation: '' },
  }

  const found = (fault: string, shot: Shot, requestId: string) => {
    const signature = signatureOf(fault)
    let finding = report.findings.find((one) => signatureOf(one.fault) === signature)
    if (finding === undefined) {
      finding = { fault, times: 0, curls: [], requestIds: [] }
      report.findings.push(finding)
    }
    finding.times += 1
    if (finding.curls.length >= TOLD) return
    finding.curls.push(curlOf(url, shot))
    finding.requestIds.push(requestId)
  }

  /** Creates the scene in a new tenant. Without multi-tenancy there is only one scene. */
  const newScene = async (chapter: number, before: Scene | null): Promise<Scene> => {
    const now = before === null ? start : before.now + DAY / 2
    await asJson('PUT', '/admin/v1/test-clock', {}, { now: new Date(now).toISOString() })
    const pool = new Pool()
    let tenant: string | null = null
    if (options.hasTenants) {
      const body = [{ customerId: `customer-${seed}-${chapter}`, name: `Chapter ${chapter}` }]
      const made = await asJson('POST', '/admin/v1/tenants', {}, body)
      tenant = String(Object(made.body).created?.[0]?.id)
    }
    const ask: Ask = async (method, path, headers, body) => {
      const of: Record<string, string> = tenant === null ? {} : { 'tenant-id': tenant }
      const answer = await asJson(method, path, { ...of, ...headers }, body)
      const operation = operations.find((one) => one.method === method && ownsPath(one.path, path))
      if (operation && answer.status < 300) pool.harvest(operation, answer.body, answer.headers)
      return answer
    }
    const day = (days: number) => new Date(now + days * DAY).toISOString().slice(0, 10)
    const world: World = await settle({ ask, mark: 'fuzz', factor: 3, day })
    for (const id of ['ada', 'bob', 'cleo', 'dora', 'only-fuzz', '__proto__', 'a/b?c#d %', 'grâce'])
      pool.add('users', id)
    return { operations, pool, adminKey, tenant, world, now }
  }

  let scene = await newScene(0, null)
  let next = 0
  let chapter = 0
  let turning: Promise<void> | null = null
  const turn = async () => {
    chapter += 1
    const { tenant } = scene
    scene = await newScene(chapter, scene)
    // Other requests in the old tenant may still be in progress.
    await asJson('DELETE', `/admin/v1/tenants?ids=${tenant}`, {}, undefined)
  }

  const client = async () => {
    while (next < requests) {
      const number = next
      next += 1
      if (options.hasTenants && number > 0 && number % CHAPTER === 0) turning = turn()
      await turning
      const shot = shotOf(scene, number, new Dice(seed * 1_000_003 + number * 2_654_435))
      const began = performance.now()
      try {
        const answer = await send(shot)
        if (answer === null) continue
        take(shot, answer)
      } catch (error) {
        found(`${shot.operation.id}: ${error instanceof Error ? error.message : error}`, shot, '')
      }
      const milliseconds = performance.now() - began
      if (milliseconds > report.slowest.milliseconds)
        report.slowest = { milliseconds, operation: shot.operation.id }
      report.sent += 1
      if (report.sent % 1_000 === 0) progress?.(report.sent)
    }
  }
  const take = (shot: Shot, answer: Reached) => {
    const { operation } = shot
    const counts = report.responses.get(operation.id)
    counts?.set(answer.status, (counts.get(answer.status) ?? 0) + 1)
    for (const fault of judged(shot, answer)) found(fault, shot, answer.headers.get('x-request-id') ?? '')
    const body = json(answer.text)
    if (answer.status >= 300) return
    scene.pool.harvest(operation, body, answer.headers)
    const now = operation.id.startsWith('admin_test_clock') ? Date.parse(Object(body).now) : Number.NaN
    if (!Number.isNaN(now)) scene.now = now
  }
  await Promise.all(Array.from({ length: clients }, client))
  return report
}

const ownsPath = (pattern: string, path: string) =>
  new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] ?? '')

/** Operations that never returned a success. */
export const neverDone = ({ responses }: Report) =>
  [...responses].filter(([, counts]) => ![...counts.keys()].some((status) => status < 300)).map(([id]) => id)

export function told({ sent, responses, findings, slowest }: Report, seed: number): string {
  const statuses = [...new Set([...responses.values()].flatMap((counts) => [...counts.keys()]))].sort(
    (a, b) => a - b,
  )
  const width = Math.max(...[...responses.keys()].map((id) => id.length))
  const row = (name: string, cells: readonly (string | number)[]) =>
    `${name.padEnd(width)} ${cells.map((cell) => String(cell).padStart(6)).join('')}`
  const sums = statuses.map((status) =>
    [...responses.values()].reduce((sum, counts) => sum + (counts.get(status) ?? 0), 0),
  )
  const lines = [row('operation', statuses)]
  for (const [id, counts] of responses)
    lines.push(
      row(
        id,
        statuses.map((status) => counts.get(status) ?? '·'),
      ),
    )
  lines.push(
    row('all', sums),
    '',
    `${sent} requests, seed ${seed}; the slowest response: ${Math.round(slowest.milliseconds)} ms (${slowest.operation}).`,
  )
  for (const { fault, times, curls, requestIds } of findings)
    lines.push('', `${times} × ${fault}`, ...curls.map((curl, n) => `  ${requestIds[n] ?? ''}\n  ${curl}`))
  lines.push('', findings.length === 0 ? 'No findings.' : `${findings.length} kinds of findings.`)
  return lines.join('\n')
}
