/** The Worker of the model under wrangler dev, with many databases. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inProject } from '../../../scripts/lib/project.mjs'
import { copy } from '../project.mjs'

/** How many databases are bound. */
export const MOST_DATABASES = 8
const NAMES = [
  'package.json',
  'wrangler.toml',
  'tsconfig.json',
  'src',
  'migrations',
  'bench/model',
  'bench/baseline',
]
/** Sections of wrangler.toml that the model does without. */
const LEFT_OUT = /^\[(build|assets|triggers|\[d1_databases\])\]/
const BASELINE = inProject('bench', 'baseline', 'migrations', '0000_baseline.sql')

/**
 * Starts the Worker in a folder, with empty databases.
 *
 * @param {string} folder
 * @param {string} adminKey
 */
export async function startModel(folder, adminKey) {
  const variables = { ADMIN_API_KEY: adminKey, MULTI_TENANCY: 'on', RATE_LIMITS: 'off' }
  const server = await copy({ folder, from: inProject(), names: NAMES, database: null, variables })
  const whole = readFileSync(join(folder, 'wrangler.toml'), 'utf8')
  const sections = whole
    .replace('src/worker/index.ts', 'bench/model/worker.ts')
    .split(/\n(?=\[)/)
    .filter((section) => !LEFT_OUT.test(section))
  const bindings = ['BARE', ...Array.from({ length: MOST_DATABASES }, (_, index) => bindingOf(index + 1))]
  const databases = bindings.map(
    (name, index) =>
      `[[d1_databases]]\nbinding = "${name}"\ndatabase_name = "${name.toLowerCase()}"\n` +
      `database_id = "00000000-0000-0000-0000-${String(index).padStart(12, '0')}"\n`,
  )
  writeFileSync(join(folder, 'wrangler.toml'), [...sections, ...databases].join('\n'))
  await server.start()
  // Only here, since wrangler.toml and this package are read at once.
  const { readD1Migrations } = await import('@cloudflare/vitest-plugin')
  const migrations = await readD1Migrations({ projectPath: inProject() })
  const body = {
    queries: migrations.flatMap(({ queries }) => queries),
    bare: readFileSync(BASELINE, 'utf8')
      .split(/;\s*/)
      .filter((sql) => sql !== ''),
  }
  await server.ask('POST', '/prepare', { body })
  return server
}

const bindingOf = (/** @type {number} */ number) => (number === 1 ? 'DB' : `DB_${number}`)
