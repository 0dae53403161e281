/** The code of a link that `npm start` or `npm run deploy` has printed, in the fragment of the address: `#code=…`. */
import { isKeyRefused } from '../api/errors'
import { clientOf } from '../api/laurel'

/**
 * Calls back with the code in the address, now and later: a link that is opened in a tab with the console
 * changes only the fragment. Returns a function that ends it.
 */
export function watchCodes(use: (code: string) => void): () => void {
  const look = () => {
    const code = new URLSearchParams(location.hash.slice(1)).get('code')
    if (code === null) return
    // It must not stay in the history.
    history.replaceState(history.state, '', location.pathname + location.search)
    use(code)
  }
  look()
  addEventListener('hashchange', look)
  return () => removeEventListener('hashchange', look)
}

const USED = 'This link was used before. Sign in with the admin key that npm run deploy printed.'

/**
 * Exchanges a code for a key. That of a deployment is an admin key with its id, which is replaced: so the link works
 * once. Throws with the server's message.
 */
export async function keyFor(code: string): Promise<string> {
  const [id = '', own] = code.split(':')
  if (own !== undefined) {
    const replaced = clientOf(own).admin.adminKeys.rotate(id)
    return (await replaced.catch((error) => Promise.reject(isKeyRefused(error) ? new Error(USED) : error)))
      .key
  }
  const answer = await fetch('/console/one-time-code', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  })
  const body: unknown = await answer.json()
  const text = (name: string) => String(Object(body)[name] ?? '')
  if (!answer.ok) throw new Error(text('error'))
  return text('apiKey')
}
