import { importPKCS8, SignJWT } from 'jose'
import { v5 } from 'uuid'
import * as z from 'zod'
import { BoundedMap } from '../../../lib/bounded'
import { HOUR, type Instant, instant, MINUTE, SECOND } from '../../../lib/clock'
import { systemNow } from '../../../lib/system-clock'
import { perInstance } from '../../../platform/context'
import { ask, described, type Push, type PushPort, type PushResult, type Reply, type Silence } from './push'

/** A provider's access token, and when it expires. */
type AccessToken = { token: string; until: Instant }

/**
 * Access tokens by provider and account, at most 20. Only finished tokens are stored, no promises: a Worker
 * can't wait in one request for work of another request.
 */
export class AccessTokenCache extends BoundedMap<string, AccessToken> {
  constructor() {
    super(20)
  }

  /**
   * The access token of this name. Calls `make` if there is none, if it has expired, or if it is the refused
   * one. Throws the errors of `make`.
   */
  async tokenOf(name: string, make: () => Promise<AccessToken>, refused?: string): Promise<string> {
    const known = this.get(name)
    if (known !== undefined && known.until > systemNow() && known.token !== refused) return known.token
    const made = await make()
    this.set(name, made)
    return made.token
  }
}

/**
 * Gets one access token for several messages, and another one if the provider refuses it. Makes each only
 * once, because providers limit how many are made.
 */
function tokenFor(accessTokens: AccessTokenCache, name: string, make: () => Promise<AccessToken>) {
  let first: Promise<string> | undefined
  let second: Promise<string> | undefined
  return {
    current: () => {
      first ??= accessTokens.tokenOf(name, make)
      return first
    },
    another: (refused: string) => {
      second ??= accessTokens.tokenOf(name, make, refused)
      return second
    },
  }
}

/** Real time in seconds since 1970, the unit of JWTs, plus `later` seconds. */
const seconds = (later = 0): number => Math.floor(systemNow() / SECOND) + later

/** The moment `count` seconds from now. */
const inSeconds = (count: number): Instant => instant(systemNow() + Math.floor(count) * SECOND)

export const accessTokensOf = perInstance(() => new AccessTokenCache())

type ApnsSettings = {
  url: string
  /** The text of the .p8 file. */
  key: string
  keyId: string
  teamId: string
  topic: string
  patience?: number
}

/** Apple accepts a token for one hour, and allows a new one at most every 20 minutes. */
const TOKEN_SECONDS = (50 * MINUTE) / SECOND
const GONE = ['BadDeviceToken', 'Unregistered', 'ExpiredToken']
const EXPIRED = 'ExpiredProviderToken'

const Refused = z.object({ reason: z.string().max(100) })

/** Sends by Apple's push service. A token is used for 50 minutes. */
export function apnsPush(settings: ApnsSettings, accessTokens: AccessTokenCache): PushPort {
  const { url, key, keyId, teamId, topic, patience } = settings
  const name = `apns ${url} ${teamId} ${keyId}`

  const sign = async () => {
    const signer = await importPKCS8(key.replaceAll('\\n', '\n'), 'ES256')
    const jwt = new SignJWT().setProtectedHeader({ alg: 'ES256', kid: keyId })
    const token = await jwt.setIssuer(teamId).setIssuedAt(seconds()).sign(signer)
    return { token, until: inSeconds(TOKEN_SECONDS) }
  }

  const post = ({ id, title, body }: Push, device: string, token: string) => {
    const headers = {
      authorization: `bearer ${token}`,
      'content-type': 'application/json',
      'apns-topic': topic,
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-id': v5(device, id),
      // A repeated message replaces the first one on the device.
      'apns-collapse-id': id,
    }
    const payload = { aps: { alert: { title, body }, sound: 'default' } }
    return ask(`${url}/3/device/${device}`, { headers, body: JSON.stringify(payload) }, patience)
  }

  return {
    send(push, tokens) {
      const { current, another } = tokenFor(accessTokens, name, sign)
      return Promise.all(
        tokens.map(async (device): Promise<PushResult> => {
          try {
            const token = await current()
            const reply = await post(push, device, token)
            const isExpired = 'status' in reply && reasonOf(reply) === EXPIRED
            return apnsResult(isExpired ? await post(push, device, await another(token)) : reply)
          } catch {
            // The message of an error from jose could quote the key.
            return { kind: 'failed', status: null, error: 'APNS_KEY is not the text of a .p8 key' }
          }
        }),
      )
    },
  }
}

const reasonOf = ({ json }: Reply): string => Refused.safeParse(json).data?.reason ?? ''

function apnsResult(reply: Reply | Silence): PushResult {
  if ('error' in reply) return { kind: 'failed', status: null, ...reply }
  const { status, retryAfter } = reply
  if (status === 200) return { kind: 'taken', status }
  const reason = reasonOf(reply)
  const error = reason === '' ? `answered ${status}` : reason
  if (status === 410 || (status === 400 && GONE.includes(reason))) return { kind: 'gone', status, error }
  // 403 is about the key, which the operator may correct.
  const isFinal = status >= 400 && status < 500 && ![403, 408, 429].includes(status)
  if (isFinal) return { kind: 'refused', status, error }
  return { kind: 'failed', status, error, ...(retryAfter !== undefined && { retryAfter }) }
}

type FcmSettings = {
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
            return fcmResult(isRefused ? await post(account, push, device, await another(token)) : reply)
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

function fcmResult(reply: Reply | Silence): PushResult {
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
