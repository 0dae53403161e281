/** Finds problems in a response to the fuzzer, and makes a command that sends the request again. */
import { faults } from '../helpers/conformance'
import type { Shot } from './requests'

/** A response, with its body as it was sent. */
export type Reached = { status: number; headers: Headers; text: string }

/** Traces of internals that no response may show. */
const INSIDE = /\n {4}at |node_modules|D1_ERROR|SQLITE_|\.ts:\d+/

/** All problems of a response. Empty if it is as documented. */
export function judged(shot: Shot, { status, headers, text }: Reached): string[] {
  const { operation, method } = shot
  const found = faults({ method, path: resolved(shot.path), status, headers, text })
  if (status >= 500) found.push(`${operation.id} ${status}: the service failed`)
  if (INSIDE.test(text)) found.push(`${operation.id} ${status}: it shows internals`)
  return [...new Set(found)]
}

/** The path that reaches the service. `URL` resolves `..`, so another operation may respond (G2). */
export const resolved = (path: string): string => {
  const url = URL.parse(`http://laurel.test${path}`)
  return url === null ? path : url.pathname + url.search
}

/** The signature of a kind of finding: the problem without the numbers, ids and texts of one request. */
export const signatureOf = (fault: string) =>
  fault
    .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/gi, '…')
    .replaceAll(/\d{4,}|"[^"]*"/g, '…')
    .slice(0, 160)

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** A shell command that sends the request again. */
export function curlOf(url: string, { method, path, headers, body }: Shot): string {
  const words = ['curl', '-sS', '-i', '--path-as-is', '-X', method, quoted(url + path)]
  for (const [name, value] of Object.entries(headers))
    words.push('-H', quoted(value === '' ? `${name};` : `${name}: ${value}`))
  if (body === null) return words.join(' ')
  const text = body.toString()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line of a shell cannot hold these.
  const isPlain = text.length < 2_000 && Buffer.from(text).equals(body) && !/[\0-\x1f]/.test(text)
  if (isPlain) return [...words, '--data-binary', quoted(text)].join(' ')
  if (body.length > 20_000)
    return `${[...words, '--data-binary', '@body'].join(' ')} # ${body.length} bytes, beginning ${JSON.stringify(text.slice(0, 80))}`
  return `printf %s ${body.toString('base64')} | base64 -d | ${[...words, '--data-binary', '@-'].join(' ')}`
}
