/** The script of a page that uses the client. It is bundled, and runs in the browser (browser.ts). */
import { Laurel, LaurelError, type LiveRanking } from '@laurel/client/app'
import { browserStorage, OfflineQueue } from '@laurel/client/offline'

type Access = { url: string; key: string; user: string }

/** A client that calls the page's own `fetch`, which refuses to be a method. */
const clientOf = ({ url, key }: Access) =>
  new Laurel({ url, apiKey: async () => key, tries: 1, fetch: globalThis.fetch })

/** Sends an event, reads, and makes a mistake. */
export async function visit(access: Access) {
  const laurel = clientOf(access)
  const event = { user: { id: access.user }, value: 2, idempotencyKey: 'visit' }
  const first = await laurel.event('demo-lessons', event)
  const again = await laurel.event('demo-lessons', event)
  const board = await laurel.leaderboards.get('demo-all-time', { limit: 2 })
  const stopped = new Laurel({ url: access.url, apiKey: access.key, runtime: { now: () => 0 } })
  const { response } = await stopped.points.get('demo-xp').withResponse()
  const error = await laurel.users.get('somebody-else').catch((one: unknown) => one)
  return {
    totals: [first.total, again.total],
    replayed: again.idempotentReplayed,
    ranked: board.rankings.length,
    knowsTime: stopped.now() === Date.parse(response.headers.get('date') ?? ''),
    error: error instanceof LaurelError && [error.status, error.requestId !== null],
  }
}

/** Watches a leaderboard, and sends an event. Answers the user's score before and after. */
export async function watch(access: Access): Promise<unknown[]> {
  const laurel = clientOf(access)
  const scores: unknown[] = []
  await new Promise<void>((resolve, reject) => {
    const stop = laurel.leaderboards.live('demo-all-time', {
      limit: 100,
      onRanking: ({ rankings }) => {
        scores.push(rankings.find(({ userId }) => userId === access.user)?.value)
        if (scores.length === 1)
          laurel.event('demo-lessons', { user: { id: access.user }, value: 5000 }).catch(reject)
        if (scores.length < 2) return
        stop()
        resolve()
      },
      onError: reject,
    })
  })
  return scores
}

type Person = { laurel: Laurel; queue: OfflineQueue; board: LiveRanking | undefined; ends: string[] }

const people = new Map<string, Person>()

const personOf = (user: string): Person => {
  const person = people.get(user)
  if (person === undefined) throw new Error(`${user} is not here`)
  return person
}

/** Opens the queue of a user, which sends whatever waits. */
export function open(access: Access): void {
  const laurel = clientOf(access)
  const ends: string[] = []
  const queue = new OfflineQueue(laurel, {
    name: `events-${access.user}`,
    onDropped: ({ message }) => ends.push(message),
  })
  people.set(access.user, { laurel, queue, board: undefined, ends })
}

/** Watches the leaderboard as a user who has a queue. */
export function follow(user: string, limit: number): void {
  const person = personOf(user)
  person.laurel.leaderboards.live('demo-all-time', {
    limit,
    onRanking: (ranking) => {
      person.board = ranking
    },
    onError: (error, isOver) => {
      if (isOver) person.ends.push(String(error))
    },
  })
}

/** Stores what the queue of an older version stored, and no request can be made of. */
export async function storeUnsendable(user: string): Promise<void> {
  const storage = browserStorage(`events-${user}`)
  const circle: Record<string, unknown> = {}
  circle.self = circle
  for (const fields of [{ value: 5n }, { attributes: circle }, { user: undefined }]) {
    // Programs without types can pass anything.
    const event = Object.assign(JSON.parse('{}'), { user: { id: user }, value: 1, ...fields })
    await storage.add({ metric: 'demo-lessons', event, queued: 0 })
  }
}

/** Why events were dropped, and the watching has ended. */
export const ends = (user: string): string[] => personOf(user).ends

/** The newest ranking that a user has seen. */
export const rankings = (user: string) => personOf(user).board?.rankings ?? []

/** Queues events with these values. */
export async function send(user: string, values: number[]): Promise<void> {
  for (const value of values)
    await personOf(user).queue.event('demo-lessons', {
      user: { id: user },
      value,
      idempotencyKey: `offline-${value}`,
    })
}

/** The values of the events that wait. */
export async function waiting(user: string): Promise<number[]> {
  const events = await personOf(user).queue.waiting()
  return events.map(({ event }) => event.value)
}
