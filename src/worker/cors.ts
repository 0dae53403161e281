import { cors } from 'hono/cors'
import { DAY, SECOND } from '../lib/units'

/**
 * The CORS headers of the application interface: pages of all origins may call it (G8). Without a list of its
 * own, `cors` allows all headers that the preflight asks for. Client libraries add headers to each request.
 */
export const openCors = cors({
  origin: '*',
  allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  exposeHeaders: [
    'X-Request-Id',
    'Date',
    'Retry-After',
    'Link',
    'Allow',
    'X-Laurel-Warning',
    'X-Laurel-Ignored',
  ],
  maxAge: DAY / SECOND,
})
