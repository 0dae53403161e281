/** The port to listen on. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { Complaint } from './project.mjs'
import { until } from './until.mjs'

/** How long a server that is ending may still hold the port, in milliseconds. */
const PATIENCE = 2000

/** The codes of errors that are about the host, whatever the port. */
const NO_HOST = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EINVAL', 'EAFNOSUPPORT'])

/**
 * Has a server listen. Waits a moment for another one that is ending. Throws a Complaint if the port is in use
 * there, or listening is not allowed. `command` starts the server.
 *
 * @param {import('node:net').Server} server
 * @param {{ port: number; host: string; command: string; others?: string[] }} where `others` are addresses at
 *   whose port no process may listen either
 */
export async function listen(server, { port, host, command, others = [] }) {
  let problem = /** @type {string | undefined} */ (undefined)
  const isDecided = async () => {
    const isTaken = await Promise.all(others.map((other) => isAnswered({ host: other, port, timeout: 1000 })))
    const where = { host, port, exclusive: true }
    const error = isTaken.includes(true) ? { code: 'EADDRINUSE' } : await listenError(server, where)
    problem = error && (error.code ?? error.message)
    return problem !== 'EADDRINUSE'
  }
  await until(isDecided, { patience: PATIENCE, pause: 200 })
  if (problem === undefined) return
  if (NO_HOST.has(problem))
    throw new Complaint(`HOST must be an address of this machine: can't listen on "${host}" (${problem}).`)
  const fact =
    problem === 'EADDRINUSE' ? `Port ${port} is in use` : `Can't listen on port ${port} (${problem})`
  // Only root may use the ports below 1024.
  const other = port < 1024 || port === 65535 ? 8787 : port + 1
  throw new Complaint(`${fact}. Choose another one: PORT=${other} ${command}`)
}

/** Is true if a process accepts connections there, for example on a Unix socket. */
export const isAnswered = async (/** @type {import('node:net').NetConnectOpts} */ address) =>
  (await connectFault(connect(address))) === ''

/** The code of the error on connecting; empty if there is none. Closes the socket. */
export async function connectFault(/** @type {import('node:net').Socket} */ socket, event = 'connect') {
  socket.once('timeout', () => socket.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })))
  try {
    await once(socket, event)
    return ''
  } catch (error) {
    return Object(error).code ?? 'UNKNOWN'
  } finally {
    socket.destroy()
  }
}

/** The error on listening there. @type {(server: import('node:net').Server, where: object) => Promise<any>} */
export const listenError = (server, where) =>
  once(server.listen(where), 'listening').then(() => undefined, Object)
