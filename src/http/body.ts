import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { refusals } from '../errors'
import type { AppEnv } from './app'

const MIB = 1_048_576

/** Throws a TypeError for what is no UTF-8; the run time's own reading would put U+FFFD there, and so make one user of two (U1). */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * Reads the body as JSON in UTF-8, whatever content type it names: 413 when it is too large, 400 when it is no JSON (G2). The
 * limit is in bytes.
 */
export function readBody(limit = MIB): MiddlewareHandler<AppEnv>[] {
  return [
    bodyLimit({
      maxSize: limit,
      onError: () => {
        throw refusals.bodyTooLarge(`${limit / MIB} MiB`)
      },
    }),
    async (c, next) => {
      try {
        const text = UTF8.decode(await c.req.raw.arrayBuffer())
        c.set('json', JSON.parse(text))
        // For the validator, which reads it again. Hono keeps promises there, whatever its types say.
        Object.assign(c.req.bodyCache, { text: Promise.resolve(text) })
      } catch (error) {
        if (error instanceof SyntaxError || error instanceof TypeError) throw refusals.bodyNotJson()
        throw error
      }
      // The validator reads a body only where its type says just JSON.
      if (c.req.header('content-type') !== 'application/json') {
        const headers = new Headers(c.req.raw.headers)
        headers.set('content-type', 'application/json')
        c.req.raw = new Request(c.req.raw.url, { method: c.req.method, headers })
      }
      await next()
    },
  ]
}
