/** Makes the assets of the project. Wrangler calls it before it builds the Worker (see `wrangler.toml`). */
import { buildAssets } from './lib/assets.mjs'
import { project, report } from './lib/project.mjs'

buildAssets(project).catch((error) => {
  report(error)
  process.exitCode = 1
})
