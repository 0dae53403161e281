import { importPKCS8, SignJWT } from 'jose'
import { v5 } from 'uuid'
import * as z from 'zod'
import { MINUTE, SECOND } from '../../../lib/clock'
import { type AccessTokenCache, inSeconds, seconds, tokenFor } from './access-tokens'
import { ask, type Push, type PushPort, type PushResult, type Reply, type Silence } from './push'

export type ApnsSettings = {
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
            return resultOf(isExpired ? await post(push, device, await another(token)) : reply)
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

function resultOf(reply: Reply | Silence): PushResult {
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
