/** The requests to the server of the app. */
import type { EventResponse, Token } from '@laurel/client/app'

export interface Session {
  userId: string
  /** Where Laurel is. */
  laurelUrl: string
}

/** The event of the window when the session is over. */
export const SIGNED_OUT = 'signed-out'

/** Sends a request. The message of an error is for the user. */
async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
  } catch {
    throw new Error('You seem to be offline. Try again when you are back.')
  }
  const answer = response.status === 204 ? null : await response.json().catch(() => null)
  if (response.ok) return answer
  // The session is over. The app shows the sign-in again.
  if (response.status === 401) dispatchEvent(new Event(SIGNED_OUT))
  throw new Error(answer?.error ?? 'This did not work. Try again in a moment.')
}

/** Answers null if nobody is signed in. */
export const getSession = () => call<Session | null>('GET', '/api/session')

export const signIn = (name: string) => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  // A browser that does not know its zone has one that Laurel refuses.
  return call<Session>('POST', '/api/session', { name, timeZone: timeZone.replace('Etc/Unknown', 'UTC') })
}

export const signOut = () => call<null>('DELETE', '/api/session')

export const getLaurelToken = () => call<Token>('POST', '/api/laurel-token')

/** The ids of the lessons that count for today already. */
export const getFinishedToday = async () => (await call<{ finished: string[] }>('GET', '/api/today')).finished

/** Answers what the lesson has changed in Laurel. */
export const finishLesson = (id: string, answers: readonly number[]) =>
  call<EventResponse>('POST', `/api/lessons/${id}/finish`, { answers })
