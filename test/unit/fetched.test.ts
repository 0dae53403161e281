import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const MODULE = join(import.meta.dirname, '..', '..', 'scripts', 'lib', 'fetched.mjs')

/** An npm that notes its call and the variables that it gets, and installs one package, unless a file says otherwise. */
const NPM = `
const { appendFileSync, existsSync, mkdirSync, writeFileSync } = require('node:fs')
const variables = Object.keys(process.env).filter((name) => name.startsWith('npm_')).sort()
appendFileSync(process.env.NOTES, JSON.stringify([process.argv[2], ...variables]) + '\\n')
if (existsSync(process.env.NOTES + '.fail')) { console.error('npm says no'); process.exit(1) }
mkdirSync('node_modules')
if (existsSync(process.env.NOTES + '.none')) process.exit(0)
mkdirSync('node_modules/tool')
writeFileSync('node_modules/tool/index.js', 'whole')
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'laurel-fetched-'))
  mkdirSync(join(folder, 'tool'))
  writeFileSync(join(folder, 'tool', 'package.json'), '{}')
  writeFileSync(join(folder, 'tool', 'package-lock.json'), '{}')
  writeFileSync(join(folder, 'npm-cli.js'), NPM)
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Asks for the packages of the tool in a process of its own. */
async function ask() {
  const code = `
    import { fetchedModules } from ${JSON.stringify(MODULE)}
    console.log(fetchedModules(${JSON.stringify(join(folder, 'tool'))}, 'Fetching the tool …'))
  `
  const env = {
    PATH: process.env.PATH,
    XDG_CACHE_HOME: folder,
    NOTES: join(folder, 'notes'),
    npm_execpath: join(folder, 'npm-cli.js'),
    npm_config_registry: 'http://localhost:4873',
    npm_config_dry_run: 'true',
    npm_config_workspace: 'console',
  }
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', code],
    { env },
  )
  return { modules: stdout.trim(), stderr }
}

const notes = () => readFileSync(join(folder, 'notes'), 'utf8').trim().split('\n')
const kept = () => readdirSync(join(folder, 'laurel', 'tools'))

test('a tool is fetched once, by an npm that knows nothing of the npm that runs now but its registry', async () => {
  const first = await ask()
  expect(first.stderr).toBe('Fetching the tool …\n')
  expect(readFileSync(join(first.modules, 'tool', 'index.js'), 'utf8')).toBe('whole')
  expect(await ask()).toEqual({ modules: first.modules, stderr: '' })
  expect(notes().map((line) => JSON.parse(line))).toEqual([['ci', 'npm_config_registry']])
})

test('processes that need a tool at the same moment all get it, and leave one copy', async () => {
  const answers = await Promise.all([ask(), ask(), ask()])
  for (const { modules } of answers)
    expect(readFileSync(join(modules, 'tool', 'index.js'), 'utf8')).toBe('whole')
  expect(new Set(answers.map(({ modules }) => modules)).size).toBe(1)
  expect(kept()).toHaveLength(1)
})

test('a new version of a tool is fetched beside the old one', async () => {
  const old = await ask()
  writeFileSync(join(folder, 'tool', 'package-lock.json'), '{"version": 2}')
  expect((await ask()).modules).not.toBe(old.modules)
  expect(kept()).toHaveLength(2)
})

test.each([
  ['fail', 'npm says no'],
  ['none', 'could not fetch it'],
])('after npm has failed, nothing is left, and the next run goes on (%s)', async (how, reason) => {
  writeFileSync(join(folder, `notes.${how}`), '')
  await expect(ask()).rejects.toThrow(reason)
  expect(kept()).toEqual([])
  rmSync(join(folder, `notes.${how}`))
  expect((await ask()).modules).toContain(folder)
})
