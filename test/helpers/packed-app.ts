/** A new folder in which an app has installed packages as they are published. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { inProject, nodeExecutable } from '../../scripts/lib/project.mjs'

const run = promisify(execFile)

/** The Node of this machine. npm puts the project's own one before it. */
const onMachine = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((path) => existsSync(path))

/** The Node of this machine and the project's own one. */
export const NODES = [onMachine ?? process.execPath, nodeExecutable()].map((path) => ({
  version: Number(execFileSync(path, ['-p', 'parseInt(process.versions.node)'])),
  path,
}))

/** The environment of tools. */
const TOOLS = { NODE_ENV: 'production', WRANGLER_SEND_METRICS: 'false', WRANGLER_HIDE_BANNER: 'true' }

export type PackedApp = {
  folder: string
  /** Writes files of the app, by their names. */
  write(files: Record<string, string>): void
  /** Runs a script of the app by a Node, and answers what it prints. */
  node(
    path: string,
    script: string,
    env?: Record<string, string>,
  ): Promise<{ stdout: string; stderr: string }>
  /** Runs a tool of the project in the app's folder, by the tool's path below `node_modules`. */
  tool(script: string, ...args: string[]): Promise<{ stdout: string; stderr: string }>
  remove(): Promise<void>
}

/** Packs folders of the project, such as `node_modules/react`, and installs them. No registry is needed. */
export async function packedApp(...packages: string[]): Promise<PackedApp> {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-packed-'))
  const write = (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  }
  const node = (path: string, script: string, env: Record<string, string> = {}, ...args: string[]) =>
    run(path, [script, ...args], { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 10_000_000 })
  const options = ['--json', '--silent', '--pack-destination', folder]
  const paths = packages.map((path) => `./${path}`)
  const { stdout } = await run('npm', ['pack', ...options, ...paths], { cwd: inProject() })
  const packed: { name: string; filename: string }[] = JSON.parse(stdout)
  const dependencies = Object.fromEntries(packed.map(({ name, filename }) => [name, `file:${filename}`]))
  write({ 'package.json': JSON.stringify({ name: 'app', type: 'module', private: true, dependencies }) })
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund'], { cwd: folder })
  return {
    folder,
    write,
    node: (path, script, env) => node(path, script, env),
    tool: (script, ...args) => node(process.execPath, inProject('node_modules', script), TOOLS, ...args),
    remove: () => rm(folder, { recursive: true }),
  }
}
