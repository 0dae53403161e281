/**
 * `npm start`, which is `npx @laurel/cli start` without a clone: it serves on this machine only, with a demo, the test
 * clock, and keys that it makes and keeps.
 */
import { completeDevVars } from '../lib/dev-vars.mjs'
import { inHome, inProject, isPackage, makeHome } from '../lib/project.mjs'
import { offerSignIn } from '../lib/sign-in.mjs'

/** Reads the variables in `.dev.vars`. The environment overrides them. */
export function readDevVars() {
  if (isPackage) makeHome()
  // Apart from the data of `npm run serve`.
  else process.env.LAUREL_DATA ||= inProject('.laurel', 'data')
  const found = completeDevVars(isPackage ? inHome('.dev.vars') : inProject('.dev.vars'))
  for (const [name, value] of Object.entries(found)) process.env[name] ||= value
  process.env.HOST = '127.0.0.1'
}

/** Completes the variables of the Worker. Returns the sign-in to the console. */
export function makeDemo(/** @type {Record<string, string>} */ variables, /** @type {number} */ port) {
  variables.PUBLIC_URL ||= `http://localhost:${port}`
  // A move of the test clock waits for each attempt.
  variables.WEBHOOK_TIMEOUT ||= '2'
  if (variables.MULTI_TENANCY !== 'on') variables.DEMO ||= 'on'
  variables.CONSOLE_SIGN_IN = 'on'
  return offerSignIn(variables.ADMIN_API_KEY ?? '')
}

const DEMO_METRIC = 'demo-lessons'

/** The last user of the demo's leaderboards: an event does not change the ranks that the README shows. */
const DEMO_USER = 'demo-alan'

/** Quotes any text as one word of a shell command. */
const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * The text that is printed once the server serves.
 *
 * @param {Record<string, string>} variables of the Worker
 * @param {number} port
 * @param {string} code signs in to the console, once and for ten minutes
 * @param {boolean} hasDemo is false for a database that was configured before the demo was loaded
 * @returns {string} its last line is a command that can be pasted unchanged
 */
export function welcomeTo({ ADMIN_API_KEY: adminKey = '', MULTI_TENANCY }, port, code, hasDemo) {
  const url = `http://localhost:${port}`
  const key = quoted(`X-API-KEY: ${adminKey}`)
  const post = (/** @type {string} */ path, /** @type {unknown} */ body) =>
    `curl -sS -X POST ${url}${path} -H ${key} -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`
  const event = { user: { id: DEMO_USER }, value: 1 }
  const [what, command] =
    MULTI_TENANCY === 'on'
      ? ['Create a tenant:', post('/admin/v1/tenants', [{ customerId: 'acme', name: 'Acme' }])]
      : hasDemo
        ? ['Send an event of a demo user:', post(`/v1/metrics/${DEMO_METRIC}/event`, event)]
        : ['List the metrics (there is no demo):', `curl -sS ${url}/admin/v1/metrics -H ${key}`]
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
