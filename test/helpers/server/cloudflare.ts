/** A project of its own whose scripts, and the real wrangler, talk to a stand-in for Cloudflare's REST API. */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeAll, beforeEach } from 'vitest'
import { fetchedFolder } from '../../../scripts/lib/fetched.mjs'
import { readMigrations } from '../../../scripts/lib/migrations.mjs'
import { nodeExecutable } from '../../../scripts/lib/tools.mjs'
import { NODES } from '../packed-app'
import { type Control, type State, TOKEN } from './cloudflare-server'
import { newFolder, run } from './harness'

const root = join(import.meta.dirname, '..', '..', '..')

const CLASSES = ['Courier', 'DeletionList', 'LeaderboardObject', 'Timekeeper', 'UserLane']
const EMPTY =
  'CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP)'
const MIGRATED = [
  EMPTY,
  ...readMigrations().flatMap(({ name, sql }) => [
    sql,
    `INSERT INTO d1_migrations (name) VALUES ('${name}')`,
  ]),
].join(';\n')

/** Another database in wrangler.toml. */
export const databaseBlock = (number: number, name = `laurel-${number}`): string =>
  `\n[[d1_databases]]\nbinding = "DB_${number}"\ndatabase_name = "${name}"\n`

/** The end of a script. */
export type Outcome = { code: number; output: string }

/**
 * Gives each test an account that has nothing, and a project that is as it was at first. With `laurel`, the project is
 * an empty folder, and the commands are those of this script of an installed `@laurel/cli`.
 */
export function cloudflare(laurel?: () => string) {
  const folder = newFolder('laurel-deploy')
  const file = (...path: string[]) => join(folder, ...path)
  const environment = () => ({
    ...{ PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, TZ: 'Europe/Berlin', HOME: folder },
    ...{ XDG_CACHE_HOME: dirname(dirname(fetchedFolder())), CLOUDFLARE_API_TOKEN: TOKEN },
    CLOUDFLARE_API_BASE_URL: `${scene.origin}/client/v4`,
  })
  const scene = {
    file,
    /** The address of the stand-in, which is also that of the Worker. */
    origin: '',
    /** Tells the stand-in something, and answers its state. */
    control: async (given: Control = {}): Promise<State> => {
      const answered = once(server, 'message')
      server.send(given)
      const [state] = await answered
      return state
    },
    /** Changes wrangler.toml. */
    configure: (change: (text: string) => string) =>
      writeFileSync(file('wrangler.toml'), change(readFileSync(file('wrangler.toml'), 'utf8'))),
    /** Runs a script without a terminal. */
    run: async (script: string, args: string[], variables: NodeJS.ProcessEnv = {}): Promise<Outcome> => {
      const command =
        laurel === undefined
          ? [process.execPath, file('scripts', `${script}.mjs`)]
          : [NODES[0]?.path ?? process.execPath, laurel(), script]
      const { code, said } = await run(folder, [...command, ...args], { ...environment(), ...variables })
      return { code, output: said }
    },
    /** Deploys the build of the project at a terminal, and answers no to a question, or presses something else. */
    refuse: async (question: string, answer = 'n'): Promise<Outcome> => {
      const words = [process.execPath, file('scripts', 'deploy.mjs'), '--built', '--url', scene.origin]
      const args = ['--quiet', '--return', '--command', words.join(' '), '/dev/null']
      const child = spawn('script', args, { cwd: folder, env: environment() })
      const closed = once(child, 'close')
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (part) => {
        const wasAsked = output.includes(question)
        output += part
        if (!wasAsked && output.includes(question)) child.stdin.write(answer)
      })
      const [code] = await closed
      return { code, output }
    },
    /** Makes what a deployment has that was made by hand: databases of these names, with all migrations or none. */
    deployed: async (names: string[], { isMigrated = true } = {}) => {
      for (const name of names)
        await scene.control({ database: { name, sql: isMigrated ? MIGRATED : EMPTY } })
      await scene.control({
        worker: { name: 'laurel', classes: CLASSES },
        namespace: 'laurel-keys',
        queues: ['laurel-repairs', 'laurel-outbox', 'laurel-dead-letters'],
      })
    },
    /** Deploys the build of the project. */
    deploy: (...args: string[]) => scene.run('deploy', ['--built', '--url', scene.origin, ...args]),
  }
  let server: ReturnType<typeof fork>
  beforeAll(() => {
    if (laurel !== undefined) return
    cpSync(join(root, 'scripts'), file('scripts'), { recursive: true })
    for (const name of ['node_modules', 'src', 'migrations', 'package.json', 'tsconfig.json'])
      symlinkSync(join(root, name), file(name))
    mkdirSync(file('dist', 'deploy'), { recursive: true })
    // The stand-in runs no Worker.
    writeFileSync(file('dist', 'deploy', 'index.js'), 'export default { fetch: () => new Response() }\n')
  })
  beforeEach(async () => {
    if (laurel === undefined) {
      cpSync(join(root, 'wrangler.toml'), file('wrangler.toml'))
      // It is about another project.
      writeFileSync(file('.env'), 'CLOUDFLARE_ENV=production\n')
      mkdirSync(file('.wrangler', 'assets'), { recursive: true })
      writeFileSync(file('.wrangler', 'assets', 'page'), 'A page.\n')
    }
    server = fork(join(import.meta.dirname, 'cloudflare-server.ts'), {
      execPath: nodeExecutable(),
      execArgv: ['--no-warnings'],
    })
    const [origin] = await once(server, 'message')
    scene.origin = origin
    await scene.control({ subdomain: 'ada' })
  })
  afterEach(() => {
    server.kill()
    for (const name of ['.wrangler', '.laurel']) rmSync(file(name), { recursive: true, force: true })
  })
  return scene
}
