import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

const root = import.meta.dirname

// The Worker's assets, as wrangler makes them before it starts or deploys.
execFileSync(process.execPath, ['scripts/assets.mjs'], { cwd: root, stdio: 'inherit' })

/** All that src imports from packages, types aside. */
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
 * What the developer's own `.dev.vars` names, which wrangler hands to tests as well: each empty, which is as good as none. Its PUBLIC_URL or
 * ADMIN_HOST would have them fail.
 */
function noDevVars(): Record<string, string> {
  const file = join(root, '.dev.vars')
  const named = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}
  return Object.fromEntries(Object.keys(named).map((name) => [name, '']))
}

/** Random worlds, faults at each step of a write, one by one, and many users as large as may be: `npm run test:long`. `npm test` has the simulation. */
const LONG_WORKERS = [
  'faults',
  'fuzz',
  'inbox-faults',
  'leaderboards-faults',
  'leaderboards.property',
  'outbox-faults',
  'purge-faults',
  'schedule.property',
  'sizes-many',
  'timekeeper-faults',
].map((name) => `test/worker/${name}.test.ts`)

/** Servers that are killed and started again, for half a minute and more each: `npm run test:long`. */
const LONG = ['webhooks-events', 'webhooks', 'restart', 'start-failures', 'kill', 'fuzz'].map(
  (name) => `test/server/${name}.test.ts`,
)

/** Which simulations are played, as `npm run simulate` asks for it: seeds, and how large they are. */
function simulationSizes(): { from: number; seeds: number; size: 'small' | 'full' } {
  const { SIMULATE_FROM = '1', SIMULATE_SEEDS = '5', SIMULATE_SIZE } = process.env
  return {
    from: Number(SIMULATE_FROM),
    seeds: Number(SIMULATE_SEEDS),
    size: SIMULATE_SIZE === 'full' ? 'full' : 'small',
  }
}

/** A project of tests in the Workers run time. */
const workers = ({
  groupOrder,
  main,
  ...files
}: {
  name: string
  include: string[]
  exclude?: string[]
  groupOrder: number
  /** The module that the objects and handlers are of, where it is not the Worker itself. */
  main?: string
}) => ({
  plugins: [
    cloudflareTest(async () => ({
      ...(main !== undefined && { main: join(root, main) }),
      wrangler: { configPath: join(root, 'wrangler.toml') },
      miniflare: {
        bindings: {
          ...noDevVars(),
          ADMIN_API_KEY: 'adm_test.the-key-of-the-tests-and-of-nothing-else',
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
    // A Worker reads some hundred modules, one by one: each does so once, for all the files that it is given, and reads dependencies as one
    // module each. The setup file takes away what was stored before.
    isolate: false,
    deps: { optimizer: { ssr: { enabled: true, include: dependencies() } } },
    globalSetup: ['test/worker/receiver.setup.ts', 'test/worker/quiet.setup.ts'],
    setupFiles: ['test/worker/setup.ts'],
    // What is logged is kept in the Worker (lines.ts).
    disableConsoleIntercept: true,
    sequence: { groupOrder },
    testTimeout: 240_000,
    hookTimeout: 300_000,
  },
})

export default defineConfig({
  test: {
    // Of what tests log, only what those that fail say is worth reading.
    silent: 'passed-only',
    // Every core, where vitest would leave one idle: the Workers' tests wait for their database half of the time.
    maxWorkers: '100%',
    provide: { simulation: simulationSizes() },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          testTimeout: 240_000,
          // The checker of regular expressions runs in this process, without a binary of its own.
          env: { RECHECK_BACKEND: 'pure' },
        },
      },
      { test: { name: 'contract', include: ['test/contract/**/*.test.ts'] } },
      workers({
        name: 'worker',
        include: ['test/worker/**/*.test.ts'],
        exclude: LONG_WORKERS,
        groupOrder: 1,
      }),
      {
        test: {
          name: 'http',
          include: ['test/server/**/*.test.ts'],
          exclude: ['test/server/start*.test.ts', ...LONG],
          setupFiles: ['test/server/setup.ts'],
          sequence: { groupOrder: 2 },
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'server',
          include: ['test/server/start*.test.ts'],
          exclude: LONG,
          setupFiles: ['test/server/setup.ts'],
          // Alone and one after another: they measure how quickly a server ends, and each server takes a core.
          sequence: { groupOrder: 3 },
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 300_000,
        },
      },
      workers({
        name: 'simulation',
        include: ['test/simulation/**/*.test.ts'],
        main: 'test/simulation/worker.ts',
        // It is one long file, which leaves a core to those over HTTP.
        groupOrder: 2,
      }),
      workers({ name: 'long-worker', include: LONG_WORKERS, groupOrder: 5 }),
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
