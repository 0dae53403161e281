/**
 * Runs a tool, with a Node that is new enough: `node scripts/tool.mjs PATH …`. The path is below `node_modules`, or it
 * begins with a folder of `scripts/tools`, whose packages npm fetches when they are first needed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SIGNALS } from './lib/ending.mjs'
import { fetchedTool, inProject, nodeExecutable, runCommand, toolScript } from './lib/project.mjs'
import { QUIET } from './lib/wrangler.mjs'

await runCommand(async () => {
  const [path = '', ...args] = process.argv.slice(2)
  const [first = '', ...rest] = path.split('/')
  const isFetched = existsSync(inProject('scripts', 'tools', first))
  const script = isFetched ? join(fetchedTool(first), ...rest) : toolScript(first, ...rest)
  const options = /** @type {const} */ ({ stdio: 'inherit', env: { ...process.env, ...QUIET } })
  const child = spawn(nodeExecutable(), [script, ...args], options)
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
})
