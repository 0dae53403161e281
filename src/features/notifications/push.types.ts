/** A message for one device. */
export type Push = {
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
