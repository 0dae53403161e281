/**
 * Makes the assets of the project. Wrangler calls it before it builds the Worker (see `wrangler.toml`). With
 * `--no-console`, it leaves the console as it is.
 */
import { buildAssets } from './lib/assets.mjs'
import { runCommand } from './lib/command.mjs'
import { project } from './lib/project.mjs'

runCommand(() => buildAssets(project, { console: !process.argv.includes('--no-console') }))
