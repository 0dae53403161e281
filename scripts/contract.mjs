/**
 * `npm run contract`: prints the operations of the contract that the service does not have yet, and their
 * number.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'vite'

const root = new URL('../', import.meta.url)
const lines = JSON.parse(readFileSync(new URL('test/contract/contract.json', root), 'utf8'))

/** Imports from the Workers runtime don't exist here. The names are enough. */
const runtime = {
  name: 'runtime',
  enforce: /** @type {const} */ ('pre'),
  resolveId: (/** @type {string} */ id) => (id.startsWith('cloudflare:') ? `\0${id}` : undefined),
  load: (/** @type {string} */ id) =>
    id.startsWith('\0cloudflare:')
      ? 'export class DurableObject {}; export class WorkerEntrypoint {}; export const env = {}'
      : undefined,
}

// Vite, which comes with the test runner, reads TypeScript with imports without extensions.
const server = await createServer({
  root: root.pathname,
  configFile: false,
  appType: 'custom',
  logLevel: 'error',
  plugins: [runtime],
  optimizeDeps: { noDiscovery: true },
  server: { middlewareMode: true, ws: false, watch: null },
})
try {
  const { applicationOperations, adminOperations } = await server.ssrLoadModule('/src/worker/operations.ts')
  const served = new Set([...applicationOperations, ...adminOperations].map(({ id }) => id))
  const missing = lines.filter((/** @type {string} */ line) => !served.has(line.split(' ')[0]))
  for (const line of missing) {
    const [id, surface, method, path] = line.split(';')[0].split(' ')
    console.log(`${surface.padEnd(12)} ${method.toUpperCase().padEnd(7)} ${path.padEnd(42)} ${id}`)
  }
  console.log(`${missing.length} of ${lines.length} operations are missing`)
} finally {
  await server.close()
}
