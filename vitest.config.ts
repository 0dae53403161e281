import { execFileSync } from 'node:child_process'
import { defineConfig } from 'vitest/config'
import { workers } from './test/helpers/worker/project.ts'

// The folder of a test file says which projects run it (see the table in CONTRIBUTING.md). `npm test` runs all
// projects except the long ones. Projects with the same `groupOrder` run together, and those with a lower one
// run first.

// The Worker's assets, as wrangler makes them before it starts or deploys. The console is left out: the tests
// that need it start a server, which builds it.
execFileSync(process.execPath, ['scripts/assets.mjs', '--no-console'], {
  cwd: import.meta.dirname,
  stdio: 'inherit',
})

/** The simulations to run, from the variables of `npm run simulate`. */
const { SIMULATE_FROM = '1', SIMULATE_SEEDS = '1', SIMULATE_SIZE, SIMULATE_DATABASES = '1' } = process.env

/** A project of tests that send requests to servers. */
const servers = (
  name: string,
  include: string[],
  {
    groupOrder,
    env = {},
    isAlone = false,
  }: {
    groupOrder: number
    env?: Record<string, string>
    /** Whether its files run one after another. A server takes a core, and some tests measure its speed. */
    isAlone?: boolean
  },
) => ({
  test: {
    name,
    include,
    env,
    setupFiles: ['test/helpers/server/setup.ts'],
    sequence: { groupOrder },
    fileParallelism: !isAlone,
    testTimeout: 240_000,
    hookTimeout: 300_000,
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
    // It is one long file, so the tests over HTTP can use the other core.
    groupOrder: 2,
  })

export default defineConfig({
  test: {
    // The random numbers and ids of the tests (test/helpers/seed.ts).
    provide: { seed: process.env.TEST_SEED ?? '1' },
    // Shows only the log of failed tests.
    silent: 'passed-only',
    // Uses every core. By default vitest leaves one idle, but the Workers' tests wait for their database half
    // of the time.
    maxWorkers: '100%',
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/{unit,contract}/*.test.ts', 'clients/*/test/unit/*.test.ts'],
          setupFiles: ['test/unit/setup.ts'],
          testTimeout: 240_000,
          // The checker of regular expressions runs in this process, without a binary of its own.
          env: { RECHECK_BACKEND: 'pure' },
        },
      },
      {
        resolve: { conditions: ['@laurel/source'] },
        ssr: { resolve: { conditions: ['@laurel/source'] } },
        test: {
          name: 'react',
          include: ['clients/react/test/*.test.{ts,tsx}'],
          setupFiles: ['test/unit/setup.ts'],
          testTimeout: 60_000,
        },
      },
      workers({ name: 'worker', include: ['test/{worker,single}/*.test.ts'], groupOrder: 1 }),
      workers({ name: 'spread', include: ['test/spread/*.test.ts'], databases: 3, groupOrder: 2 }),
      simulation('simulation', Number(SIMULATE_DATABASES), {
        from: Number(SIMULATE_FROM),
        seeds: Number(SIMULATE_SEEDS),
        size: SIMULATE_SIZE === 'full' ? 'full' : 'small',
      }),
      simulation('simulation-spread', 3, { from: 2, seeds: 1, size: 'small' }),
      servers('server', ['test/server/*.test.ts', 'clients/*/test/server/*.test.ts'], { groupOrder: 2 }),
      servers('console', ['test/console/*.test.ts'], { groupOrder: 2 }),
      servers('alone', ['test/alone/*.test.ts'], { groupOrder: 3, isAlone: true }),

      servers('long-server', ['test/long/server/*.test.ts', 'clients/*/test/long/*.test.ts'], {
        groupOrder: 4,
        isAlone: true,
      }),
      servers('long-console', ['test/long/console/**/*.test.ts'], { groupOrder: 4, isAlone: true }),
      servers('long-console-spread', ['test/console/*.test.ts', 'test/long/console/spread/*.test.ts'], {
        groupOrder: 4,
        isAlone: true,
        env: { TEST_DATABASES: '3' },
      }),
      workers({ name: 'long-worker', include: ['test/long/{worker,single}/*.test.ts'], groupOrder: 5 }),
      workers({
        name: 'long-spread',
        include: ['test/worker/*.test.ts', 'test/long/{worker,spread}/*.test.ts'],
        databases: 3,
        groupOrder: 6,
      }),
    ],
  },
})
