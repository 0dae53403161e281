/** Makes sure that no other `npm start` runs in the folder: each keeps the leaderboards in its own memory. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseVariables } from './dev-vars.mjs'
import { Complaint, inHome } from './project.mjs'

/** How long a server that is ending may still respond, and the timeout of a response, in milliseconds. */
const PATIENCE = 2000
const WAIT = 3000

/** The file with the variables of the Worker on a port: it exists while the Worker runs, and after a kill. */
export const variablesFileOf = (/** @type {number} */ port) => inHome(`variables-${port}.env`)

/** Throws a Complaint if another one runs. */
export async function demandAlone() {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const answers = await Promise.all(knownPorts().map(async (port) => ((await isOurs(port)) ? [port] : [])))
    const port = answers.flat()[0]
    if (port === undefined) return
    if (performance.now() > deadline) {
      throw new Complaint(
        `Laurel runs in this folder already, on port ${port}. Stop it first, or start another one from a copy of the folder.`,
      )
    }
    await sleep(200)
  }
}

/** The ports with a file of variables. */
const knownPorts = () =>
  (existsSync(inHome()) ? readdirSync(inHome()) : [])
    .flatMap((name) => /^variables-(\d+)\.env$/.exec(name)?.[1] ?? [])
    .map(Number)

/** Is true if the server on the port accepts the admin key of these variables. */
async function isOurs(/** @type {number} */ port) {
  try {
    const { ADMIN_API_KEY = '' } = parseVariables(readFileSync(variablesFileOf(port), 'utf8'))
    const { status, headers } = await fetch(`http://127.0.0.1:${port}/admin/v1/metrics?limit=1`, {
      headers: { 'X-API-KEY': ADMIN_API_KEY },
      signal: AbortSignal.timeout(WAIT),
    })
    // 422 if the request must name a tenant.
    return headers.has('x-request-id') && [200, 422].includes(status)
  } catch {
    return false
  }
}
