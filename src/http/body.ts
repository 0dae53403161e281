import type { Context, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { errors } from '../lib/errors'
import { MIB, MOST_BODY_BYTES } from '../lib/limits'
import { within } from '../lib/timeout'
import { SECOND } from '../lib/units'
import type { AppEnv } from './hono'

/**
 * Throws a TypeError if the bytes are not UTF-8. The run time's own decoding would write U+FFFD instead, and
 * could so give two users the same id (U1).
 */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * Reads the body as JSON in UTF-8, with any content type. Throws 413 if it is too large, 408 if it has not
 * arrived after BODY_TIMEOUT seconds, and 400 if it is not JSON (G2). The limit is in bytes.
 */
export function readBody(limit = MOST_BODY_BYTES): MiddlewareHandler<AppEnv> {
  const limited = bodyLimit({
    maxSize: limit,
    onError: () => {
      throw errors.bodyTooLarge(`${limit / MIB} MiB`)
    },
  })
  const bytesOf = async (c: Context<AppEnv>) => {
    let bytes = new ArrayBuffer()
    await limited(c, async () => {
      bytes = await c.req.raw.arrayBuffer()
    })
    return bytes
  }
  return async (c, next) => {
    const seconds = c.get('ctx').variables.BODY_TIMEOUT
    try {
      const bytes = await within(seconds * SECOND, bytesOf(c), () => errors.bodyTooSlow(seconds))
      const text = UTF8.decode(bytes)
      c.set('json', JSON.parse(text))
      // For the validator, which reads the body again. Hono keeps promises here, although its types say
      // otherwise.
      Object.assign(c.req.bodyCache, { text: Promise.resolve(text) })
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof TypeError) throw errors.bodyNotJson()
      throw error
    }
    // The validator reads a body only if its content type is exactly JSON.
    if (c.req.header('content-type') !== 'application/json') {
      const headers = new Headers(c.req.raw.headers)
      headers.set('content-type', 'application/json')
      c.req.raw = new Request(c.req.raw.url, { method: c.req.method, headers })
    }
    await next()
  }
}
