import { importPKCS8, SignJWT } from 'jose'
import * as z from 'zod'
import { HOUR, MINUTE, SECOND } from '../../../lib/clock'
import { type AccessTokenCache, inSeconds, seconds, tokenFor } from './access-tokens'
import { ask, described, type Push, type PushPort, type PushResult, type Reply, type Silence } from './push'

export type FcmSettings = {
  url: string
  /** The service account's JSON, as Google provides it. */
  account: string
  patience?: number
}

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
/** How long before its end a token is no longer used, in seconds. */
const MARGIN = 60
/** The wait that Google asks for after 429 if the response has no `Retry-After`, in milliseconds. */
const QUOTA_WAIT = MINUTE

const Account = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(
    z.object({
      client_email: z.string(),
      private_key: z.string(),
      project_id: z.string(),
      token_uri: z.url().default('https://oauth2.googleapis.com/token'),
    }),
  )
type Account = z.infer<typeof Account>

const Granted = z.object({ access_token: z.string(), expires_in: z.number() })
const ProviderError = z.object({
  error: z.object({
    status: z.string().default(''),
    message: z.string().default(''),
    details: z.array(z.looseObject({ errorCode: z.string().optional() })).default([]),
  }),
})

/** Why there is no access token, in Laurel's own text: other texts could quote the key. */
class NoAccessToken extends Error {
  constructor(
    message: string,
    readonly status: number | null = null,
    readonly retryAfter?: number,
  ) {
    super(message)
  }
}

/** Sends by Firebase's HTTP v1 API. An access token is used until one minute before its end. */
export function fcmPush(
  { url, account: text, patience }: FcmSettings,
  accessTokens: AccessTokenCache,
): PushPort {
  async function granted(account: Account) {
    const assertion = await assertionOf(account)
    const reply = await ask(
      account.token_uri,
      {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ grant_type: GRANT, assertion }).toString(),
      },
      patience,
    )
    if ('error' in reply) throw new NoAccessToken(`no access token: ${reply.error}`)
    const { status, retryAfter } = reply
    const { data } = Granted.safeParse(reply.json)
    if (status !== 200 || data === undefined) {
      throw new NoAccessToken(`no access token: answered ${status}`, status, retryAfter)
    }
    return { token: data.access_token, until: inSeconds(data.expires_in - MARGIN) }
  }

  const post = ({ project_id }: Account, push: Push, device: string, token: string) =>
    ask(
      `${url}/v1/projects/${encodeURIComponent(project_id)}/messages:send`,
      {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ message: messageOf(push, device) }),
      },
      patience,
    )

  return {
    async send(push, tokens) {
      const account = accountIn(text)
      if (account === null) {
        const error = "FCM_SERVICE_ACCOUNT is not a service account's JSON"
        return tokens.map(() => ({ kind: 'failed', status: null, error }))
      }
      const name = `fcm ${account.token_uri} ${account.client_email}`
      const { current, another } = tokenFor(accessTokens, name, () => granted(account))
      return Promise.all(
        tokens.map(async (device): Promise<PushResult> => {
          try {
            const token = await current()
            const reply = await post(account, push, device, token)
            const isRefused = 'status' in reply && reply.status === 401
            return resultOf(isRefused ? await post(account, push, device, await another(token)) : reply)
          } catch (error) {
            if (!(error instanceof NoAccessToken)) throw error
            const { status, message, retryAfter } = error
            return { kind: 'failed', status, error: message, ...(retryAfter !== undefined && { retryAfter }) }
          }
        }),
      )
    },
  }
}

/** A message for one device. A repeated message replaces the first one on the device. */
const messageOf = ({ id, title, body }: Push, token: string) => ({
  token,
  notification: { title, body },
  android: { notification: { tag: id } },
  apns: { headers: { 'apns-collapse-id': id } },
})

function accountIn(text: string): Account | null {
  try {
    return Account.parse(text)
  } catch {
    return null
  }
}

async function assertionOf({ client_email, private_key, token_uri }: Account): Promise<string> {
  try {
    const key = await importPKCS8(private_key, 'RS256')
    return await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(client_email)
      .setAudience(token_uri)
      .setIssuedAt(seconds())
      .setExpirationTime(seconds(HOUR / SECOND))
      .sign(key)
  } catch {
    throw new NoAccessToken('the private_key in FCM_SERVICE_ACCOUNT is not a private key')
  }
}

function resultOf(reply: Reply | Silence): PushResult {
  if ('error' in reply) return { kind: 'failed', status: null, ...reply }
  const { status, json, retryAfter } = reply
  if (status === 200) return { kind: 'taken', status }
  const fault = ProviderError.safeParse(json).data?.error
  const code =
    fault?.details.find(({ errorCode }) => errorCode !== undefined)?.errorCode ?? fault?.status ?? ''
  const error = code === '' ? described(status, fault) : code.slice(0, 100)
  // Firebase documents: an INVALID_ARGUMENT error that mentions the registration token is about that token.
  const isNoToken = code === 'INVALID_ARGUMENT' && /registration token/i.test(fault?.message ?? '')
  if (code === 'UNREGISTERED' || (status === 404 && fault?.status === 'NOT_FOUND') || isNoToken) {
    return { kind: 'gone', status, error }
  }
  const isFinal = status >= 400 && status < 500 && ![401, 408, 429].includes(status)
  if (isFinal) return { kind: 'refused', status, error }
  const wait = retryAfter ?? (status === 429 ? QUOTA_WAIT : undefined)
  return { kind: 'failed', status, error, ...(wait !== undefined && { retryAfter: wait }) }
}
