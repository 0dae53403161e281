import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { at } from '../helpers/worker/harness'
import type { Hook } from '../helpers/worker/receiver'
import type { Stored, UserRow } from './log'
import type { Story } from './play'
import { LEVELS, type World } from './world'

/** W2, W4, W5, N2, P9: all due messages were sent, under ids that stay the same, or were given up. */

/** Violations, and the number of messages that arrived and of messages that were given up. */
export type Messages = { broken: string[]; delivered: number; dead: number }

type Row = {
  id: string
  event: string
  status: string
  attempts: number
  subject: string | null
  body: string
}

async function messagesOf(name: string): Promise<Row[]> {
  return runInDurableObject(env.DELIVERY_QUEUE.getByName(name), (_, { storage }) => {
    const [table] = storage.sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'messages'").toArray()
    if (table === undefined) return []
    return storage.sql
      .exec<Row>('SELECT id, event, status, attempts, subject, body FROM messages ORDER BY at, seq, id')
      .toArray()
  })
}

const SETTLED = ['delivered', 'dead']

/** Compares the log of every delivery queue with the requests that its destination received. */
export async function messagesSettled(
  world: World,
  { done }: Story,
  stored: Stored,
  tellsAll: boolean,
): Promise<Messages> {
  const result: Messages = { broken: [], delivered: 0, dead: 0 }
  // An erased user is also removed from messages about leaderboards, so a message may become shorter (U8).
  const erased = done.flatMap((one) => (one.do === 'erase' ? [`"userId":"${one.user}"`] : []))
  const hasChanged = (body: string) => erased.some((mention) => body.includes(mention))
  for (const [index, { id, hook }] of world.hooks.entries()) {
    const messages = await messagesOf(`webhook:${id}`)
    result.broken.push(
      ...(await settled(`webhook ${index}`, messages, hook, 'webhook-id', { result, hasChanged })),
    )
    if (index === 0) result.broken.push(...allTold(world, messages, stored, tellsAll))
  }
  for (const channel of ['email', 'push']) {
    const messages = await messagesOf(`${channel}:${world.tenantId}`)
    const header = channel === 'email' ? 'idempotency-key' : null
    result.broken.push(...(await settled(channel, messages, world.mail, header, { result, hasChanged })))
  }
  return result
}

/**
 * No message is pending, each is in the log once, and each delivered message arrived, always with the same
 * body.
 */
async function settled(
  what: string,
  messages: readonly Row[],
  hook: Hook,
  header: string | null,
  { result, hasChanged }: { result: Messages; hasChanged: (body: string) => boolean },
): Promise<string[]> {
  const broken: string[] = []
  const seen = new Map<string, Set<string>>()
  for (const { headers, body } of await hook.seen()) {
    const id = header === null ? '' : (headers[header] ?? '')
    seen.set(id, (seen.get(id) ?? new Set()).add(body))
  }
  const ids = new Set<string>()
  for (const { id, status, event, body } of messages) {
    if (ids.has(id)) broken.push(`${what}: the message ${id} is there twice`)
    ids.add(id)
    if (status === 'delivered') result.delivered += 1
    if (status === 'dead') result.dead += 1
    if (!SETTLED.includes(status) && !status.startsWith('unsent'))
      broken.push(`${what}: the ${event} ${id} is ${status}`)
    if (header === null) continue
    const bodies = [...(seen.get(id) ?? [])]
    if (status === 'delivered' && bodies.length === 0)
      broken.push(`${what}: the ${event} ${id} never arrived`)
    if (bodies.some(hasChanged)) continue
    if (bodies.length > 1) broken.push(`${what}: ${id} arrived with ${bodies.length} different bodies`)
    if (header === 'webhook-id' && bodies[0] !== undefined && bodies[0] !== body)
      broken.push(`${what}: ${id} arrived with another body`)
  }
  return broken
}

/**
 * One message for each completion and for each final run. The added points of all messages are equal to the
 * total.
 */
function allTold(
  world: World,
  messages: readonly Row[],
  { users, awards }: Stored,
  tellsAll: boolean,
): string[] {
  const { ids } = world
  const broken: string[] = []
  const bySubject = Map.groupBy(messages, ({ subject }) => subject ?? '')
  for (const user of users) {
    const { id, iid, achievements, points } = user
    const own = (bySubject.get(iid) ?? []).map((message) => ({ ...message, json: JSON.parse(message.body) }))
    const told = own.flatMap(({ event, json }) =>
      event === 'achievement.completed' ? [String(at(json, 'achievement', 'id'))] : [],
    )
    // Users who had the achievement when it was activated, or whose date had come when it was set, got no message
    // (A4, A7).
    const isLoud = (one: string) => one !== ids.later && one !== ids.year
    const has = achievements.map(([achievement]) => achievement).filter(isLoud)
    const wanted = told.filter(isLoud)
    if (new Set(told).size < told.length) broken.push(`${id}: got two messages about one achievement`)
    if (wanted.toSorted().join() !== has.toSorted().join())
      broken.push(`${id}: got messages about ${wanted.length} achievements, but has ${has.length}`)
    if (!tellsAll) continue
    const levels = own.filter(({ event }) => event === 'points.level_changed')
    broken.push(
      ...climbIs(
        world,
        user,
        levels.map(({ json }) => json),
      ),
    )
    for (const key of ['xp', 'gems']) {
      const changes = own.filter(
        ({ event, json }) => event === 'points.changed' && at(json, 'points', 'key') === key,
      )
      const added = changes.reduce((sum, { json }) => sum + Number(at(json, 'points', 'added')), 0)
      const total = points[ids[key] ?? ''] ?? 0
      if (added !== total) broken.push(`${id}: got messages about ${added} ${key}, but has ${total}`)
      const shown = changes.flatMap(({ json }) => {
        const list: unknown = at(json, 'points', 'awards')
        return Array.isArray(list) ? list.map((award) => String(at(award, 'id'))) : []
      })
      const made = (awards.get(iid) ?? []).filter(({ system_id }) => system_id === ids[key])
      if (
        shown.toSorted().join() !==
        made
          .map((award) => award.id)
          .toSorted()
          .join()
      )
        broken.push(`${id}: got messages about ${shown.length} awards of ${key}, but has ${made.length}`)
    }
  }
  const finals = messages.flatMap(({ event, body }) => {
    const json: unknown = JSON.parse(body)
    return event === 'leaderboard.finished'
      ? [['key', 'start', 'group'].map((name) => JSON.stringify(at(json, 'leaderboard', name))).join(' ')]
      : []
  })
  if (new Set(finals).size !== finals.length)
    broken.push(`two messages say that the same run is final: ${finals.join()}`)
  return broken
}

/**
 * The level messages of a user are one climb from none to the current level, because no trigger takes points
 * of that system away.
 */
function climbIs({ ids }: World, user: UserRow, told: readonly unknown[]): string[] {
  const steps = told
    .filter((body) => at(body, 'points', 'key') === 'xp')
    .map((body) => [at(body, 'previousLevel', 'points') ?? null, at(body, 'newLevel', 'points') ?? null])
    .toSorted(([, one], [, two]) => Number(one) - Number(two))
  const last = steps.reduce<unknown>((level, [from, to]) => (from === level ? to : 'elsewhere'), null)
  const should = LEVELS.findLast((points) => points <= (user.points[ids.xp ?? ''] ?? 0)) ?? null
  return last === should ? [] : [`${user.id}: received levels ${JSON.stringify(steps)}, but is at ${should}`]
}
