/**
 * Makes the assets of the project. Wrangler calls it before it builds the Worker (see `wrangler.toml`). With
 * `--no-console`, it leaves the console as it is.
 */
import { buildAssets } from './lib/assets.mjs'
import { project, report } from './lib/project.mjs'

buildAssets(project, { console: !process.argv.includes('--no-console') }).catch((error) => {
  report(error)
  process.exitCode = 1
})
