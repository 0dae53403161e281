/**
 * The clients that generators of others make from the OpenAPI documents, as docs/other-languages.md shows: its
 * commands and files run unchanged, beside a server with the demo. The packages come from npm and PyPI, in the
 * versions that the page names.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { inProject } from '../../../scripts/lib/project.mjs'
import { fetchedTool, nodeExecutable } from '../../../scripts/lib/tools.mjs'
import { dependencies } from '../../../scripts/tools/generators/package.json'
import { blocksOf, isShell } from '../../helpers/server/examples'
import { newFolder, type Server, startServer } from '../../helpers/server/harness'

const MINUTES = 600_000
const blocks = blocksOf(readFileSync(inProject('docs', 'other-languages.md'), 'utf8'))
const run = promisify(execFile)

let server: Server
let folder: string
beforeAll(async () => {
  server = await startServer()
})
beforeEach(() => {
  folder = newFolder('laurel-languages')
})

/** Runs commands in the folder, and answers all that they print. Throws if one of them fails. */
async function shell(commands: string): Promise<string> {
  const env = {
    ...process.env,
    // npm puts the Node and the tools of the project before those of the machine.
    PATH: [dirname(nodeExecutable()), process.env.PATH].join(delimiter),
    URL: server.url,
    ADMIN_API_KEY: server.adminKey,
  }
  const { stdout, stderr } = await run('bash', ['-euo', 'pipefail', '-c', commands], { cwd: folder, env })
  return stdout + stderr
}

/** The commands and the output that a section shows, after its files are written. */
async function readSection(heading: string) {
  const section = blocks.filter((block) => block.heading === heading)
  for (const { code } of section) {
    const [, file] = /^(?:\/\/|#) (\S+\.\w+)\n/.exec(code) ?? []
    if (file !== undefined) await writeFile(join(folder, file), code)
  }
  return {
    commands: section.filter(isShell).map(({ code }) => code),
    output: section.find(({ language }) => language === 'text')?.code,
  }
}

/** Why a registry can't be reached; null if `fetch` works. */
async function missing(fetch: () => Promise<unknown>): Promise<string | null> {
  try {
    await fetch()
    return null
  } catch (error) {
    return String(error).split('\n', 2).join(' ')
  }
}

it(
  'openapi-typescript makes types from both documents, and its client sends an event and reads a streak',
  async ({ skip }) => {
    let modules = ''
    const reason = await missing(async () => {
      modules = fetchedTool('generators')
    })
    if (reason !== null) skip(`no npm registry: ${reason}`)
    const { commands, output } = await readSection('TypeScript')
    const [install = '', generate = '', start = ''] = commands
    const installed = [...install.matchAll(/ (@?[\w/-]+)@(\d[\w.-]*)/g)].map(([, name, version]) => [
      name,
      version,
    ])
    expect(Object.fromEntries(installed)).toEqual(dependencies)

    await writeFile(join(folder, 'package.json'), '{"type": "module"}')
    await symlink(modules, join(folder, 'node_modules'), 'dir')
    expect(await shell(generate)).not.toMatch(/warn|error|⚠/i)
    expect(await readFile(join(folder, 'laurel-admin.d.ts'), 'utf8')).toContain('"/achievements"')
    expect(await shell(start)).toBe(output)
  },
  MINUTES,
)

it(
  'openapi-python-client makes clients from both documents without a warning, which send an event and read a streak',
  async ({ skip }) => {
    const { commands, output } = await readSection('Python')
    const [install = '', start = ''] = commands
    const steps = install.trim().split('\n')
    const generate = steps.findIndex((line) => line.startsWith('openapi-python-client'))
    const reason = await missing(() => shell(steps.slice(0, generate).join('\n')))
    if (reason !== null) skip(`no PyPI, or no Python with venv: ${reason}`)

    const activate = steps.slice(1, 2)
    const generated = await shell([...activate, ...steps.slice(generate)].join('\n'))
    expect(generated.trim().split(/\n+/)).toEqual(['Generating laurel', 'Generating laurel_admin'])
    expect(await shell([...activate, start].join('\n'))).toBe(output)
    const list = `
import os
from laurel_admin import AuthenticatedClient
from laurel_admin.api.metrics import admin_metrics_list
laurel = AuthenticatedClient(os.environ["URL"] + "/admin/v1", os.environ["ADMIN_API_KEY"], prefix="", auth_header_name="X-API-KEY")
print(admin_metrics_list.sync(client=laurel)[0].key)`
    await writeFile(join(folder, 'list.py'), list)
    expect(await shell([...activate, 'python3 list.py'].join('\n'))).toBe('demo-lessons\n')
  },
  MINUTES,
)
