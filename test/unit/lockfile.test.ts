import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
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
  optionalDependencies: z.record(z.string(), z.string()).optional(),
})

const Lockfile = z.object({ packages: z.record(z.string(), Package) })

const project = join(import.meta.dirname, '..', '..')
const { packages } = Lockfile.parse(JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')))
/** All packages except those of this repository. */
const dependencies = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && link === undefined,
)
/** The folders of this repository with a package.json of their own. */
const workspaces = Object.keys(packages).filter((path) => path !== '' && !path.includes('node_modules/'))

test('the lockfile names no registry', () => {
  expect(dependencies.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
})

test('the lockfile has a hash for every package', () => {
  const unhashed = dependencies.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
  expect(unhashed.map(([path]) => path)).toEqual([])
})

test('the lockfile has an entry for every platform of a package, because npm ci requires them', () => {
  const missing = Object.entries(packages).flatMap(([name, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (dependency) =>
        !(`${name}/node_modules/${dependency}` in packages) && !(`node_modules/${dependency}` in packages),
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
  const nodes = Object.entries(packages['']?.optionalDependencies ?? {})
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
  // Without the project's own Node and without npm's variables for scripts, as in a new terminal.
  const path = (process.env.PATH ?? '').split(delimiter).filter((part) => !part.includes('node_modules'))
  const inherited = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))
  const env = { ...Object.fromEntries(inherited), PATH: path.join(delimiter) }
  const args = ['install', '--package-lock-only', '--offline', '--no-audit', '--no-update-notifier']
  const { stdout, stderr } = await promisify(execFile)('npm', args, { cwd: folder, env })
  expect(stdout).toContain('up to date')
  expect(stderr).toBe('')
})
