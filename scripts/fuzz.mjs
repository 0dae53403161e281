/**
 * `npm run fuzz -- --requests 20000 --seed 7`: starts a server and sends it random requests that are made
 * from its OpenAPI documents. Prints the responses by operation and status, and a curl line for each response
 * that is not as documented. Exits with 1 if there is one.
 *
 * `--clients` (8) send at the same time. `--tenants off` starts the server without multi-tenancy. The
 * requests follow from the seed and from the order of the responses, because later requests name things that
 * earlier ones created. With `--clients 1`, a run can be repeated.
 */
import { readOptions, runCommand, wholeOf } from './lib/command.mjs'
import { Complaint } from './lib/project.mjs'
import { runVitest } from './lib/vitest.mjs'

const USAGE = 'npm run fuzz -- [--requests COUNT] [--seed SEED] [--clients COUNT] [--tenants off]'

runCommand(async () => {
  const texts = ['requests', 'seed', 'clients', 'tenants']
  const { tenants = 'on', ...given } = readOptions({ usage: USAGE, texts })
  const numbers = { requests: '20000', seed: '1', clients: '8', ...given }
  for (const [name, value] of Object.entries(numbers)) wholeOf(name, value)
  if (!['on', 'off'].includes(tenants)) throw new Complaint('--tenants must be on or off.')
  process.exitCode = await runVitest(
    [
      '--project=long-server',
      'test/long/server/fuzz.test.ts',
      '--silent=false',
      '--disable-console-intercept',
    ],
    {
      FUZZ_REQUESTS: numbers.requests,
      FUZZ_SEED: numbers.seed,
      FUZZ_CLIENTS: numbers.clients,
      FUZZ_TENANTS: tenants,
    },
  )
}, USAGE)
