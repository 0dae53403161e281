/**
 * The version before the newest migration serves on it, as between migration and deployment and after a
 * rollback. Its `/health` is 503 if the migration notes that this version can't serve everything. Then the
 * present version serves with all that both have stored. The version before comes from the history of git.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newProject, type Server, startServer } from './harness'

const root = join(import.meta.dirname, '..', '..')
const migrations = readdirSync(join(root, 'migrations')).filter((name) => name.endsWith('.sql'))
const newest = migrations.toSorted().at(-1) ?? ''

/** Whether a version that needs only the migrations before the newest one can serve everything with it. */
function servesWithNewest(): boolean {
  const sql = readFileSync(join(root, 'migrations', newest), 'utf8')
  const [, oldest] = /`oldest` = max\((\d+), `oldest`\);\s*$/.exec(sql) ?? []
  expect(oldest).toBeDefined()
  return Number(oldest) < Number(newest.slice(0, 4))
}

/** The commit before the one that added the newest migration, or null without the history. */
function commitBefore(): string | null {
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

/** Applies the migrations in this folder to its database, which a server may use at that time. */
function applyMigrations(folder: string): void {
  const script = "import('./scripts/lib/wrangler.mjs').then((x) => x.applyLocalMigrations('laurel').done)"
  execFileSync(process.execPath, ['--eval', script], { cwd: folder })
}

/** Makes the project of a commit, with the packages of the present one. */
function checkOut(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-before-'))
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 256 << 20 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
  return folder
}

/** Sends a request. Not by `fetch`: that checks against the contract of the present version. */
function send({ port, adminKey }: Server, method: string, path: string, body?: unknown) {
  const headers = {
    'x-api-key': adminKey,
    'content-type': 'application/json',
    'idempotency-key': path + method,
  }
  return new Promise<{ status: number | undefined; body: ReturnType<ObjectConstructor> }>(
    (resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, method, path, headers }, async (response) => {
        let text = ''
        for await (const part of response) text += part
        resolve({ status: response.statusCode, body: Object(JSON.parse(text)) })
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    },
  )
}

const commit = commitBefore()
if (commit === null)
  console.warn(`Skipped: there is no git history of ${newest}, so there is no version before it to test.`)

it.skipIf(commit === null)(
  'the version before the newest migration serves on it, and the present version goes on from there',
  async () => {
    const before = checkOut(commit ?? '')
    const present = await newProject()
    const env = { DEMO: 'off', RATE_LIMITS: 'off' }
    let server: Server | undefined
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
      else {
        const reason = expect.stringContaining(newest.replace(/\.sql$/, ''))
        expect(health).toMatchObject({ status: 503, body: { error: reason } })
      }
      for (const path of ['', '/streak', '/achievements', '/metrics/steps', '/metrics', '/preferences'])
        expect([path, (await send(running, 'GET', `/v1/users/ada${path}`)).status]).toEqual([path, 200])
      expect((await send(running, 'GET', '/v1/users/ada/metrics/steps')).body.current).toBe(total)
      expect((await send(running, 'GET', '/admin/v1/users/ada/export')).body.events).toHaveLength(total)
    }
    try {
      server = await startServer({ folder: before, env })
      const metric = [{ key: 'steps', name: 'Steps', unitType: 'number', units: 'steps' }]
      expect((await send(server, 'POST', '/admin/v1/metrics', metric)).status).toBe(201)
      await event(server)
      // The newest migrations, and the version before.
      cpSync(join(root, 'migrations'), join(before, 'migrations'), { recursive: true })
      applyMigrations(before)
      await event(server)
      await reads(server, servesWithNewest())
      await server.stop()
      if (servesWithNewest()) {
        server = await startServer({ folder: before, env })
        await event(server)
        await reads(server)
        await server.stop()
      }
      // The present version on the same state.
      for (const name of ['.wrangler', '.dev.vars'])
        cpSync(join(before, name), join(present, name), { recursive: true })
      server = await startServer({ folder: present, env })
      await reads(server)
      await event(server)
      await reads(server)
    } finally {
      await server?.stop()
      for (const folder of [before, present]) rmSync(folder, { recursive: true, force: true })
    }
  },
)
