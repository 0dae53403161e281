/** The text that is printed when the Worker is ready. */
import { isDemoWanted } from './dev-vars.mjs'

const DEMO_METRIC = 'demo-lessons'

/** The last user of the demo's leaderboards: an event does not change the ranks that the README shows. */
const DEMO_USER = 'demo-alan'

/** Quotes any text as one word of a shell command. */
const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * The text for a server that is ready.
 *
 * @param {{ port: number; variables: Record<string, string>; code: string }} server `code` signs in to the console,
 *   once and for ten minutes
 * @param {typeof fetch} send
 * @returns {Promise<string>} its last line is a command that can be pasted unchanged
 */
export async function welcomeTo({ port, variables, code }, send) {
  const { ADMIN_API_KEY: adminKey = '', MULTI_TENANCY } = variables
  const url = `http://localhost:${port}`
  const hasDemo = isDemoWanted(variables) && (await hasDemoMetric(`http://127.0.0.1:${port}`, adminKey, send))
  const key = quoted(`X-API-KEY: ${adminKey}`)
  const event = { user: { id: DEMO_USER }, value: 1 }
  const sendEvent = [
    `curl -sS -X POST ${url}/v1/metrics/${DEMO_METRIC}/event`,
    `-H ${key} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(event))}`,
  ].join(' ')
  const listMetrics = `curl -sS ${url}/admin/v1/metrics -H ${key}`
  const acme = quoted(JSON.stringify([{ customerId: 'acme', name: 'Acme' }]))
  const makeTenant = `curl -sS ${url}/admin/v1/tenants -H ${key} -H 'Content-Type: application/json' -d ${acme}`
  const [what, command] = hasDemo
    ? ['Send an event of a demo user:', sendEvent]
    : MULTI_TENANCY === 'on'
      ? ['Create a tenant:', makeTenant]
      : ['List the metrics (there is no demo):', listMetrics]
  return `
Laurel is ready.

  Application interface  ${url}/v1
  For older clients      ${url}/api
  Admin interface        ${url}/admin/v1
  Reference              ${url}/docs
  Admin key              ${adminKey}
  Console                ${url}/console

Open the console, signed in (the link works once, for 10 minutes):

${url}/console#code=${code}

${what}

${command}

`
}

/**
 * True if the demo's metric exists, or if the request fails. A database that was configured before the demo
 * was loaded does not have it.
 *
 * @type {(url: string, adminKey: string, send: typeof fetch) => Promise<boolean>}
 */
async function hasDemoMetric(url, adminKey, send) {
  try {
    const answer = await send(`${url}/admin/v1/metrics?limit=100`, {
      headers: { 'X-API-KEY': adminKey },
      signal: AbortSignal.timeout(1000),
    })
    return !answer.ok || (await answer.text()).includes(`"${DEMO_METRIC}"`)
  } catch {
    return true
  }
}
