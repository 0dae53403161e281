/** The port to listen on. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Complaint } from './project.mjs'

/** How long a server that is ending may still hold the port, in milliseconds. */
const PATIENCE = 2000

/** The codes of errors that are about the host, whatever the port. */
const NO_HOST = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EINVAL', 'EAFNOSUPPORT'])

/**
 * Throws a Complaint if another process listens on the port, or listening there is not allowed. Waits a
 * moment for a server that is ending. `command` starts the server.
 */
export async function demandFree(/** @type {number} */ port, command = 'npm start', host = '127.0.0.1') {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const problem = await problemOf(port, host)
    if (problem === undefined) return
    const advice = `Choose another one: PORT=${port === 65535 ? port - 1 : port + 1} ${command}`
    if (NO_HOST.has(problem))
      throw new Complaint(`HOST must be an address of this machine: can't listen on "${host}" (${problem}).`)
    if (problem !== 'EADDRINUSE') throw new Complaint(`Can't listen on port ${port} (${problem}). ${advice}`)
    if (performance.now() > deadline) throw new Complaint(`Port ${port} is in use. ${advice}`)
    await sleep(200)
  }
}

/** The code of the error that prevents listening. */
async function problemOf(/** @type {number} */ port, /** @type {string} */ listensOn) {
  const answers = await Promise.all(
    ['127.0.0.1', '::1'].map((host) => isAnswered({ host, port, timeout: 1000 })),
  )
  return answers.includes(true) ? 'EADDRINUSE' : listenProblem(listensOn, port)
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

/** The code of the error on listening there. */
async function listenProblem(/** @type {string} */ host, /** @type {number} */ port) {
  const server = createServer().listen({ host, port, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = Object(error)
    return code ?? message
  }
  server.close()
  await once(server, 'close')
}
