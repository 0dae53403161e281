/**
 * `npm run fuzz -- --requests 20000 --seed 7`: starts a server and sends it random requests that are made
 * from its OpenAPI documents. Prints the responses by operation and status, and a curl line for each response
 * that is not as documented. Exits with 1 if there is one.
 *
 * `--clients` (8) send at the same time. `--tenants off` starts the server without multi-tenancy. The
 * requests follow from the seed and from the order of the responses, because later requests name things that
 * earlier ones created. With `--clients 1`, a run can be repeated.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Complaint, nodeExecutable, project, report, toolScript } from './lib/project.mjs'

const string = /** @type {const} */ ({ type: 'string' })
const options = { requests: string, seed: string, clients: string, tenants: string }

/** @returns {Record<string, string>} the test's environment variables */
function environment() {
  const { values } = parseArgs({ options })
  const { requests = '20000', seed = '1', clients = '8', tenants = 'on' } = values
  for (const [name, value] of Object.entries({ requests, seed, clients }))
    if (!/^[1-9]\d{0,8}$/.test(value)) throw new Complaint(`--${name} must be a whole number above 0.`)
  if (!['on', 'off'].includes(tenants)) throw new Complaint('--tenants must be on or off.')
  return { FUZZ_REQUESTS: requests, FUZZ_SEED: seed, FUZZ_CLIENTS: clients, FUZZ_TENANTS: tenants }
}

/** @returns {Promise<number>} the exit code of this process */
async function run() {
  const told = environment()
  const folder = mkdtempSync(join(tmpdir(), 'laurel-fuzz-'))
  const file = join(folder, 'report.txt')
  try {
    const args = [
      toolScript('vitest', 'vitest.mjs'),
      'run',
      '--project=long-server',
      'test/long/server/fuzz.test.ts',
    ]
    const child = spawn(nodeExecutable(), [...args, '--silent=false', '--disable-console-intercept'], {
      cwd: project,
      stdio: 'inherit',
      env: { ...process.env, ...told, FUZZ_REPORT: file },
    })
    // Ctrl-C in a terminal reaches vitest too, and vitest stops the server.
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
      process.on(signal, () => child.kill(signal))
    const code = await new Promise((resolve) => child.once('exit', (exit) => resolve(exit ?? 1)))
    process.stdout.write(readReport(file))
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The report; empty if there is none. */
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
