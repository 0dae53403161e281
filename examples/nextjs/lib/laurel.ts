// The build fails if a client component imports this file, so the admin key never gets into a page.
import 'server-only'
import { Laurel, LaurelError } from '@laurel/client'

/** The address of Laurel. The page sends its own requests there too. */
export const LAUREL_URL = process.env.LAUREL_URL ?? 'http://localhost:8787'

/** The client with the admin key. */
export const laurel = new Laurel({
  url: LAUREL_URL,
  // It is read at each request, so a build needs no key.
  apiKey: () => {
    const key = process.env.LAUREL_ADMIN_KEY
    if (!key) throw new Error('Set LAUREL_ADMIN_KEY to the admin key that Laurel has printed.')
    return Promise.resolve(key)
  },
  // A person waits for the answer. An error after a few seconds is better than a long wait.
  timeout: 5_000,
  tries: 3,
})

/** The message for a user about an error. In production, Next.js hides the message of an error that an action throws. */
export function messageFor(error: unknown): string {
  // A field that Laurel refuses, such as an unknown time zone. Its message says what is wrong.
  if (error instanceof LaurelError && error.status === 422) return error.message
  console.error(error)
  return 'This did not work. Try again in a moment.'
}

export const isNotFound = (error: unknown) => error instanceof LaurelError && error.status === 404
