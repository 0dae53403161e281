/** Makes the assets of the project: wrangler calls it, as `wrangler.toml` says, before it builds the Worker. */
import { buildAssets } from './lib/assets.mjs'
import { project, report } from './lib/project.mjs'

buildAssets(project).catch((error) => {
  report(error)
  process.exitCode = 1
})
