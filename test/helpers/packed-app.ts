/** A new folder in which an app has installed packages as they are published. It is removed after the file's last test. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inProject } from '../../scripts/lib/project.mjs'
import { fetchedTool, nodeExecutable } from '../../scripts/lib/tools.mjs'
import { newFolder } from './server/harness'

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

const TOOLS = { NODE_ENV: 'production', WRANGLER_SEND_METRICS: 'false', WRANGLER_HIDE_BANNER: 'true' }

export type PackedApp = {
  folder: string
  /** The packed files, by the names of the packages. */
  packed: Record<string, string>
  /** What is in them, by the names of the packages, and how large it is, in bytes. */
  contents: Record<string, { unpackedSize: number; files: { path: string }[] }>
  /** Writes files of the app, by their names. */
  write(files: Record<string, string>): void
  /** Runs a script of the app by a Node, and answers what it prints. */
  node(
    path: string,
    script: string,
    env?: Record<string, string>,
  ): Promise<{ stdout: string; stderr: string }>
  /** Runs a tool in the app's folder, by its path below `node_modules` of the project, or by its whole path. */
  tool(script: string, ...args: string[]): Promise<{ stdout: string; stderr: string }>
}

/** The first code block of a language in a text of Markdown. */
export const firstExample = (text: string, language: string) =>
  text.split(`\n\`\`\`${language}\n`)[1]?.split('\n```\n')[0] ?? ''

/** What the checkers of packages complain about in an installed package, for `import` in Node and for bundlers. */
export async function complaintsAbout(app: PackedApp, name: string): Promise<string> {
  const modules = fetchedTool('release')
  const checked = [
    app.tool(
      join(modules, 'publint/src/cli.js'),
      join('node_modules', name),
      '--strict',
      '--level',
      'suggestion',
    ),
    app.tool(
      join(modules, '@arethetypeswrong/cli/dist/index.js'),
      app.packed[name] ?? '',
      '--profile',
      'esm-only',
      '-q',
    ),
  ]
  const outcomes = await Promise.allSettled(checked)
  return outcomes
    .map((one) => (one.status === 'rejected' ? `${one.reason.stdout}${one.reason.stderr}` : ''))
    .join('')
}

type PackedPackage = { name: string; filename: string; unpackedSize: number; files: { path: string }[] }

/** Packs folders of the project, and answers what npm says of each package. */
async function packInto(folder: string, packages: readonly string[]) {
  const options = ['--json', '--silent', '--pack-destination', folder]
  const paths = packages.map((path) => `./${path}`)
  const { stdout } = await run('npm', ['pack', ...options, ...paths], { cwd: inProject() })
  const packed: PackedPackage[] = JSON.parse(stdout)
  return packed
}

/**
 * Packs folders of the project, such as `node_modules/react`, and installs them. No registry is needed. Large
 * packages that they need are linked instead: those that the project has itself.
 */
export async function packedApp(...packages: string[]): Promise<PackedApp> {
  const folder = newFolder('laurel-packed')
  const write = (files: Record<string, string>) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  }
  const node = (path: string, script: string, env: Record<string, string> = {}, ...args: string[]) =>
    run(path, [script, ...args], { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 10_000_000 })
  const linked = packages.includes('cli') ? ['workerd', 'modern-tar'] : []
  const packed = await packInto(folder, packages)
  const dependencies = Object.fromEntries([
    ...linked.map((name) => [name, `file:${inProject('node_modules', name)}`]),
    ...packed.map(({ name, filename }) => [name, `file:${filename}`]),
  ])
  write({ 'package.json': JSON.stringify({ name: 'app', type: 'module', private: true, dependencies }) })
  await run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  return {
    folder,
    packed: Object.fromEntries(packed.map(({ name, filename }) => [name, filename])),
    contents: Object.fromEntries(packed.map(({ name, ...content }) => [name, content])),
    write,
    node: (path, script, env) => node(path, script, env),
    tool: (script, ...args) =>
      node(process.execPath, resolve(inProject('node_modules'), script), TOOLS, ...args),
  }
}
