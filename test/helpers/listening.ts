import { once } from 'node:events'
import type { Server } from 'node:http'
import { isAnswered } from '../../scripts/lib/port.mjs'

/** Starts a server at a free port of this machine, and returns its address. */
export async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}

export function stop(server: Server): void {
  server.closeAllConnections()
  server.close()
}

/** True if something accepts connections there. */
export const accepts = (host: string, port: number): Promise<boolean> => isAnswered({ host, port })
