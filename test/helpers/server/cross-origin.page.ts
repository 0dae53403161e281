/**
 * A page of another origin that uses the npm client. It is bundled, and runs in the browser
 * (cross-origin.ts).
 */
import { TrophyApiClient, TrophyApiError } from '@trophyso/node'

/**
 * Sends an event of the key's own user, reads the user, and makes mistakes. `apis` are base URLs of the
 * application interface.
 */
export async function visit({ apis, key, userId }: { apis: string[]; key: string; userId: string }) {
  const visits = apis.map(async (api) => {
    const client = new TrophyApiClient({ apiKey: key, environment: { api, admin: api } })
    const request = { user: { id: userId }, value: 2, idempotencyKey: api }
    const first = await client.metrics.event('demo-lessons', request)
    const again = await client.metrics.event('demo-lessons', request)
    const user = await client.users.get(userId)
    return {
      replayed: [first.idempotentReplayed, again.idempotentReplayed],
      isSameEvent: first.eventId === again.eventId,
      userId: user.id,
      errors: [
        await apiErrorOf(client.users.identify(userId, { tz: 'nowhere' })),
        await apiErrorOf(client.users.get('somebody-else')),
        await apiErrorOf(client.metrics.event('no-such-metric', request)),
      ],
      hasRequestId: (await fetch(`${api}/achievements`)).headers.has('x-request-id'),
    }
  })
  return Promise.all(visits)
}

/** The status of an error, and the message in its body. */
async function apiErrorOf(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof TrophyApiError)) throw error
    return [error.statusCode, Object(error.body).error]
  }
}
