/** Runs the examples of the README and of docs/, unchanged, in a new shell, against a server. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { PATIENCE } from '../../helpers/patience'
import {
  blocksOf,
  type Example,
  examplesOf,
  expectation,
  filesOf,
  isShell,
  variablesOf,
} from '../../helpers/server/examples'
import { freePort, newProject, type Server, startServer } from '../../helpers/server/harness'
import { STATE } from '../../helpers/server/local-state'
import { commandLine } from '../../helpers/server/processes'
import { type RecordingProxy, Shell, startProxy } from '../../helpers/server/shell'

const root = join(import.meta.dirname, '..', '..', '..')

/** Every page of the project. */
const PAGES = globSync(['*.md', 'bench/*.md', 'docs/**/*.md', 'clients/typescript/*.md'], {
  cwd: root,
}).sort()
const pageOf = (name: string) => readFileSync(join(root, name), 'utf8')

/** The pages whose examples need the demo, in the order in which they run. */
const TOUR = 'docs/guides/tour.md'
const ON_THE_DEMO = ['README.md', TOUR]

/** The README of the client library. */
const CLIENT = 'clients/typescript/README.md'

/** The pages by task, in the order of the index. The examples of each continue those of the one before. */
const BY_TASK = [...pageOf('docs/README.md').matchAll(/\]\((api\/[\w-]+\.md)\)/g)].map(
  ([, path]) => `docs/${path}`,
)

/** The pages whose examples begin with an empty service. Each group is for one shell. */
const FROM_NOTHING: [name: string, pages: string[]][] = [
  ['docs/api', BY_TASK],
  ...[
    ...['migrating', 'notifications', 'support', 'webhooks'].map((name) => `docs/${name}.md`),
    CLIENT,
    ...PAGES.filter((name) => name.startsWith('docs/guides/') && name !== TOUR),
  ].map((name): [string, string[]] => [name, [name]]),
]
const RUN = [...ON_THE_DEMO, ...FROM_NOTHING.flatMap(([, pages]) => pages)]

/** The time limit of a page on a slow machine, in milliseconds. */
const MINUTES = 240_000

// The examples import the client library as it is published. Node cannot run its sources.
beforeAll(() => execFileSync(process.execPath, ['clients/typescript/scripts/build.mjs'], { cwd: root }))

const hasShell = ['curl', 'bash'].every((command) => spawnSync(command, ['--version']).status === 0)

describe.each(PAGES)('%s', (name) => {
  const page = pageOf(name)
  const blocks = blocksOf(page)

  test('contains no example without a test, unless a comment above says why', () => {
    const examples = examplesOf(page)
    const isRun = RUN.includes(name)
    const responses = examples.filter(({ expected }) => expected?.body !== undefined)
    const files = filesOf(page).filter(([file]) =>
      examples.some(({ commands }) => commands.includes(`node ${file}`)),
    )
    const isTested = ({ language, code }: (typeof blocks)[number]) =>
      language === 'text' ||
      (language === 'toml' && readFileSync(join(root, 'wrangler.toml'), 'utf8').includes(code)) ||
      (language === 'js' && files.some(([, one]) => one === code)) ||
      (isRun && ['bash', 'sh', 'json'].includes(language))
    const shown = blocks.filter(({ reason }) => reason === null)
    expect(
      shown.filter((block) => !isTested(block)).map(({ line, language }) => `${name}:${line} ${language}`),
    ).toEqual([])
    // Each block of commands is an example, and each response is compared.
    if (isRun) {
      expect(examples.map(({ commands }) => commands)).toEqual(shown.filter(isShell).map(({ code }) => code))
      expect(responses).toHaveLength(shown.filter(({ language }) => language === 'json').length)
    }
    // The page has no other fences.
    expect(page.match(/^ *```/gm) ?? []).toHaveLength(2 * blocks.length)
  })
})

/** Runs the examples of pages in order in one shell, and compares the results with the pages. */
async function holdsPages(
  names: readonly string[],
  folder: string,
  proxy: RecordingProxy,
  tenant: string | null,
): Promise<void> {
  const pages = names.map((name) => ({ name, page: pageOf(name) }))
  const variables = pages.flatMap(({ page }) => variablesOf(page))
  // The reader of the client's README is in the folder of a product, beside Laurel's.
  const place = names.includes(CLIENT) ? join(folder, 'your-product') : folder
  if (place !== folder) await Promise.all([mkdir(place), symlink(folder, join(folder, 'laurel'), 'dir')])
  for (const [file, code] of pages.flatMap(({ page }) => filesOf(page)))
    await writeFile(join(place, file), code)
  const shell = new Shell(place, {
    PORT: String(proxy.port),
    RECEIVER: String(await freePort()),
    RELAY: String(await freePort()),
  })
  try {
    for (const { name, page } of pages)
      for (const example of examplesOf(page)) {
        // Only the examples about tenants show that there are several.
        proxy.tenant = example.heading === 'Tenants' ? null : tenant
        await holds(shell, proxy, variables, example, `${name}:${example.line}`)
      }
    const started = () => shell.started().map(commandLine)
    await expect
      .poll(started, { message: `${names[0]} stops the processes that it started`, timeout: PATIENCE })
      .toEqual([])
  } finally {
    for (const { id } of shell.started()) process.kill(id)
    await shell.end()
  }
}

/**
 * Runs an example, and compares the result with the page. If the page says that the result comes later, it is
 * read again until it matches.
 */
async function holds(
  shell: Shell,
  proxy: RecordingProxy,
  names: readonly string[],
  { commands, expected, isLate }: Example,
  place: string,
): Promise<void> {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    proxy.take()
    const { code, stdout, stderr } = await shell.run(commands)
    const exchanges = proxy.take()
    const last = exchanges.at(-1)
    expect(code, `${place}\n${stderr}`).toBe(0)
    // The functions `wait_for` of the guides say so if they give up. The commands after them still run.
    expect(stdout, place).not.toContain('Not found within')
    const checked = expected?.status == null ? exchanges : exchanges.slice(0, -1)
    expect(
      checked.filter(({ status }) => status < 200 || status > 299),
      place,
    ).toEqual([])
    if (expected === null) return
    const before = await shell.read(names)
    const variables = new Map(before)
    const named = Object.entries(last?.headers ?? {}).filter(([header]) => header in expected.headers)
    const came =
      expected.status === null
        ? { status: null, headers: {}, body: JSON.parse(stdout) }
        : { status: last?.status, headers: Object.fromEntries(named), body: last?.body }
    const body = expected.body === undefined ? came.body : expected.body
    const wanted = expectation({ ...expected, body }, came, variables)
    if (isLate && !isDeepStrictEqual(came, wanted) && performance.now() < deadline) {
      await sleep(100)
      continue
    }
    expect(came, place).toStrictEqual(wanted)
    await shell.set(new Map([...variables].filter(([variable]) => !before.has(variable))))
    return
  }
}

describe.skipIf(!hasShell)('the examples of docs/, on an empty service', () => {
  let server: Server
  let proxy: RecordingProxy
  let folder: string

  beforeAll(async () => {
    folder = await newProject()
    proxy = await startProxy(() => server.port)
    // Each page has its own tenant, which is as empty as a new service. The proxy adds the tenant, so the
    // page need not.
    server = await startServer({
      folder,
      env: { MULTI_TENANCY: 'on', PUBLIC_URL: `http://localhost:${proxy.port}` },
    })
  })
  afterAll(() => proxy?.close())

  // If a page fails, this restores the clock that all pages share.
  afterEach(() => server.ask('DELETE', '/admin/v1/test-clock'))

  test.each(FROM_NOTHING)('%s', { timeout: MINUTES }, async (name, pages) => {
    const response = await server.ask('POST', '/admin/v1/tenants', [{ customerId: name, name }])
    expect(response.status).toBe(201)
    await holdsPages(pages, folder, proxy, name)
  })
})

// In order, because the last test resets the demo.
describe.skipIf(!hasShell)(
  'the examples of the README and the tour, on a fresh demo',
  { shuffle: false },
  () => {
    let server: Server
    let proxy: RecordingProxy
    let folder: string

    beforeAll(async () => {
      folder = await newProject()
      // Started as the README says.
      server = await startServer({ folder, by: 'npm' })
      proxy = await startProxy(() => server.port)
    })
    afterAll(() => proxy?.close())

    test.each(ON_THE_DEMO)('%s runs unchanged', { timeout: MINUTES }, (name) =>
      holdsPages([name], folder, proxy, null),
    )

    test('leaves a demo that can be reset, as the tour says', async () => {
      await server.stop()
      const startOver = /`(rm -r [^`]+)`/.exec(pageOf(TOUR))?.[1]
      expect(startOver).toBeDefined()
      expect(existsSync(join(folder, STATE))).toBe(true)
      const shell = new Shell(folder, {})
      expect(await shell.run(startOver ?? '')).toMatchObject({ code: 0 })
      await shell.end()
      expect(existsSync(join(folder, STATE))).toBe(false)
    })
  },
)
