import { execFileSync } from 'node:child_process'
import { existsSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { demandNewNode } from './scripts/lib/tools.mjs'
import { PATIENCE } from './test/helpers/patience.ts'
import { Sequencer } from './test/helpers/sequencer.ts'
import { workers } from './test/helpers/worker/project.ts'

// The folder of a test file says which projects run it (see the table in CONTRIBUTING.md). `npm test` runs all
// projects except the long ones. Projects with the same `groupOrder` run together, and those with a lower one
// run first. With as few of these groups as possible, no core is idle at the end of each.

await demandNewNode()

// The Worker's assets, as wrangler makes them before it starts or deploys. The console is left out: the tests
// that need it start a server, which builds it.
execFileSync(process.execPath, ['scripts/assets.mjs', '--no-console'], {
  cwd: import.meta.dirname,
  stdio: 'inherit',
})

/** A folder in memory, in some systems. */
const MEMORY = '/dev/shm'
// The tests' databases are thrown away. With memory enough for them, no test waits for a disk.
if (process.env.TMPDIR === undefined && existsSync(MEMORY)) {
  const { bavail, bsize } = statfsSync(MEMORY)
  if (bavail * bsize > 4_000_000_000) process.env.TMPDIR = MEMORY
}

/** The simulations to run, from the variables of `npm run simulate`. */
const { SIMULATE_FROM = '1', SIMULATE_SEEDS = '1', SIMULATE_SIZE, SIMULATE_DATABASES = '1' } = process.env

/** A project of tests that send requests to servers. */
const servers = (
  name: string,
  include: string[],
  {
    groupOrder,
    ...more
  }: {
    /** Its files run one after another if it has one: a server takes a core, and some tests measure its speed. */
    groupOrder?: number
    env?: Record<string, string>
    provide?: { isLong: boolean }
  } = {},
) => ({
  test: {
    name,
    include,
    ...more,
    globalSetup: ['test/helpers/server/build.ts'],
    setupFiles: ['test/helpers/server/setup.ts'],
    sequence: { groupOrder: groupOrder ?? 0 },
    fileParallelism: groupOrder === undefined,
    testTimeout: 240_000,
    hookTimeout: 300_000,
    // A busy machine must not fail a test (test/helpers/patience.ts).
    expect: { poll: { timeout: PATIENCE } },
  },
})

/** A project of worlds that are played from seeds. */
const simulation = (
  name: string,
  databases: number,
  seeds: { from: number; seeds: number; size: 'small' | 'full' },
) =>
  workers({
    name,
    include: ['test/simulation/*.test.ts'],
    databases,
    provide: { simulation: seeds },
    main: 'test/simulation/worker.ts',
  })

/** A project of tests in Node. */
const node = (name: string, include: string[], test: object = {}) => ({
  test: {
    name,
    include,
    setupFiles: ['test/unit/setup.ts'],
    testTimeout: 240_000,
    // The checker of regular expressions runs in this process, without a binary of its own.
    env: { RECHECK_BACKEND: 'pure' },
    ...test,
  },
})

/** Tells tests of properties to play many worlds (test/helpers/runs.ts). */
const MANY = { provide: { isLong: true } }

export default defineConfig({
  test: {
    // The random numbers and ids of the tests (test/helpers/seed.ts).
    provide: { seed: process.env.TEST_SEED ?? '1', isLong: false },
    // Shows only the log of failed tests.
    silent: 'passed-only',
    // One more than there are cores, since tests wait for their databases and servers for a third of the time. With two
    // more, all of them take longer.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: Sequencer },
    projects: [
      // Without isolation, each process reads the modules once for all its files.
      node('unit', ['test/{unit,contract}/*.test.ts', 'clients/*/test/unit/*.test.ts'], { isolate: false }),
      {
        resolve: { conditions: ['@laurel/source'] },
        ssr: { resolve: { conditions: ['@laurel/source'] } },
        ...node('react', ['clients/react/test/*.test.{ts,tsx}'], {
          setupFiles: ['test/unit/setup.ts', 'clients/react/test/setup.ts'],
        }),
      },
      workers({ name: 'worker', include: ['test/{worker,single}/*.test.ts'] }),
      workers({ name: 'spread', include: ['test/spread/*.test.ts'], databases: 3 }),
      servers('server', ['test/server/*.test.ts', 'clients/*/test/server/*.test.ts']),
      servers('console', ['test/console/*.test.ts']),

      node('long-unit', ['test/unit/*.property.test.ts'], MANY),
      node('long-isolated', ['test/long/isolated/*.test.ts']),
      simulation('long-simulation', Number(SIMULATE_DATABASES), {
        from: Number(SIMULATE_FROM),
        seeds: Number(SIMULATE_SEEDS),
        size: SIMULATE_SIZE === 'full' ? 'full' : 'small',
      }),
      simulation('long-simulation-spread', 3, { from: 2, seeds: 1, size: 'small' }),
      servers('long-server', ['test/long/server/*.test.ts', 'clients/*/test/long/*.test.ts'], {
        groupOrder: 1,
      }),
      servers('long-console', ['test/long/console/**/*.test.ts'], { groupOrder: 1 }),
      servers('long-console-spread', ['test/console/*.test.ts', 'test/long/console/spread/*.test.ts'], {
        groupOrder: 1,
        env: { TEST_DATABASES: '3' },
        ...MANY,
      }),
      workers({
        name: 'long-worker',
        include: ['test/long/worker/*.test.ts'],
        groupOrder: 2,
        ...MANY,
      }),
      workers({
        name: 'long-spread',
        include: ['test/{worker,spread}/*.test.ts', 'test/long/{worker,spread}/*.test.ts'],
        databases: 3,
        groupOrder: 3,
        ...MANY,
      }),
    ],
  },
})
