/**
 * That no other `npm start` runs in the folder: two would each have the leaderboards of the one state in a memory of their own.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseVariables } from './dev-vars.mjs'
import { Complaint, inProject } from './project.mjs'

/** How long one that is ending may still answer, and how long an answer may take, in milliseconds. */
const PATIENCE = 2000
const WAIT = 3000

/** The file of the variables of the Worker that listens on a port: there as long as it runs, and left behind where it was killed. */
export const variablesFileOf = (/** @type {number} */ port) => inProject('.wrangler', `variables-${port}.env`)

/** @throws {Complaint} when another one runs */
export async function demandAlone() {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const answers = await Promise.all(knownPorts().map(async (port) => ((await isOurs(port)) ? [port] : [])))
    const port = answers.flat()[0]
    if (port === undefined) return
    if (performance.now() > deadline) {
      throw new Complaint(
        `Laurel runs in this folder already, on port ${port}. End it first, or start another one from a copy of the folder.`,
      )
    }
    await sleep(200)
  }
}

/** @returns {number[]} the ports of which there are variables */
function knownPorts() {
  const folder = inProject('.wrangler')
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names.flatMap((name) => /^variables-(\d+)\.env$/.exec(name)?.[1] ?? []).map(Number)
}

/** @returns {Promise<boolean>} whether what answers on the port knows the admin key of these variables */
async function isOurs(/** @type {number} */ port) {
  try {
    const { ADMIN_API_KEY = '' } = parseVariables(readFileSync(variablesFileOf(port), 'utf8'))
    const { status, headers } = await fetch(`http://127.0.0.1:${port}/admin/v1/metrics?limit=1`, {
      headers: { 'X-API-KEY': ADMIN_API_KEY },
      signal: AbortSignal.timeout(WAIT),
    })
    // 422 where the tenant has to be named.
    return headers.has('x-request-id') && [200, 422].includes(status)
  } catch {
    return false
  }
}
