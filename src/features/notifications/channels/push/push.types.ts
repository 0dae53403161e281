/** A message for one device. */
export type Push = {
  /** The letter's, the same on every retry. */
  id: string
  title: string
  body: string
}

/** What came of sending to one device. */
export type PushResult =
  | { kind: 'taken'; status: number | null }
  /** The device will never be reached by this token again (N6). */
  | { kind: 'gone'; status: number | null; error: string }
  /** To be tried again, not before so many milliseconds where the provider asks for it. */
  | { kind: 'failed'; status: number | null; error: string; retryAfter?: number }
  | { kind: 'refused'; status: number | null; error: string }

/** What sends to devices (N4). */
export type PushPort = {
  /** One result a token, in their order. */
  send(push: Push, tokens: readonly string[]): Promise<PushResult[]>
}

/** Which provider a token is of: its form tells. */
export function providerOf(token: string): 'expo' | 'apns' | 'fcm' {
  if (/^Expo(nent)?PushToken\[.+\]$/.test(token)) return 'expo'
  return /^[0-9a-f]{64,}$/i.test(token) ? 'apns' : 'fcm'
}
