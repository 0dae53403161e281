/**
 * The version before a migration serves on the new tables, as between migration and deployment and after a
 * rollback. Its `/health` is 503 if the migration notes that this version can't serve everything. Then the
 * version after the migration serves with all that both have stored. The present version is the one before a
 * scratch version, and, as soon as there is a second migration, the one after the commit before the newest.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { NEEDED_MIGRATION } from '../../../src/platform/schema-version.sql'
import { askPlainly, newFolder, newProject, type Server, startServer } from '../../helpers/server/harness'
import { inDatabase, STATE } from '../../helpers/server/local-state'

const root = join(import.meta.dirname, '..', '..', '..')
const migrations = readdirSync(join(root, 'migrations')).filter((name) => name.endsWith('.sql'))
const newest = migrations.toSorted().at(-1) ?? ''

/** The projects of two versions, and the migration that the later one adds. */
type Versions = { before: string; after: string; migration: string; beforeServes: boolean }

/** Replaces the text in the one file of the source that has it. */
function edit(folder: string, text: string, by: string): void {
  const source = join(folder, 'src')
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ path: join(source, name), all: readFileSync(join(source, name), 'utf8') }))
    .filter(({ all }) => all.includes(text))
  expect(files.map(({ all }) => all.split(text).length)).toEqual([2])
  for (const { path, all } of files) writeFileSync(path, all.replace(text, by))
}

/** The present version, and one after it with a new column, which it needs. */
async function presentAndScratch(beforeServes: boolean): Promise<Versions> {
  const [before, after] = [await newProject(), await newProject()]
  const number = migrations.length
  const migration = `${String(number).padStart(4, '0')}_scratch`
  const oldest = beforeServes ? NEEDED_MIGRATION.number : number
  const statements = [
    "ALTER TABLE `metrics` ADD `scratch` text DEFAULT 'none' NOT NULL",
    `UPDATE \`schema_version\` SET \`migration\` = ${number}, \`name\` = '${migration}', \`oldest\` = ${oldest}`,
  ]
  const sql = statements.map((statement) => `${statement};\n`).join('--> statement-breakpoint\n')
  writeFileSync(join(after, 'migrations', `${migration}.sql`), sql)
  const journal = join(after, 'migrations', 'meta', '_journal.json')
  const { entries, ...rest } = JSON.parse(readFileSync(journal, 'utf8'))
  writeFileSync(journal, JSON.stringify({ ...rest, entries: [...entries, { idx: number, tag: migration }] }))
  edit(
    after,
    "  units: text('units')",
    "  scratch: text('scratch').notNull().default('none'),\n  units: text('units')",
  )
  return { before, after, migration, beforeServes }
}

/** The commit before the one that added the newest migration; null if it has none, or without the history. */
function commitBefore(): string | null {
  if (migrations.length === 1) return null
  const git = (...args: string[]) => {
    const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
    return status === 0 ? stdout.trim() : null
  }
  // A folder inside another repository has no history of its own.
  if (git('rev-parse', '--show-prefix') !== '') return null
  const path = `migrations/${newest}`
  const added = git('log', '--no-renames', '--diff-filter=A', '--format=%H', '-1', '--', path)
  if (added === null) return null
  // A migration that is not committed yet comes after the last commit.
  return git('rev-parse', '--verify', '--quiet', added === '' ? 'HEAD' : `${added}^`)
}

/** Makes the project of a commit, with the packages of the present one. */
function checkOut(commit: string): string {
  const folder = newFolder('laurel-before')
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 256 << 20 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
  return folder
}

async function commitAndPresent(commit: string): Promise<Versions> {
  const sql = readFileSync(join(root, 'migrations', newest), 'utf8')
  const [, oldest] = /`oldest` = (\d+);\s*$/.exec(sql) ?? []
  expect(oldest).toBeDefined()
  return {
    before: checkOut(commit),
    after: await newProject(),
    migration: newest.replace(/\.sql$/, ''),
    beforeServes: Number(oldest) < Number(newest.slice(0, 4)),
  }
}

/** Applies a migration of another version to the database in this folder, which a server uses at that time. */
function applyMigration(folder: string, of: string, name: string): void {
  const sql = readFileSync(join(of, 'migrations', `${name}.sql`), 'utf8')
  const note = `INSERT INTO d1_migrations (name) VALUES ('${name}.sql')`
  inDatabase(join(folder, STATE), 1, `BEGIN;\n${sql}\n${note};\nCOMMIT`)
}

/** Sends a request. Not by `fetch`: that checks against the contract of the present version. */
function send({ port, adminKey }: Server, method: string, path: string, body?: unknown) {
  const headers = { 'x-api-key': adminKey, 'idempotency-key': path + method }
  return askPlainly(`http://127.0.0.1:${port}`, method, path, headers, JSON.stringify(body))
}

const commit = commitBefore()
const pairs: [what: string, make: () => Promise<Versions>][] = [
  ['the present version and a scratch version that only adds', () => presentAndScratch(true)],
  [
    'the present version and a scratch version with which it cannot fully serve',
    () => presentAndScratch(false),
  ],
]
if (commit !== null) pairs.push(['the version before the newest migration', () => commitAndPresent(commit)])

let server: Server | undefined
afterEach(() => server?.stop())

it.each(pairs)(
  'the earlier one serves after the migration, and the later one goes on: %s',
  async (_what, make) => {
    const { before, after, migration, beforeServes } = await make()
    const env = { DEMO: 'off', RATE_LIMITS: 'off' }
    let total = 0
    const event = async (running: Server) => {
      total += 1
      const sent = { user: { id: 'ada' }, value: 1 }
      const { status, body } = await send(running, 'POST', `/v1/metrics/steps/event?${total}`, sent)
      expect([status, body.total], JSON.stringify(body)).toEqual([201, total])
    }
    const reads = async (running: Server, healthy = true) => {
      const health = await send(running, 'GET', '/health')
      if (healthy) expect(health.status).toBe(200)
      else expect(health).toMatchObject({ status: 503, body: { error: expect.stringContaining(migration) } })
      for (const path of ['', '/streak', '/achievements', '/metrics/steps', '/metrics', '/preferences'])
        expect([path, (await send(running, 'GET', `/v1/users/ada${path}`)).status]).toEqual([path, 200])
      expect((await send(running, 'GET', '/v1/users/ada/metrics/steps')).body.current).toBe(total)
      expect((await send(running, 'GET', '/admin/v1/users/ada/export')).body.events).toHaveLength(total)
    }
    /** Hands the data of one project to the other, whose server is then started. */
    const goOn = async (from: string, to: string) => {
      await server?.stop()
      for (const name of ['.laurel', '.dev.vars']) {
        rmSync(join(to, name), { recursive: true, force: true })
        cpSync(join(from, name), join(to, name), { recursive: true })
      }
      server = await startServer({ folder: to, env })
      return server
    }

    server = await startServer({ folder: before, env })
    const metric = [{ key: 'steps', name: 'Steps', unitType: 'number', units: 'steps' }]
    expect((await send(server, 'POST', '/admin/v1/metrics', metric)).status).toBe(201)
    await event(server)
    // The version before does not know of it.
    applyMigration(before, after, migration)
    await event(server)
    await reads(server, beforeServes)
    // The version after, on the same data.
    await reads(await goOn(before, after))
    await event(server)
    await reads(server)
    if (!beforeServes) return
    // After a rollback.
    await reads(await goOn(after, before))
    await event(server)
    await reads(server)
  },
)
