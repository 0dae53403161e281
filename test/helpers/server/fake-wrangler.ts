/** A project of its own with a wrangler that only notes its calls and answers, for tests of scripts. */
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DIRECTORY_EXISTS, DIRECTORY_ROWS } from '../../../scripts/lib/directory.mjs'
import { APPLIED_QUESTION } from '../../../scripts/lib/migrations.mjs'

const root = join(import.meta.dirname, '..', '..', '..')

/** The bookmark of the first database. */
export const BOOKMARK = '00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683'
/** The call that asks for it. */
export const INFO = 'd1 time-travel info laurel --json'
/** The time of the databases, if `rows` has no other. */
export const MOMENT = '2026-11-22T10:00:00Z'
const question = (sql: string, name = 'laurel') => `d1 execute ${name} --remote --yes --command ${sql} --json`
/** The calls that ask the first database: whether it has the directory, what is in use, and its time. */
export const EXISTS = question(DIRECTORY_EXISTS)
export const IN_USE = question(DIRECTORY_ROWS)
export const TIME = question("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now') AS now")
const migrations = readdirSync(join(root, 'migrations'))
  .filter((name) => name.endsWith('.sql'))
  .toSorted()
/** The migrations that a database has, if `rows` has no others: all but the last one. */
const applied = migrations.slice(0, -1)
const LAST_MIGRATION = migrations.at(-1) ?? ''
/** The calls that migrate a database which lacks the last migration. */
export const migrateCalls = (name = 'laurel', file = LAST_MIGRATION) => [
  question(APPLIED_QUESTION, name),
  `d1 execute ${name} --remote --yes --file .wrangler/migrations/${file}`,
]
export const SECRETS = 'secret list --format json'
export const PUT_SECRET = 'secret put TOKEN_SECRET'
/** The id of a database that is created. */
export const CREATED = '1b4e28ba-2fa1-41d2-883f-0016d3cca427'

/**
 * Notes its arguments, fails if they are those of `fail`, and tells bookmarks, secrets, the id of a new
 * database, its time and what `rows` has for a database, as wrangler does.
 */
const CLI = `
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
const args = process.argv.slice(2)
const call = args.join(' ')
appendFileSync('calls', call.replaceAll('\\n', ' ') + '\\n')
if (existsSync('fail') && readFileSync('fail', 'utf8') === call) {
  console.error('wrangler says no')
  process.exit(1)
}
const secret = existsSync('bare') ? 'ADMIN_API_KEY' : 'TOKEN_SECRET'
if (call === '${SECRETS}') console.log(JSON.stringify([{ name: secret }]))
if (call === '${PUT_SECRET}') appendFileSync('secret', readFileSync(0, 'utf8'))
const name = args[3]
if (call.startsWith('d1 time-travel info'))
  console.log(JSON.stringify({ bookmark: '${BOOKMARK}' + (name === 'laurel' ? '' : '-' + name) }, null, 2))
if (call.startsWith('d1 create'))
  console.log('Successfully created DB\\n\\n[[d1_databases]]\\nbinding = "DB"\\ndatabase_id = "${CREATED}"')
if (call.startsWith('d1 execute') && args.includes('--json')) {
  const all = existsSync('rows') ? JSON.parse(readFileSync('rows', 'utf8')) : {}
  const applied = ${JSON.stringify(applied.map((name) => ({ name })))}
  const rows = { now: [{ now: '${MOMENT}' }], applied, ...all[args[2]] }
  const sql = args[args.indexOf('--command') + 1]
  const of = [['d1_migrations', 'applied'], ['sqlite_schema', 'exists'], ['directory', 'directory']]
  of.push(['strftime', 'now'], ['', 'state'])
  const [, name] = of.find(([word]) => sql.includes(word))
  console.log(JSON.stringify([{ results: rows[name] ?? [], success: true, meta: {} }]))
}
`

/** A database in wrangler.toml. */
export const databaseBlock = (number: number, name: string) =>
  `[[d1_databases]]\nbinding = "DB_${number}"\ndatabase_name = "${name}"\ndatabase_id = "${number}2345678-0000-0000-0000-000000000000"\n`

/** The end of a script. */
export type Outcome = { code: number; output: string }

/** The project. */
export class FakeProject {
  readonly folder = mkdtempSync(join(tmpdir(), 'laurel-wrangler-'))

  constructor() {
    for (const name of ['package.json', 'tsconfig.json', 'src', 'scripts', 'migrations'])
      cpSync(join(root, name), this.file(name), { recursive: true })
    mkdirSync(this.file('node_modules'))
    for (const name of readdirSync(join(root, 'node_modules')))
      if (name !== 'wrangler') symlinkSync(join(root, 'node_modules', name), this.file('node_modules', name))
    mkdirSync(this.file('node_modules', 'wrangler', 'bin'), { recursive: true })
    const real = pathToFileURL(join(root, 'node_modules', 'wrangler', 'wrangler-dist', 'cli.js')).href
    const about = { name: 'wrangler', type: 'module', exports: './index.js' }
    writeFileSync(this.file('node_modules', 'wrangler', 'package.json'), JSON.stringify(about))
    writeFileSync(
      this.file('node_modules', 'wrangler', 'index.js'),
      `import wrangler from ${JSON.stringify(real)}\nexport const { unstable_readConfig } = wrangler\n`,
    )
    writeFileSync(this.file('node_modules', 'wrangler', 'bin', 'wrangler.js'), CLI)
  }

  /** A path in the project. */
  file(...path: string[]): string {
    return join(this.folder, ...path)
  }

  /** The SQL of a migration as it was sent. */
  sent(file: string): string {
    return readFileSync(this.file('.wrangler', 'migrations', file), 'utf8')
  }

  /** The calls of wrangler so far. */
  calls(): string[] {
    return existsSync(this.file('calls')) ? readFileSync(this.file('calls'), 'utf8').trim().split('\n') : []
  }

  /** Writes wrangler.toml with ids of resources, and changed. */
  configure(change: (text: string) => string): void {
    const text = readFileSync(join(root, 'wrangler.toml'), 'utf8').replaceAll(/(?<=id = ")0{8}/g, '12345678')
    writeFileSync(this.file('wrangler.toml'), change(text))
  }

  /** Runs a script. */
  run(script: string, ...args: string[]): Promise<Outcome> {
    return new Promise((resolve) => {
      const env = { PATH: process.env.PATH, HOME: this.folder }
      const command = [`scripts/${script}.mjs`, ...args]
      execFile(process.execPath, command, { cwd: this.folder, env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` })
      })
    })
  }

  /** Forgets what the last test has left. */
  reset(): void {
    for (const name of ['calls', 'fail', 'bare', 'secret', 'rows', '.wrangler'])
      rmSync(this.file(name), { recursive: true, force: true })
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
