/**
 * Runs the fuzzer against a server on this machine. `npm run fuzz -- --requests 20000 --seed 7` sets the
 * number of requests and the seed.
 */
import { Agent, request } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fuzz, neverDone, type Send, told } from '../../fuzz/fuzz'
import { resolved } from '../../fuzz/judge'
import { PATIENCE } from '../../helpers/patience'
import { type Server, startServer } from '../../helpers/server/harness'
import { SERVER_START } from '../../helpers/time'

/** The log line of an export that is cut off because the user is erased while it is read. */
const ERASED = 'cut short: Error: the user was erased while the export was read'

const requests = Number(process.env.FUZZ_REQUESTS ?? 2_000)
const seed = Number(process.env.FUZZ_SEED ?? 1)
const clients = Number(process.env.FUZZ_CLIENTS ?? 8)
const hasTenants = process.env.FUZZ_TENANTS !== 'off'

let server: Server
const agent = new Agent({ keepAlive: true, maxSockets: clients })

beforeAll(async () => {
  const tenants = hasTenants ? { MULTI_TENANCY: 'on' } : {}
  server = await startServer({ env: { DEMO: 'off', RATE_LIMITS: 'off', ...tenants }, clock: SERVER_START })
})
afterAll(() => agent.destroy())

/** Backslashes, and segments of one or two dots. Most clients resolve them before they send (G2). */
const UNRESOLVED = /\\|\/(\.|%2e){1,2}(?=[/?]|$)/i

/** Uses Node's own client, because it does not change paths in any other way. */
const send: Send = ({ method, path: given, headers, body }) => {
  const path = UNRESOLVED.test(given) ? resolved(given) : given
  const once = () =>
    new Promise<Awaited<ReturnType<Send>>>((resolve, reject) => {
      const signal = AbortSignal.timeout(PATIENCE)
      // For methods that usually have no body, Node leaves out the length. The body would then be read as
      // another request.
      const sized = body === null ? headers : { ...headers, 'content-length': body.length }
      const to = { host: '127.0.0.1', port: server.port, agent, signal }
      const asked = request({ ...to, method, path, headers: sized })
      asked.on('error', (error) => {
        // The server had already closed this connection, so the request was not sent.
        if (asked.reusedSocket && 'code' in error && error.code === 'ECONNRESET') once().then(resolve, reject)
        else reject(error)
      })
      asked.on('response', (answer) => {
        const parts: Buffer[] = []
        answer.on('data', (part) => parts.push(part))
        const done = () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: new Headers(
              Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
            ),
            text: Buffer.concat(parts).toString(),
          })
        // A stream of events has no end: the first event is enough. Its connection is closed.
        if (answer.headers['content-type'] === 'text/event-stream')
          answer.once('data', () => {
            done()
            answer.destroy()
          })
        // An export is cut off if its user is erased, as its description says. All other reasons are in the
        // log.
        answer.on('error', (error) =>
          /\/export(\?|$)/.test(path) && !signal.aborted ? resolve(null) : reject(error),
        )
        answer.on('end', done)
      })
      asked.end(body ?? undefined)
    })
  return once().catch((error) => {
    const isUnsendable = ['ERR_UNESCAPED_CHARACTERS', 'ERR_INVALID_CHAR'].includes(error.code)
    if (isUnsendable) return null
    throw error
  })
}

it(`[G2, G3] ${requests} requests of seed ${seed} get only documented responses`, async () => {
  const report = await fuzz({
    send,
    adminKey: server.adminKey,
    hasTenants,
    requests,
    clients,
    seed,
    url: server.url,
    start: SERVER_START,
    progress: (sent) => console.log(`${sent} of ${requests}`),
  })
  const lines = server.output().split('\n')
  const errors = lines.filter((line) => line.includes('"level":"error"') && !line.includes(ERASED))
  const text = `${told(report, seed)}\n${errors.length === 0 ? '' : `\nThe server's log:\n${errors.slice(0, 40).join('\n')}\n`}`
  console.log(text)
  expect(report.findings.map(({ fault, curls }) => [fault, curls[0]])).toEqual([])
  expect(errors).toEqual([])
  expect(report.sent).toBeGreaterThan(requests * 0.98)
  // Many of them succeed.
  const statuses = [...report.responses.values()].flatMap((counts) => [...counts])
  const done = statuses.reduce((sum, [status, times]) => sum + (status < 300 ? times : 0), 0)
  expect(done).toBeGreaterThan(requests / 4)
  // The service still works, and can finish its background work.
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  if (requests >= 20_000) expect(neverDone(report)).toEqual([])
}, 1_800_000)
