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
const LEFT_OUT = /^\[(build|assets|triggers)\]/
/** The database of the bare Worker. */
const BARE = `
[[d1_databases]]
binding = "BARE"
database_name = "bare"
database_id = "00000000-0000-0000-0000-00000000ba6e"
`
const BASELINE = inProject('bench', 'baseline', 'migrations', '0000_baseline.sql')

/**
 * Starts the Worker in a folder, with empty databases.
 *
 * @param {string} folder
 * @param {string} adminKey
 */
export async function startModel(folder, adminKey) {
  const variables = { ADMIN_API_KEY: adminKey, MULTI_TENANCY: 'on', RATE_LIMITS: 'off' }
  const server = await copy({
    folder,
    from: inProject(),
    names: NAMES,
    database: 'laurel',
    variables,
    main: 'bench/model/worker.ts',
    databases: MOST_DATABASES,
  })
  const toml = join(folder, 'wrangler.toml')
  const sections = readFileSync(toml, 'utf8')
    .split(/\n(?=\[)/)
    .filter((section) => !LEFT_OUT.test(section))
  writeFileSync(toml, [...sections, BARE].join('\n'))
  await server.start()
  const bare = readFileSync(BASELINE, 'utf8')
    .split(/;\s*/)
    .filter((sql) => sql !== '')
  const { body } = await server.ask('POST', '/prepare', { body: { bare } })
  if (body.databases !== MOST_DATABASES) throw new Error(`only ${body.databases} databases are bound`)
  return server
}
