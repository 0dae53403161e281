/** The script of the page of the soak (soak.test.ts): for each user a client, a queue and a watched board. */
import { Laurel, type LiveRanking } from '../../src/app.js'
import { OfflineQueue } from '../../src/offline.js'

type Person = { laurel: Laurel; queue: OfflineQueue; board: LiveRanking | undefined; ends: string[] }

const people = new Map<string, Person>()

const personOf = (user: string): Person => {
  const person = people.get(user)
  if (person === undefined) throw new Error(`${user} is not here`)
  return person
}

/** Opens the queue of a user, and watches the leaderboard. */
export function open({ user, key, limit }: { user: string; key: string; limit: number }): void {
  const laurel = new Laurel({ url: location.origin, apiKey: async () => key })
  const ends: string[] = []
  const queue = new OfflineQueue(laurel, {
    name: `soak-${user}`,
    onDropped: ({ message }) => ends.push(`dropped: ${message}`),
  })
  const person: Person = { laurel, queue, board: undefined, ends }
  people.set(user, person)
  laurel.leaderboards.live('demo-all-time', {
    limit,
    onRanking: (ranking) => {
      person.board = ranking
    },
    onError: (error, isOver) => {
      if (isOver) ends.push(`over: ${String(error)}`)
    },
  })
}

/** Queues an event whose value tells it from the others. */
export const send = (user: string, value: number): Promise<void> =>
  personOf(user).queue.event('demo-lessons', {
    user: { id: user },
    value,
    idempotencyKey: `${user}-${value}`,
  })

/** How many events wait, what the leaderboard shows, and what must not have happened. */
export async function state(user: string) {
  const { queue, board, ends } = personOf(user)
  return { waiting: (await queue.waiting()).length, rankings: board?.rankings ?? [], ends }
}
