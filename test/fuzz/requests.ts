/**
 * Makes one request after another, for all operations: as the documents describe, as the walk makes them, and
 * with injected mistakes.
 */
import type { Call, World } from '../helpers/walk'
import { calls } from '../helpers/walk'
import type { Dice } from './dice'
import type { Operation } from './document'
import type { Pool } from './pool'
import { NOWHERE, type Source, valid } from './values'
import { spoilt, spoiltText, weirdHeader, weirdPart, weirdQuery } from './weird'

const HOUR = 3_600_000
/** The longest move of the clock at once. After longer moves, the run would wait for too much due work. */
const MOVE = 6 * HOUR

/** A request as it is sent. The path has its query and is encoded. */
export type Shot = {
  operation: Operation
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer | null
}

/** The surroundings of the requests. */
export type Scene = {
  operations: readonly Operation[]
  pool: Pool
  adminKey: string
  /** The current tenant, as `Tenant-ID` names it. Null if multi-tenancy is off. */
  tenant: string | null
  /** The things that the walk created in this tenant. */
  world: World
  /** The service's time, in milliseconds since the epoch. */
  now: number
}

const RARE = new Set([
  'admin_test_clock_reset',
  'admin_tenants_delete',
  'admin_users_delete',
  'admin_test_clock_set',
])
const OFTEN = ['metrics_event', 'admin_metrics_batch_events', 'users_identify', 'achievements_complete']

/** The next operation: usually in turn, some more often, and operations that remove things less often. */
function operationOf({ operations }: Scene, number: number, dice: Dice): Operation {
  const inTurn = operations[number % operations.length]
  if (dice.chance(0.1)) {
    const id = dice.pick(OFTEN)
    return operations.find((one) => one.id === id) ?? dice.pick(operations)
  }
  for (let one = inTurn ?? dice.pick(operations); ; one = dice.pick(operations)) {
    // Without this, little is left after some hundred requests.
    const isAgainst = RARE.has(one.id) ? 0.8 : one.id.endsWith('_delete') ? 0.6 : 0
    if (!dice.chance(isAgainst)) return one
  }
}

export function shotOf(scene: Scene, number: number, dice: Dice): Shot {
  const operation = operationOf(scene, number, dice)
  const source: Source = { ...operation, pool: scene.pool, dice, now: scene.now }
  const call = callOf(operation, scene, source)
  // The current tenant must stay until its turn ends.
  if (operation.id === 'admin_tenants_delete' && JSON.stringify(call).includes(scene.tenant ?? 'none'))
    call.query = { ids: '00000000-0000-7000-8000-000000000001' }
  // Half of the requests get one or more mistakes.
  const faults = dice.chance(0.5) ? 1 + dice.below(3) : 0
  let { body } = call
  let ways = 0
  for (let n = 0; n < faults; n += 1) {
    if (body !== undefined && dice.chance(0.65)) body = spoilt(body, dice)
    else ways += 1
  }
  const headers: Record<string, string> = { ...identity(operation, scene, dice), ...call.headers }
  let text: Buffer | null = null
  if (body !== undefined) {
    headers['content-type'] = 'application/json'
    const json = JSON.stringify(harmless(operation, body, scene)) ?? 'null'
    const isSpoilt = ways > 0 && operation.id !== 'admin_test_clock_set' && dice.chance(0.4)
    text = isSpoilt ? spoiltText(json, dice) : Buffer.from(json)
  }
  const inPath = ways > 0 && dice.chance(0.3)
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    inPath && dice.chance(0.6)
      ? weirdPart(dice)
      : encodeURIComponent((call.params?.[name] ?? 'x').toWellFormed()),
  )
  const names = operation.parameters.filter((one) => one.in === 'query').map(({ name }) => name)
  const pieces = Object.entries(call.query ?? {}).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}=${encodeURIComponent(one.toWellFormed())}`),
  )
  if (ways > 0 && dice.chance(0.3)) pieces.push(weirdQuery(names, dice))
  for (; ways > 0; ways -= 1) {
    if (!dice.chance(0.4)) continue
    const [name, value] = weirdHeader(dice)
    headers[name] = value
  }
  const given = Object.keys(headers)
  if (given.length > 0 && dice.chance(0.02)) delete headers[dice.pick(given)]
  const method = dice.chance(0.01)
    ? dice.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    : operation.method
  if (method === 'GET') text = null
  return {
    operation,
    method,
    path: path + (pieces.length > 0 ? `?${pieces.join('&')}` : ''),
    headers,
    body: text,
  }
}

/**
 * The headers that identify the caller: mostly an admin in the scene's tenant, sometimes an application,
 * sometimes nobody.
 */
function identity({ ofTenant, isAdmin }: Operation, scene: Scene, dice: Dice): Record<string, string> {
  const { pool, adminKey, tenant } = scene
  const tenantId: Record<string, string> =
    tenant !== null && (ofTenant || dice.chance(0.02)) ? { 'tenant-id': tenant } : {}
  const roll = dice.roll()
  if (roll < 0.01) return tenantId
  if (roll < 0.02)
    return {
      ...tenantId,
      'x-api-key': dice.pick(['', 'x', '.', 'adm_x.', 'app_.x', `${adminKey}x`, adminKey.slice(0, -1)]),
    }
  if (roll < 0.03 && tenant !== null) {
    const other = pool.key(dice, 'tenants') ?? pool.id(dice, 'tenants') ?? 'nobody'
    return { 'x-api-key': adminKey, 'tenant-id': encodeURIComponent(other) }
  }
  if (pool.applicationKeys.length > 0 && dice.chance(isAdmin ? 0.01 : 0.15))
    return { ...(dice.chance(0.3) && tenantId), 'x-api-key': dice.pick(pool.applicationKeys) }
  return { ...tenantId, 'x-api-key': adminKey }
}

/** The input of an operation: as the walk calls it, or as the document describes it. */
function callOf(operation: Operation, scene: Scene, source: Source): Call {
  const { dice } = source
  const known = calls.get(operation.id)
  if (known !== undefined && dice.chance(0.35)) return dice.pick([known(scene.world)].flat())
  const call: Call = {}
  for (const { name, in: place, required, schema } of operation.parameters) {
    if (!required && dice.chance(0.6)) continue
    if (place === 'path') {
      const found = dice.chance(0.92) ? source.pool.parameter(dice, operation.path, name) : undefined
      call.params = { ...call.params, [name]: found ?? asText(valid(schema, name, source)) }
    } else {
      const value = valid(schema, name, source)
      const texts = Array.isArray(value) ? value.map(asText) : asText(value)
      if (place === 'query') call.query = { ...call.query, [name]: texts }
      // Characters that a header cannot hold are tried in the body's fields.
      else
        call.headers = { ...call.headers, [name.toLowerCase()]: String(texts).replace(/[^\x20-\xff]/g, '?') }
    }
  }
  if (operation.body) call.body = valid(operation.body, '', source)
  return call
}

const asText = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/**
 * The same body, but its webhooks call only this machine, and it does not move the clock by more than the run
 * allows.
 */
function harmless({ id }: Operation, body: unknown, { now }: Scene): unknown {
  if (id.startsWith('admin_webhooks'))
    return JSON.parse(JSON.stringify(body), (_, inner) =>
      typeof inner === 'string' && leadsOut(inner) ? `${NOWHERE}/instead` : inner,
    )
  if (id === 'admin_test_clock_set' && typeof Object(body ?? {}).advance === 'string')
    return { ...Object(body), advance: `PT${1 + (now % 59)}M` }
  const to = id === 'admin_test_clock_set' ? Date.parse(String(Object(body ?? {}).now)) : Number.NaN
  if (Number.isNaN(to) || to <= now + MOVE || to > now + 402 * 24 * HOUR) return body
  return { ...Object(body), now: new Date(now + (to % MOVE)).toISOString() }
}

function leadsOut(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return /^https?:$/.test(protocol) && !/^(127\.|localhost$|\[::1\]$)/.test(hostname)
}
