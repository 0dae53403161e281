/**
 * `npm run fuzz -- --requests 20000 --seed 7`: sends a server of its own so many requests made from its OpenAPI documents, and prints the
 * answers by operation and status, and a curl line for each that is not as documented. Exits with 1 where there is one.
 *
 * `--clients` (8) send at once, and `--tenants off` has the server without multi-tenancy. What is sent follows from the seed and, since later
 * requests name what earlier ones have made, from the order of the answers; with `--clients 1` a run can be repeated.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Complaint, nodeExecutable, project, report, toolScript } from './lib/project.mjs'

const string = /** @type {const} */ ({ type: 'string' })
const options = { requests: string, seed: string, clients: string, tenants: string }

/** @returns {Record<string, string>} what the test is told by its environment */
function environment() {
  const { values } = parseArgs({ options })
  const { requests = '20000', seed = '1', clients = '8', tenants = 'on' } = values
  for (const [name, value] of Object.entries({ requests, seed, clients }))
    if (!/^[1-9]\d{0,8}$/.test(value)) throw new Complaint(`--${name} must be a whole number above 0.`)
  if (!['on', 'off'].includes(tenants)) throw new Complaint('--tenants must be on or off.')
  return { FUZZ_REQUESTS: requests, FUZZ_SEED: seed, FUZZ_CLIENTS: clients, FUZZ_TENANTS: tenants }
}

/** @returns {Promise<number>} what this process is to exit with */
async function run() {
  const told = environment()
  const folder = mkdtempSync(join(tmpdir(), 'laurel-fuzz-'))
  const file = join(folder, 'report.txt')
  try {
    const args = [toolScript('vitest', 'vitest.mjs'), 'run', '--project=long', 'test/server/fuzz.test.ts']
    const child = spawn(nodeExecutable(), [...args, '--silent=false', '--disable-console-intercept'], {
      cwd: project,
      stdio: 'inherit',
      env: { ...process.env, ...told, FUZZ_REPORT: file },
    })
    // A terminal's Ctrl-C reaches vitest too, which stops the server.
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
      process.on(signal, () => child.kill(signal))
    const code = await new Promise((resolve) => child.once('exit', (exit) => resolve(exit ?? 1)))
    process.stdout.write(readReport(file))
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What was found; nothing where it did not come so far. */
function readReport(/** @type {string} */ file) {
  try {
    return `\n${readFileSync(file, 'utf8')}\n`
  } catch {
    return ''
  }
}

run().then(
  (code) => process.exit(code),
  (error) => {
    report(error)
    process.exit(1)
  },
)
