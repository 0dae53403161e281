/**
 * Builds what `npm start` and `npm run serve` run, if a source has changed since the last build. Both call it. With
 * `--may-lack-console`, a console that cannot be built does not stop it.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, relative } from 'node:path'
import { runCommand } from './lib/command.mjs'
import { hashOf } from './lib/hash.mjs'
import { isAnswered, listenError } from './lib/port.mjs'
import { BUILT, inHome, makeHome, project } from './lib/project.mjs'
import { until } from './lib/until.mjs'
import { build } from './serve/build.mjs'

const SOURCES = [
  ...['src', 'migrations', 'console', 'clients', 'scripts', 'README.md', 'dist/site-of-worker'],
  ...['wrangler.toml', 'tsconfig.json', 'package.json', 'package-lock.json'],
]
/** The file with the hash of the sources. It is written at the end of a build. */
const MADE_OF = join(BUILT, 'sources')

/** A Unix socket on which the process listens that builds: a second one would write the same files meanwhile. */
const LOCK = relative('.', inHome('build.sock'))
const lock = createServer()

/** Is true once this process has the lock, or if there can be none. */
async function isAlone() {
  const error = await listenError(lock, { path: LOCK })
  if (error?.code !== 'EADDRINUSE') return true
  if (await isAnswered({ path: LOCK })) return false
  // Of a build that was killed.
  rmSync(LOCK, { force: true })
  return isAlone()
}

await runCommand(async () => {
  makeHome()
  if (!(await isAlone())) {
    process.stderr.write('Another process builds Laurel here. Waiting for it…\n')
    await until(isAlone, { patience: 600_000, pause: 200 })
  }
  try {
    const sources = hashOf(project, SOURCES)
    if (existsSync(MADE_OF) && readFileSync(MADE_OF, 'utf8') === sources) return
    process.stderr.write('Building Laurel…\n')
    rmSync(MADE_OF, { force: true })
    const hasConsole = await build(BUILT, { mayLackConsole: process.argv.includes('--may-lack-console') })
    if (hasConsole) writeFileSync(MADE_OF, sources)
  } finally {
    lock.close()
  }
})
