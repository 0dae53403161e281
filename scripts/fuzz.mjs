/**
 * `npm run fuzz -- --requests 20000 --seed 7`: starts a server and sends it random requests that are made
 * from its OpenAPI documents. Prints the responses by operation and status, and a curl line for each response
 * that is not as documented. Exits with 1 if there is one.
 *
 * `--clients` (8) send at the same time. `--tenants off` starts the server without multi-tenancy. The
 * requests follow from the seed and from the order of the responses, because later requests name things that
 * earlier ones created. With `--clients 1`, a run can be repeated.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Complaint, runCommand } from './lib/project.mjs'
import { runVitest, text, wholeNumber } from './lib/vitest.mjs'

const options = { requests: text, seed: text, clients: text, tenants: text }

/** The test's environment variables. */
function environment() {
  const { values } = parseArgs({ options })
  const { requests = '20000', seed = '1', clients = '8', tenants = 'on' } = values
  for (const [name, value] of Object.entries({ requests, seed, clients }))
    wholeNumber(name, value, 999_999_999)
  if (!['on', 'off'].includes(tenants)) throw new Complaint('--tenants must be on or off.')
  return { FUZZ_REQUESTS: requests, FUZZ_SEED: seed, FUZZ_CLIENTS: clients, FUZZ_TENANTS: tenants }
}

/** Returns the exit code of this process. */
async function run() {
  const told = environment()
  const folder = mkdtempSync(join(tmpdir(), 'laurel-fuzz-'))
  const file = join(folder, 'report.txt')
  try {
    const args = ['--project=long-server', 'test/long/server/fuzz.test.ts']
    const shown = ['--silent=false', '--disable-console-intercept']
    const code = await runVitest([...args, ...shown], { ...told, FUZZ_REPORT: file })
    if (existsSync(file)) process.stdout.write(`\n${readFileSync(file, 'utf8')}\n`)
    return code
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

runCommand(async () => process.exit(await run()))
