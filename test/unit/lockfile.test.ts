import { execFile } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { allowScripts } from '../../package.json'

const Package = z.object({
  version: z.string().optional(),
  resolved: z.string().optional(),
  /** Is true for a package of this repository. */
  link: z.literal(true).optional(),
  integrity: z.string().optional(),
  hasInstallScript: z.boolean().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
})

const Lockfile = z.object({ packages: z.record(z.string(), Package) })

const project = join(import.meta.dirname, '..', '..')
const lockedIn = (folder: string) =>
  Lockfile.parse(JSON.parse(readFileSync(join(project, folder, 'package-lock.json'), 'utf8'))).packages
const packages = lockedIn('.')
/** The folders with a lockfile: that of the project, the tools that npm fetches when they are first needed, and examples. */
const folders = globSync('{scripts/tools,examples}/*/package-lock.json', { cwd: project }).map(dirname)
const LOCKED = ['.', ...folders].map((folder) => ({
  folder,
  packages: lockedIn(folder),
}))
/** All packages except those of this repository. */
const dependenciesOf = (all: typeof packages) =>
  Object.entries(all).filter(([path, { link }]) => path.includes('node_modules/') && link === undefined)
const dependencies = dependenciesOf(packages)
/** The folders of this repository with a package.json of their own. */
const workspaces = Object.keys(packages).filter((path) => path !== '' && !path.includes('node_modules/'))

test.each(LOCKED)('the lockfile of $folder names no registry', ({ packages }) => {
  expect(dependenciesOf(packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
})

test.each(LOCKED)('the lockfile of $folder has a hash for every package', ({ packages }) => {
  const unhashed = dependenciesOf(packages).filter(
    ([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''),
  )
  expect(unhashed.map(([path]) => path)).toEqual([])
})

/** Whether a package of a lockfile finds another one: in its own folder, or in one above it. */
const finds = (all: typeof packages, path: string, name: string): boolean =>
  `${path === '' ? '' : `${path}/`}node_modules/${name}` in all ||
  (path !== '' && finds(all, path.slice(0, Math.max(0, path.lastIndexOf('/'))), name))

const EVERY_PACKAGE = 'every package that another one needs, for all platforms, because npm ci requires them'

test.each(LOCKED)(`the lockfile of $folder has ${EVERY_PACKAGE}`, ({ packages }) => {
  const missing = Object.entries(packages).flatMap(
    ([path, { dependencies = {}, optionalDependencies = {} }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies }).filter(
        (name) => !finds(packages, path, name),
      ),
  )
  expect(missing).toEqual([])
})

test('no package runs a script when it is installed: each one that has a script is refused by name', () => {
  expect(readFileSync(join(project, '.npmrc'), 'utf8')).toMatch(/^strict-allow-scripts=true$/m)
  const withScripts = dependencies
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.split('node_modules/').at(-1) ?? '')
  const refused = Object.fromEntries(withScripts.map((name) => [name, false]))
  expect(withScripts).not.toEqual([])
  expect(allowScripts).toEqual(refused)
})

test('every platform that workerd supports gets the same Node', () => {
  const platforms = Object.keys(packages['node_modules/workerd']?.optionalDependencies ?? {})
  const nodes = Object.entries(lockedIn('scripts/tools/node')['']?.optionalDependencies ?? {})
  expect(nodes.map(([name]) => name).filter((name) => !name.startsWith('node-'))).toEqual([])
  expect(nodes).toHaveLength(platforms.length)
  expect(new Set(nodes.map(([, version]) => version)).size).toBe(1)
})

test('npm install prints no warnings, with any Node of the system', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-install-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const workspace of workspaces) mkdirSync(join(folder, workspace), { recursive: true })
  const manifests = workspaces.map((workspace) => join(workspace, 'package.json'))
  for (const file of ['package.json', 'package-lock.json', '.npmrc', ...manifests])
    copyFileSync(join(project, file), join(folder, file))
  // Without the folders of node_modules and without npm's variables for scripts, as in a new terminal.
  const path = (process.env.PATH ?? '').split(delimiter).filter((part) => !part.includes('node_modules'))
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))
  const env = { ...Object.fromEntries(inherited), PATH: path.join(delimiter) }
  const args = ['install', '--package-lock-only', '--offline', '--no-audit', '--no-update-notifier']
  const { stdout, stderr } = await promisify(execFile)('npm', args, { cwd: folder, env })
  expect(stdout).toContain('up to date')
  expect(stderr).toBe('')
})

test('migrations are made with the drizzle-orm that the Worker has', () => {
  const [ours, tools] = ['.', 'scripts/tools/migrations'].map(
    (folder) => lockedIn(folder)['node_modules/drizzle-orm'],
  )
  expect(tools?.integrity).toBe(ours?.integrity)
})
