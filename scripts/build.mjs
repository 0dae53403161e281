/**
 * Builds what `npm start` and `npm run serve` run, if a source has changed since the last build. Both call it. With
 * `--may-lack-console`, a console that cannot be built does not stop it.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './lib/command.mjs'
import { hashOf } from './lib/hash.mjs'
import { BUILT, project } from './lib/project.mjs'
import { build } from './serve/build.mjs'

const SOURCES = [
  ...['src', 'migrations', 'console', 'clients', 'scripts', 'README.md', 'dist/site-of-worker'],
  ...['wrangler.toml', 'tsconfig.json', 'package.json', 'package-lock.json'],
]
/** The file with the hash of the sources. It is written at the end of a build. */
const MADE_OF = join(BUILT, 'sources')

await runCommand(async () => {
  const sources = hashOf(project, SOURCES)
  if (existsSync(MADE_OF) && readFileSync(MADE_OF, 'utf8') === sources) return
  process.stderr.write('Building Laurel…\n')
  rmSync(MADE_OF, { force: true })
  const hasConsole = await build(BUILT, { mayLackConsole: process.argv.includes('--may-lack-console') })
  if (hasConsole) writeFileSync(MADE_OF, sources)
})
