import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { refusals } from '../errors'
import type { AppEnv } from './app'

const MIB = 1_048_576

/**
 * Reads the body as JSON, whatever content type it names: 413 when it is too large, 400 when it is no JSON (G2). The
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
        c.set('json', await c.req.json())
      } catch (error) {
        if (error instanceof SyntaxError || error instanceof TypeError) throw refusals.bodyNotJson()
        throw error
      }
      // The validator reads a body only where its type says just JSON; the body itself is cached by now.
      if (c.req.header('content-type') !== 'application/json') {
        const headers = new Headers(c.req.raw.headers)
        headers.set('content-type', 'application/json')
        c.req.raw = new Request(c.req.raw.url, { method: c.req.method, headers })
      }
      await next()
    },
  ]
}
