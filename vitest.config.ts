import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'
import { consumers } from './test/queues.ts'

const root = import.meta.dirname

// The Worker's assets, as wrangler makes them before it starts or deploys. The console is left out: the tests
// that need it start a server, which builds it.
execFileSync(process.execPath, ['scripts/assets.mjs', '--no-console'], { cwd: root, stdio: 'inherit' })

/** All packages that src imports, except for types only. */
function dependencies(): string[] {
  const source = join(root, 'src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const found = files.flatMap((name) => {
    const text = readFileSync(join(source, name), 'utf8')
    const imports = text.matchAll(/^(?:import|export) (?!type )[^']*from '([a-z@][^':]*)'/gm)
    return [...imports].map(([, specifier = '']) => specifier)
  })
  return [...new Set(found)].sort()
}

/**
 * Sets each variable of the developer's own `.dev.vars` to an empty text, which counts as not set. Wrangler
 * also passes these variables to tests, and a PUBLIC_URL or ADMIN_HOST would make tests fail.
 */
function noDevVars(): Record<string, string> {
  const file = join(root, '.dev.vars')
  const named = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}
  return Object.fromEntries(Object.keys(named).map((name) => [name, '']))
}

/**
 * Random worlds, faults at each step of a write, one by one, and many users of the maximum size:
 * `npm run test:long`. The simulation is in `npm test`.
 */
const LONG_WORKERS = [
  'analytics.property',
  'corrections-faults',
  'corrections.property',
  'dead-letters-retries',
  'faults',
  'fuzz',
  'inbox-faults',
  'inbox.property',
  'leaderboards-faults',
  'leaderboards.property',
  'outbox-faults',
  'purge-faults',
  'restore-details',
  'schedule.property',
  'sizes-many',
  'timekeeper-faults',
].map((name) => `test/worker/${name}.test.ts`)

/** Tests with three databases, in `npm test`. */
const SPREAD = [
  'databases',
  'databases-admin',
  'databases-batches',
  'databases-clock',
  'databases-configuration',
  'databases-cron',
  'databases-devices',
  'databases-lists',
  'databases-moves',
  'databases-moves-work',
  'databases-work',
].map((name) => `test/worker/${name}.test.ts`)

/** The same for tests that take long: `npm run test:long`. */
const LONG_DATABASES = [
  'databases-erasure',
  'databases-growth',
  'databases-moves-faults',
  'databases-moving',
].map((name) => `test/worker/${name}.test.ts`)

/** Tests that also hold with three databases: `npm run test:long`. */
const LONG_SPREAD = [
  'abuse',
  'achievements',
  'achievements-admin',
  'all-faults',
  'analytics',
  'analytics.property',
  'archived',
  'attributes',
  'audit',
  'award-explanations',
  'boosts-webhooks',
  'clock',
  'commands-faults',
  'completion-notifications',
  'configuration',
  'corrections',
  'corrections-faults',
  'corrections.property',
  'database-away',
  'day-sums',
  'dead-letters',
  'dead-letters-retries',
  'delivery-queues',
  'delivery-queues-erasure',
  'delivery-queues-faults',
  'delivery-queues-named',
  'delivery-queues-runs',
  'demo',
  'derived-keys',
  'edges',
  'erasure',
  'events',
  'events-rules',
  'faults',
  'groups',
  'guards',
  'health',
  'inbox',
  'inbox-faults',
  'inbox.property',
  'key-scopes',
  'keys',
  'keys-for-ids',
  'leaderboards',
  'leaderboards-admin',
  'leaderboards-changes',
  'leaderboards-faults',
  'leaderboards-final',
  'leaderboards-parallel',
  'leaderboards-races',
  'leaderboards-webhooks',
  'leaderboards.property',
  'limits',
  'live',
  'live-ends',
  'notifications-adapter',
  'notifications-render',
  'outbox',
  'outbox-faults',
  'points',
  'points-admin',
  'preferences',
  'properties',
  'purge',
  'purge-faults',
  'reads',
  'restore',
  'restore-details',
  'scans',
  'schedule',
  'schedule.property',
  'security',
  'security-content',
  'sizes',
  'sizes-many',
  'status',
  'streaks',
  'streaks-boards',
  'streaks-goals',
  'streaks-midnight',
  'streaks-rankings',
  'streaks.property',
  'templates',
  'tenancy',
  'tenants-admin',
  'test-messages',
  'ticks',
  'timekeeper-faults',
  'timeline',
  'unknown-fields',
  'unsubscribe',
  'user-tokens',
  'users',
  'users-admin',
  'webhook-deliveries',
  'webhooks',
  'wrapped',
  'wrapped-distributions',
].map((name) => `test/worker/${name}.test.ts`)

/** Servers that are killed and started again, and packages that are installed: `npm run test:long`. */
const LONG = [
  'webhooks-events',
  'webhooks',
  'restart',
  'start-failures',
  'kill',
  'kill-databases',
  'kill-serve',
  'serve',
  'serve-backup',
  'version-before',
  'restore',
  'databases.long',
  'fuzz',
]
  .map((name) => `test/server/${name}.test.ts`)
  .concat('clients/react/test/packed.test.ts', 'clients/typescript/test/server/packed.test.ts')

type Simulations = { from: number; seeds: number; size: 'small' | 'full' }

/** The simulations to run, from the variables of `npm run simulate`: their seeds, and their size. */
function simulationSizes(): Simulations {
  const { SIMULATE_FROM = '1', SIMULATE_SEEDS = '1', SIMULATE_SIZE } = process.env
  return {
    from: Number(SIMULATE_FROM),
    seeds: Number(SIMULATE_SEEDS),
    size: SIMULATE_SIZE === 'full' ? 'full' : 'small',
  }
}

/** The consumers of wrangler.toml, but a message that failed comes again at once, not after half a minute. */
const impatientConsumers = () =>
  Object.fromEntries(
    consumers.map(({ queue, ...settings }) => [
      queue,
      {
        maxBatchTimeout: settings.max_batch_timeout,
        ...(settings.max_retries !== undefined && { maxRetries: settings.max_retries }),
        ...(settings.dead_letter_queue !== undefined && { deadLetterQueue: settings.dead_letter_queue }),
        retryDelay: 0,
      },
    ]),
  )

/** A project of tests in the Workers run time. */
const workers = ({
  groupOrder,
  main,
  databases = 1,
  simulation,
  ...files
}: {
  name: string
  include: string[]
  exclude?: string[]
  groupOrder: number
  /** The module of the objects and handlers, if it is not the Worker itself. */
  main?: string
  /** How many databases there are. Each tenant of the tests is spread over all of them. */
  databases?: number
  simulation?: Simulations
}) => ({
  plugins: [
    cloudflareTest(async () => ({
      ...(main !== undefined && { main: join(root, main) }),
      wrangler: { configPath: join(root, 'wrangler.toml') },
      miniflare: {
        queueConsumers: impatientConsumers(),
        ...(databases > 1 && {
          d1Databases: Object.fromEntries(
            Array.from({ length: databases - 1 }, (_, index) => [`DB_${index + 2}`, `laurel-${index + 2}`]),
          ),
        }),
        bindings: {
          ...noDevVars(),
          ADMIN_API_KEY: 'adm_test.the-key-of-the-tests-and-of-nothing-else',
          TOKEN_SECRET: 'the-secret-of-tokens-in-tests-and-of-nothing-else',
          TEST_CLOCK: 'on',
          MULTI_TENANCY: 'on',
          RATE_LIMITS: 'off',
          MIGRATIONS: await readD1Migrations({ projectPath: root }),
        },
      },
    })),
  ],
  test: {
    ...files,
    ...(simulation !== undefined && { provide: { simulation } }),
    // A Worker reads hundreds of modules, one by one. Without isolation, each Worker reads them once for all
    // its test files, and each dependency is one module. The setup file deletes the data of earlier tests.
    isolate: false,
    deps: { optimizer: { ssr: { enabled: true, include: [...dependencies(), 'fast-check'] } } },
    globalSetup: ['test/worker/receiver.setup.ts', 'test/worker/quiet.setup.ts'],
    setupFiles: ['test/worker/setup.ts'],
    // The Worker keeps the log lines (test/worker/lines.ts).
    disableConsoleIntercept: true,
    sequence: { groupOrder },
    testTimeout: 240_000,
    hookTimeout: 300_000,
  },
})

export default defineConfig({
  test: {
    // The random numbers and ids of the tests (test/seed.ts).
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
          include: ['test/unit/**/*.test.ts', 'clients/*/test/unit/**/*.test.ts'],
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
          exclude: LONG,
          setupFiles: ['test/unit/setup.ts'],
          testTimeout: 60_000,
        },
      },
      { test: { name: 'contract', include: ['test/contract/**/*.test.ts'], testTimeout: 240_000 } },
      workers({
        name: 'worker',
        include: ['test/worker/**/*.test.ts'],
        exclude: [...LONG_WORKERS, ...SPREAD, ...LONG_DATABASES],
        groupOrder: 1,
      }),
      {
        test: {
          name: 'http',
          include: ['test/server/**/*.test.ts', 'clients/*/test/server/**/*.test.ts'],
          exclude: ['test/server/{start,serve}*.test.ts', ...LONG],
          setupFiles: ['test/server/setup.ts'],
          sequence: { groupOrder: 2 },
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'server',
          include: ['test/server/{start,serve}*.test.ts'],
          exclude: LONG,
          setupFiles: ['test/server/setup.ts'],
          // They run alone and one after another: they measure how quickly a server ends, and each server
          // takes a core.
          sequence: { groupOrder: 3 },
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'console',
          include: ['test/console/**/*.test.ts'],
          exclude: ['test/console/**/*.long.test.ts'],
          setupFiles: ['test/server/setup.ts'],
          sequence: { groupOrder: 2 },
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'long-console',
          include: ['test/console/**/*.long.test.ts'],
          setupFiles: ['test/server/setup.ts'],
          sequence: { groupOrder: 4 },
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'long-console-databases',
          // The servers of these tests have three databases, and their state is spread over them.
          include: ['console.test', 'operations.long.test', 'users.long.test'].map(
            (name) => `test/console/${name}.ts`,
          ),
          env: { TEST_DATABASES: '3' },
          setupFiles: ['test/server/setup.ts'],
          sequence: { groupOrder: 4 },
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
      workers({
        name: 'simulation',
        include: ['test/simulation/**/*.test.ts'],
        databases: Number(process.env.SIMULATE_DATABASES ?? 1),
        simulation: simulationSizes(),
        main: 'test/simulation/worker.ts',
        // It is one long file, so the tests over HTTP can use the other core.
        groupOrder: 2,
      }),
      workers({
        name: 'simulation-databases',
        include: ['test/simulation/**/*.test.ts'],
        databases: 3,
        simulation: { from: 2, seeds: 1, size: 'small' },
        main: 'test/simulation/worker.ts',
        groupOrder: 2,
      }),
      workers({
        name: 'databases',
        include: process.env.SPREAD_FILES?.split(',') ?? SPREAD,
        databases: 3,
        groupOrder: 2,
      }),
      workers({ name: 'long-worker', include: LONG_WORKERS, groupOrder: 5 }),
      workers({
        name: 'long-databases',
        include: [...LONG_DATABASES, ...LONG_SPREAD],
        databases: 3,
        groupOrder: 6,
      }),
      {
        test: {
          name: 'long',
          include: LONG,
          setupFiles: ['test/server/setup.ts'],
          sequence: { groupOrder: 4 },
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
})
