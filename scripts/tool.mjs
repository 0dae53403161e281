/**
 * Runs a tool, with a Node that is new enough: `node scripts/tool.mjs PATH …`. The path is below `node_modules`, or it
 * begins with a folder of `scripts/tools`, whose packages npm fetches when they are first needed.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './lib/command.mjs'
import { inProject, toolScript } from './lib/project.mjs'
import { fetchedTool, runInFront } from './lib/tools.mjs'
import { QUIET, wranglerScript } from './lib/wrangler.mjs'

await runCommand(async () => {
  const [path = '', ...args] = process.argv.slice(2)
  const [first = '', ...rest] = path.split('/')
  const scriptOf = () => {
    if (first === 'wrangler') return wranglerScript()
    const isFetched = existsSync(inProject('scripts', 'tools', first))
    return isFetched ? join(fetchedTool(first), ...rest) : toolScript(first, ...rest)
  }
  process.exitCode = await runInFront([scriptOf(), ...args], { env: { ...process.env, ...QUIET } })
})
