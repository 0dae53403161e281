/** The settings of vitest for tests in the Workers run time. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { consumers } from '../queues.ts'

const root = join(import.meta.dirname, '..', '..', '..')

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
 * The consumers of wrangler.toml, but messages come almost at once, and those that failed come again at once, not
 * after half a minute.
 */
const impatientConsumers = () =>
  Object.fromEntries(
    consumers.map(({ queue, ...settings }) => [
      queue,
      {
        maxBatchTimeout: 0.05,
        ...(settings.max_retries !== undefined && { maxRetries: settings.max_retries }),
        ...(settings.dead_letter_queue !== undefined && { deadLetterQueue: settings.dead_letter_queue }),
        retryDelay: 0,
      },
    ]),
  )

type Options = {
  name: string
  include: string[]
  groupOrder?: number
  /** The module of the objects and handlers, if it is not the Worker itself. */
  main?: string
  /** How many databases there are. Each tenant of the tests is spread over all of them. */
  databases?: number
  provide?: { simulation?: { from: number; seeds: number; size: 'small' | 'full' }; isLong?: boolean }
}

/** A project of tests in the Workers run time. */
export const workers = ({ groupOrder = 0, main, databases = 1, ...files }: Options) => ({
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
    // A Worker reads hundreds of modules, one by one. Without isolation, each Worker reads them once for all
    // its test files, and each dependency is one module. The setup file deletes the data of earlier tests.
    isolate: false,
    deps: { optimizer: { ssr: { enabled: true, include: [...dependencies(), 'fast-check'] } } },
    globalSetup: ['receiver', 'quiet'].map((name) => `test/helpers/worker/${name}.setup.ts`),
    setupFiles: ['test/helpers/worker/setup.ts'],
    // The Worker keeps the log lines (test/helpers/worker/lines.ts).
    disableConsoleIntercept: true,
    sequence: { groupOrder },
    testTimeout: 240_000,
    hookTimeout: 300_000,
  },
})
