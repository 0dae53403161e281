import { existsSync, readFileSync } from 'node:fs'
import { Laurel } from '@laurel/client'

/** The admin key: that of `npm start`, if this folder is in Laurel's repository. */
function adminKey(): string {
  const file = new URL('../../../.dev.vars', import.meta.url)
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const key = process.env.LAUREL_ADMIN_KEY ?? /^ADMIN_API_KEY=(.*)$/m.exec(text)?.[1]
  if (key === undefined) throw new Error('Set LAUREL_ADMIN_KEY to the admin key that Laurel has printed.')
  return key
}

/** The address of Laurel. The page sends its own requests there too. */
export const LAUREL_URL = process.env.LAUREL_URL ?? 'http://localhost:8787'

/** The client with the admin key. It never leaves the server. */
export const laurel = new Laurel({
  url: LAUREL_URL,
  apiKey: adminKey(),
  // A person waits for the answer. An error after a few seconds is better than a long wait.
  timeout: 5_000,
  tries: 3,
})
