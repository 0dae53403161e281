import { SignJWT } from 'jose'
import { v5 } from 'uuid'
import * as z from 'zod'
import { BoundedMap } from '../../../lib/bounded'
import { DAY, HOUR, type Instant, instant, MINUTE, SECOND } from '../../../lib/clock'
import { post, retryAfterIn, whyNoAnswer } from '../../../lib/net'
import { systemNow } from '../../../lib/system-clock'
import { perInstance } from '../../../platform/context'
import { privateKeyIn, type ServiceAccount, serviceAccountIn } from '../../../platform/env'

/** A message for one device. */
type Push = {
  /** The id of the message, the same on every retry. */
  id: string
  title: string
  body: string
}

/** The result of sending to one device. */
export type PushResult =
  | { kind: 'taken'; status: number | null }
  /** This token will never reach the device again (N6). */
  | { kind: 'gone'; status: number | null; error: string }
  /** Must be tried again, after `retryAfter` milliseconds if the provider asks for it. */
  | { kind: 'failed'; status: number | null; error: string; retryAfter?: number }
  | { kind: 'refused'; status: number | null; error: string }

/** A push provider (N4). */
export type PushPort = {
  /** One result for each token, in their order. */
  send(push: Push, tokens: readonly string[]): Promise<PushResult[]>
}

/** The provider of a token, by the token's form. */
export function providerOf(token: string): 'expo' | 'apns' | 'fcm' {
  if (/^Expo(nent)?PushToken\[.+\]$/.test(token)) return 'expo'
  return /^[0-9a-f]{64,}$/i.test(token) ? 'apns' : 'fcm'
}

/** Timeout for a provider's response, in milliseconds. */
export const PATIENCE = 30 * SECOND
/** Timeout for the body after that, in milliseconds. */
const BODY_PATIENCE = 5 * SECOND
/** Bytes of a response that are read; the rest is ignored. */
const MOST_ANSWER_BYTES = 65_536
/** The longest accepted `Retry-After`, in milliseconds: a day. */
const MOST_WAIT = DAY

/** A provider's response. `json` is undefined if the body is not JSON. */
export type Reply = { status: number; json: unknown; retryAfter?: number }

/** Why there is no response. The text contains no address, because some addresses contain a device token. */
type Silence = { error: string }

/** Sends a request to a provider. Does not follow redirects, because they would pass the secret on. */
export async function ask(
  url: string,
  request: { headers: Record<string, string>; body: string },
  patience: number = PATIENCE,
): Promise<Reply | Silence> {
  const bodyPatience = Math.min(patience, BODY_PATIENCE)
  const limits = { patience, bodyPatience, most: () => MOST_ANSWER_BYTES }
  const answer = await post(url, request, limits).catch((error: unknown) => ({ error: whyNoAnswer(error) }))
  if (answer !== null && 'error' in answer)
    return { error: `the provider could not be reached: ${answer.error}` }
  if (answer === null) return { error: `no answer within ${patience / SECOND} s` }
  const { status, headers, text } = answer
  const wait = retryAfterIn(headers)
  const retryAfter = wait === undefined ? {} : { retryAfter: Math.min(wait, MOST_WAIT) }
  return { status, json: readJson(text), ...retryAfter }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const Said = z.object({ message: z.string() }).transform(({ message }) => message.slice(0, 200))

/** A text for a failed response: its status and its `message`, if it has one. */
export function described(status: number, said: unknown): string {
  const { data } = Said.safeParse(said)
  return data === undefined ? `answered ${status}` : `answered ${status}: ${data}`
}

/** The result of an error. Client errors are final, except 408, 429 and the status `mayPass`. */
function failure(
  { status, retryAfter }: Reply,
  error: string,
  { mayPass, wait = retryAfter }: { mayPass: number; wait?: number | undefined },
): PushResult {
  const isFinal = status >= 400 && status < 500 && ![mayPass, 408, 429].includes(status)
  if (isFinal) return { kind: 'refused', status, error }
  return { kind: 'failed', status, error, ...(wait !== undefined && { retryAfter: wait }) }
}

type ExpoSettings = { url: string; accessToken?: string | undefined; patience?: number }

/** The most messages in one request to Expo. A user has fewer devices. */
const MOST = 100

const Ticket = z.union([
  z.object({ status: z.literal('ok') }),
  z.object({
    status: z.literal('error'),
    message: z.string().default(''),
    details: z.object({ error: z.string().optional() }).optional(),
  }),
])
const Tickets = z.object({ data: z.array(Ticket) })
const Errors = z.object({ errors: z.array(z.looseObject({ code: z.string().optional() })) })
/** The code of the error if tokens in a request belong to several projects. Then Expo sends to none of them. */
const MIXED = 'PUSH_TOO_MANY_EXPERIENCE_IDS'

/** Sends by Expo. Reads no receipts: the ticket of the next message says if a device is gone. */
export function expoPush({ url, accessToken, patience }: ExpoSettings): PushPort {
  return {
    async send({ title, body }, tokens) {
      const results: PushResult[] = []
      for (let from = 0; from < tokens.length; from += MOST) {
        results.push(...(await sendSome(tokens.slice(from, from + MOST))))
      }
      return results

      async function sendSome(some: readonly string[]): Promise<PushResult[]> {
        const reply = await ask(
          `${url}/--/api/v2/push/send`,
          {
            headers: {
              'content-type': 'application/json',
              ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
            },
            body: JSON.stringify(some.map((to) => ({ to, title, body, sound: 'default' }))),
          },
          patience,
        )
        if ('error' in reply) return some.map(() => ({ kind: 'failed', status: null, ...reply }))
        const { status, json } = reply
        const tickets = Tickets.safeParse(json).data?.data
        if (status === 200 && tickets?.length === some.length) return tickets.map(expoResult)
        const said = Errors.safeParse(json).data?.errors[0]
        if (said?.code === MIXED && some.length > 1)
          return (await Promise.all(some.map((token) => sendSome([token])))).flat()
        return some.map(() => failure(reply, described(status, said), { mayPass: 401 }))
      }
    },
  }
}

function expoResult(ticket: z.infer<typeof Ticket>): PushResult {
  const status = 200
  if (ticket.status === 'ok') return { kind: 'taken', status }
  const code = ticket.details?.error ?? 'error'
  const error = code.slice(0, 100)
  if (code === 'DeviceNotRegistered') return { kind: 'gone', status, error }
  return { kind: code === 'MessageRateExceeded' ? 'failed' : 'refused', status, error }
}

type AccessToken = { token: string; until: Instant }

/**
 * Access tokens by provider and account, at most 20. Only finished tokens are stored, no promises: a Worker
 * can't wait in one request for work of another request.
 */
export class AccessTokenCache extends BoundedMap<string, AccessToken> {
  constructor() {
    super(20)
  }

  /** The access token of this name. Calls `make` if there is none, or if it has expired or was refused. */
  async tokenOf(name: string, make: () => Promise<AccessToken>, refused?: string): Promise<string> {
    const known = this.get(name)
    if (known !== undefined && known.until > systemNow() && known.token !== refused) return known.token
    const made = await make()
    this.set(name, made)
    return made.token
  }
}

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

/** Sends to each device, again if the token is refused. Makes each token once: providers limit that. */
function sendToEach(
  devices: readonly string[],
  tokenOf: (refused?: string) => Promise<string>,
  provider: {
    post: (device: string, token: string) => Promise<Reply | Silence>
    isRefused: (reply: Reply) => boolean
    resultOf: (reply: Reply) => PushResult
  },
): Promise<PushResult[]> {
  let first: Promise<string> | undefined
  let second: Promise<string> | undefined
  return Promise.all(
    devices.map(async (device): Promise<PushResult> => {
      try {
        first ??= tokenOf()
        const token = await first
        let reply = await provider.post(device, token)
        if ('status' in reply && provider.isRefused(reply)) {
          second ??= tokenOf(token)
          reply = await provider.post(device, await second)
        }
        return 'error' in reply ? { kind: 'failed', status: null, ...reply } : provider.resultOf(reply)
      } catch (error) {
        if (!(error instanceof NoAccessToken)) throw error
        const { status, message, retryAfter } = error
        return { kind: 'failed', status, error: message, ...(retryAfter !== undefined && { retryAfter }) }
      }
    }),
  )
}

/** Real time in seconds since 1970, the unit of JWTs, plus `later` seconds. */
const seconds = (later = 0): number => Math.floor(systemNow() / SECOND) + later

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
const GONE = ['Unregistered', 'ExpiredToken']
const EXPIRED = 'ExpiredProviderToken'

const Refused = z.object({ reason: z.string().max(100) })

/** Sends by Apple's push service. A token is used for 50 minutes. */
export function apnsPush(settings: ApnsSettings, accessTokens: AccessTokenCache): PushPort {
  const { url, key, keyId, teamId, topic, patience } = settings
  const name = `apns ${url} ${teamId} ${keyId}`

  const sign = async () => {
    try {
      const signer = await privateKeyIn(key, 'ES256')
      const jwt = new SignJWT().setProtectedHeader({ alg: 'ES256', kid: keyId })
      const token = await jwt.setIssuer(teamId).setIssuedAt(seconds()).sign(signer)
      return { token, until: inSeconds(TOKEN_SECONDS) }
    } catch {
      throw new NoAccessToken('APNS_KEY is not the text of a .p8 key')
    }
  }

  return {
    send({ id, title, body }, devices) {
      const payload = { aps: { alert: { title, body }, sound: 'default' } }
      return sendToEach(devices, (refused) => accessTokens.tokenOf(name, sign, refused), {
        post: (device, token) => {
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
          return ask(`${url}/3/device/${device}`, { headers, body: JSON.stringify(payload) }, patience)
        },
        isRefused: (reply) => reasonOf(reply) === EXPIRED,
        resultOf: apnsResult,
      })
    },
  }
}

const reasonOf = ({ json }: Reply): string => Refused.safeParse(json).data?.reason ?? ''

function apnsResult(reply: Reply): PushResult {
  const { status } = reply
  if (status === 200) return { kind: 'taken', status }
  const reason = reasonOf(reply)
  // All tokens look like that to the wrong one of Apple's two addresses. So the token stays.
  const hint = reason === 'BadDeviceToken' ? ': the token is not valid, or not for this APNS_URL' : ''
  const error = reason === '' ? `answered ${status}` : reason + hint
  if (status === 410 || (status === 400 && GONE.includes(reason))) return { kind: 'gone', status, error }
  // 403 is about the key, which the operator may correct.
  return failure(reply, error, { mayPass: 403 })
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

const Granted = z.object({ access_token: z.string(), expires_in: z.number() })
const ProviderError = z.object({
  error: z.object({
    status: z.string().default(''),
    message: z.string().default(''),
    details: z.array(z.looseObject({ errorCode: z.string().optional() })).default([]),
  }),
})

/** Sends by Firebase's HTTP v1 API. An access token is used until one minute before its end. */
export function fcmPush(
  { url, account: text, patience }: FcmSettings,
  accessTokens: AccessTokenCache,
): PushPort {
  async function granted(account: ServiceAccount) {
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

  return {
    async send(push, devices) {
      const account = serviceAccountIn(text)
      if (account === null) {
        const error = "FCM_SERVICE_ACCOUNT is not a service account's JSON"
        return devices.map(() => ({ kind: 'failed', status: null, error }))
      }
      const name = `fcm ${account.token_uri} ${account.client_email}`
      const address = `${url}/v1/projects/${encodeURIComponent(account.project_id)}/messages:send`
      const tokenOf = (refused?: string) => accessTokens.tokenOf(name, () => granted(account), refused)
      return sendToEach(devices, tokenOf, {
        post: (device, token) => {
          const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
          return ask(
            address,
            { headers, body: JSON.stringify({ message: messageOf(push, device) }) },
            patience,
          )
        },
        isRefused: ({ status }) => status === 401,
        resultOf: fcmResult,
      })
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

async function assertionOf({ client_email, private_key, token_uri }: ServiceAccount): Promise<string> {
  try {
    const key = await privateKeyIn(private_key, 'RS256')
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

function fcmResult(reply: Reply): PushResult {
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
  return failure(reply, error, {
    mayPass: 401,
    wait: retryAfter ?? (status === 429 ? QUOTA_WAIT : undefined),
  })
}
