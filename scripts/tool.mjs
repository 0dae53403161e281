/**
 * Runs a tool, with a Node that is new enough: `node scripts/tool.mjs PATH …`. The path is below `node_modules`, or it
 * begins with a folder of `scripts/tools`, whose packages npm fetches when they are first needed.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './lib/command.mjs'
import { fetchedTool, inProject, runInFront, toolScript } from './lib/project.mjs'
import { QUIET } from './lib/wrangler.mjs'

await runCommand(async () => {
  const [path = '', ...args] = process.argv.slice(2)
  const [first = '', ...rest] = path.split('/')
  // wrangler is installed with the project. Only the package may have to fetch it.
  const isFetched = first !== 'wrangler' && existsSync(inProject('scripts', 'tools', first))
  const script = isFetched ? join(fetchedTool(first), ...rest) : toolScript(first, ...rest)
  process.exitCode = await runInFront([script, ...args], { env: { ...process.env, ...QUIET } })
})
