import { errors, RETRY_AFTER } from '../lib/errors'
import { networkOf } from '../lib/net/addresses'
import type { Context } from '../platform/context'
import { logProblem } from '../platform/log'
import type { Bearer } from './bearer.service'

/**
 * Counts a request against a limit: the limit of its key, or of the user of its token. If the key is unknown,
 * it is the limit of its IPv4 address or IPv6 network (/64). Throws 429 if the limit is reached. Cloudflare
 * counts separately at each of its locations. If a limiter fails, the request continues.
 */
export async function limit(
  { env, variables }: Context,
  bearer: Pick<Bearer, 'access' | 'limitKey'> | null,
  headers: Headers,
): Promise<void> {
  if (variables.RATE_LIMITS === 'off') return
  const [limiter, key] =
    bearer === null
      ? [env.ADDRESS_LIMIT, networkOf(headers.get('cf-connecting-ip') ?? '')]
      : [bearer.access.kind === 'admin' ? env.ADMIN_LIMIT : env.APPLICATION_LIMIT, bearer.limitKey]
  if (!(await isWithin(limiter, key))) throw errors.tooMany(RETRY_AFTER.rateLimit)
}

/**
 * Counts a test message to a user against a limit of the tenant: as many as requests of one address (N4).
 * Throws 429 if the limit is reached.
 */
export async function limitTestMessages({ env, variables }: Context, tenantId: string): Promise<void> {
  if (variables.RATE_LIMITS === 'off') return
  const isAllowed = await isWithin(env.ADDRESS_LIMIT, `test messages of ${tenantId}`)
  if (!isAllowed) throw errors.tooMany(RETRY_AFTER.rateLimit)
}

async function isWithin(limiter: RateLimit, key: string): Promise<boolean> {
  try {
    return (await limiter.limit({ key })).success
  } catch (error) {
    logProblem('warn', { error: `the request was not counted: ${String(error)}` })
    return true
  }
}
