/**
 * The site: its build, which fails if a link is dead or a page has no way there, its pages in a browser, and the
 * samples of the reference, which are sent as a reader sends them.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { transform } from 'esbuild'
import type { Browser } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Operation, readReference } from '../../../site/reference.mjs'
import { requestOf, searchOf } from '../../../site/samples.mjs'
import { PATIENCE } from '../../helpers/patience'
import { hasBrowser, launchBrowser, NO_BROWSER } from '../../helpers/server/browser'
import { newProject, run, type Server, startServer } from '../../helpers/server/harness'
import { STATE } from '../../helpers/server/local-state'
import { type RecordingProxy, Shell, startProxy } from '../../helpers/server/shell'
import { SERVER_START } from '../../helpers/time'

const root = join(import.meta.dirname, '..', '..', '..')
const MINUTES = 600_000
/** The id in samples that stands for one that the reader has. */
const SAMPLE_ID = '01900000-0000-7000-8000-000000000000'

const isInstalled =
  existsSync(join(root, 'site', 'node_modules', 'vitepress')) ||
  spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: join(root, 'site') }).status === 0
const NOT_INSTALLED = 'the packages of the site are not installed, and npm cannot install them (npm run site)'

describe.skipIf(!isInstalled)(`the site${isInstalled ? '' : ` (skipped: ${NOT_INSTALLED})`}`, () => {
  const built = join(root, 'dist', 'site')
  let folder: string
  /** A Worker that serves it too. */
  let server: Server
  beforeAll(async () => {
    for (const options of [[], ['--worker']]) {
      const { code, said } = await run(root, [process.execPath, 'site/build.mjs', ...options])
      expect(code, said).toBe(0)
    }
    folder = await newProject()
    const made = join(root, 'dist', 'site-of-worker')
    await cp(made, join(folder, 'dist', 'site-of-worker'), { recursive: true })
    await rm(made, { recursive: true })
    server = await startServer({ folder })
  }, MINUTES)

  test('has texts for assistants, whose links lead to pages', () => {
    const list = readFileSync(join(built, 'llms.txt'), 'utf8')
    const links = [...list.matchAll(/\]\(\/([^)#]+)/g)].map(([, path = '']) => path)
    expect(links.length).toBeGreaterThan(80)
    expect(links.filter((path) => !existsSync(join(built, path)))).toEqual([])
    expect(list).toContain('X-API-KEY')
    const whole = readFileSync(join(built, 'llms-full.txt'), 'utf8')
    expect(whole).toContain('await laurel.event(')
    expect(whole.length).toBeLessThan(750_000)
  })

  test('[G14] a running Worker serves it', { timeout: MINUTES }, async () => {
    const open = async (path: string, type: string) => {
      const answer = await fetch(server.url + path)
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 200, type])
      return answer.text()
    }
    const page = 'text/html; charset=utf-8'
    const script = 'text/javascript; charset=utf-8'
    const first = await open('/site/', page)
    expect(first).toContain('<title>Laurel')
    expect(await open('/site/guides/award-points', page)).toContain('<title>Award points')
    expect(await open('/site/reference/leaderboards', page)).toContain('GET /v1/leaderboards')
    expect(await open('/site/llms.txt', 'text/plain; charset=utf-8')).toContain('](/site/')
    const index = readdirSync(join(folder, 'dist', 'site-of-worker', 'assets', 'chunks')).filter((name) =>
      name.startsWith('@localSearchIndex'),
    )
    expect(index).toHaveLength(1)
    expect(await open(`/site/assets/chunks/${index[0]}`, script)).toContain('Idempotency')
    // All that the first page loads is there.
    const parts = [...first.matchAll(/(?:src|href)="(\/site\/[^"#]+\.(?:js|css|svg|woff2))"/g)]
    const loaded = [...new Set(parts.map(([, path = '']) => path))]
    expect(loaded.length).toBeGreaterThan(4)
    const answers = await Promise.all(
      loaded.map(async (path) => [path, (await fetch(server.url + path)).status]),
    )
    expect(answers).toEqual(loaded.map((path) => [path, 200]))
    expect(await (await fetch(server.url)).text()).toContain('/site/')
    for (const path of ['/site/no-page', '/site/guides/', '/site/assets/no.js', '/site/guides/award-points/'])
      expect([path, (await fetch(server.url + path)).status]).toEqual([path, 404])
  })

  describe.skipIf(!hasBrowser)(`in a browser${hasBrowser ? '' : ` (skipped: ${NO_BROWSER})`}`, () => {
    let browser: Browser
    let url: string
    beforeAll(async () => {
      browser = await launchBrowser()
      url = `${server.url}/site/`
    })

    test.each([
      ['desktop, light', { width: 1280, height: 900 }, 'light'],
      ['phone, dark', { width: 390, height: 844 }, 'dark'],
    ] as const)(
      'axe finds nothing on any page, and none is too wide: %s',
      { timeout: MINUTES },
      async (_, viewport, colorScheme) => {
        const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
        // The policy of the pages allows no script of others.
        const context = await browser.newContext({
          viewport,
          colorScheme,
          reducedMotion: 'reduce',
          bypassCSP: true,
        })
        const page = await context.newPage()
        const broken: unknown[] = []
        page.on('pageerror', (error) => broken.push(error.message))
        const names = readdirSync(built, { recursive: true, encoding: 'utf8' })
          .filter((name) => name.endsWith('.html') && name !== '404.html')
          .map((name) => name.replace(/(^|\/)index\.html$|\.html$/, '$1'))
        expect(names.length).toBeGreaterThan(80)
        for (const name of names) {
          await page.goto(url + name)
          await page.locator('main').waitFor()
          await page.evaluate(axe)
          const violations: unknown[] = await page.evaluate(
            'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html.slice(0, 200)]))',
          )
          const excess: unknown = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
          if (violations.length > 0 || Number(excess) > 0) broken.push([name, violations, excess])
        }
        await context.close()
        expect(broken).toEqual([])
      },
    )

    test('the search works without another server', async () => {
      const page = await browser.newPage()
      const elsewhere: string[] = []
      page.on('request', (request) => {
        if (!request.url().startsWith(url)) elsewhere.push(request.url())
      })
      await page.goto(url)
      await page.getByRole('button', { name: 'Search' }).click()
      await page.getByRole('searchbox').fill('idempotency key')
      const first = page.locator('.VPLocalSearchBox .result').first()
      await first.waitFor({ timeout: PATIENCE })
      expect(await first.textContent()).toMatch(/idempotency/i)
      await page.keyboard.press('Enter')
      await page.waitForURL(/#/)
      expect(elsewhere).toEqual([])
      await page.close()
    })
  })
})

/** The values of two examples at the same places, if the first is the id that stands for one. */
function idsIn(shown: unknown, served: unknown): unknown[] {
  if (shown === SAMPLE_ID) return [served]
  if (typeof shown !== 'object' || shown === null) return []
  const others = Object.values(Object(served))
  return Object.values(shown).flatMap((one, index) => idsIn(one, others[index]))
}

/** A sample with ids of the server, in the order in which they occur. */
const withIds = (sample: string, ids: unknown[]) => {
  const left = [...ids]
  return sample.replaceAll(SAMPLE_ID, () => String(left.shift()))
}

const BASES = { application: '/v1', admin: '/admin/v1' }

/** How a sample of each language is run in a shell. Returns the command. */
const COMMANDS = {
  curl: async (_: string, sample: string) => sample,
  typescript: async (folder: string, sample: string) => {
    writeFileSync(join(folder, 'sample.mjs'), (await transform(sample, { loader: 'ts' })).code)
    return 'node sample.mjs'
  },
  python: async (folder: string, sample: string) => {
    writeFileSync(join(folder, 'sample.py'), sample)
    return 'python3 sample.py'
  },
}
type Language = keyof typeof COMMANDS

const canRun: Record<Language, boolean> = {
  curl: spawnSync('curl', ['--version']).status === 0,
  typescript: true,
  python: spawnSync('python3', ['-c', 'import requests']).status === 0,
}

describe('the samples of the reference', () => {
  let operations: Operation[]
  let folder: string
  beforeAll(async () => {
    ;({ operations } = await readReference(SERVER_START))
    folder = await newProject()
    const { code, said } = await run(root, [process.execPath, 'clients/typescript/scripts/build.mjs'])
    expect(code, said).toBe(0)
  }, MINUTES)

  test('are of every operation of both documents', () => {
    expect(operations.length).toBeGreaterThan(130)
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
  })

  test('in TypeScript have no errors of types', { timeout: MINUTES }, async () => {
    const samples = join(folder, 'samples')
    mkdirSync(samples)
    symlinkSync(join(root, 'node_modules'), join(samples, 'node_modules'), 'dir')
    for (const { id, samples: own } of operations) writeFileSync(join(samples, `${id}.mts`), own.typescript)
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'es2023',
      types: ['node'],
      skipLibCheck: true,
    }
    writeFileSync(join(samples, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts'] }))
    const { code, said } = await run(samples, [
      process.execPath,
      join(root, 'node_modules/typescript/bin/tsc'),
      '-p',
      '.',
    ])
    expect(code, said).toBe(0)
  })

  test.for(Object.keys(COMMANDS) as Language[])(
    'as %s send the request of the documents',
    { timeout: MINUTES },
    async (language, { skip }) => {
      if (!canRun[language])
        return skip(`${language === 'python' ? 'python3 with requests' : language} is not installed`)
      const isOfTenants = ({ id }: Operation) => id.startsWith('admin_tenants_')
      await rm(join(folder, STATE), { recursive: true, force: true })
      // The demo needs multi-tenancy off. The first tenant is there after it.
      await sendAll(language, {}, (one) => !isOfTenants(one))
      await sendAll(language, { MULTI_TENANCY: 'on' }, isOfTenants)
    },
  )

  async function sendAll(
    language: Language,
    env: Record<string, string>,
    isIn: (operation: Operation) => boolean,
  ) {
    const server = await startServer({ folder, env, clock: SERVER_START })
    const proxy = await startProxy(() => server.port)
    const shell = new Shell(folder, { URL: `http://localhost:${proxy.port}`, KEY: server.adminKey })
    onTestFinished(async () => {
      proxy.close()
      await Promise.all([shell.end(), server.stop()])
    })
    // Python would otherwise hold back what it prints of a stream.
    await shell.run('export URL KEY PYTHONUNBUFFERED=1')
    const served = await servedBy(server)
    const failures: unknown[] = []
    for (const one of operations.filter(isIn)) {
      const { query, body, inPath } = served(one)
      const { request } = one
      const sample = withIds(
        one.samples[language],
        idsIn([request.inPath, request.query, request.body], [inPath, query, body]),
      )
      const command = await COMMANDS[language](folder, sample)
      if (request.isStream) {
        const { stdout } = await shell.run(`timeout 4 ${command.replaceAll('\\\n', ' ')} || true`)
        if (!stdout.includes('demo-')) failures.push([one.id, stdout])
        proxy.take()
        continue
      }
      const { stdout, stderr } = await shell.run(command)
      failures.push(...faultsOf(one, proxy, stdout + stderr))
    }
    expect(failures.map((one) => JSON.stringify(one))).toEqual([])
    await server.stop()
  }

  /** What is wrong with the exchange of a sample. */
  function faultsOf({ id, request }: Operation, proxy: RecordingProxy, output: string) {
    const exchanges = proxy.take()
    const [exchange] = exchanges
    if (exchange === undefined || exchanges.length > 1) return [[id, 'requests', exchanges.length, output]]
    // The tenant of this example does not exist, so that no reader erases one.
    const isFine = id === 'admin_tenants_purge' ? exchange.status === 404 : exchange.status < 300
    const { issues = [] } = Object(exchange.body)
    const hasFailed =
      id !== 'admin_tenants_delete' &&
      issues.some(({ severity }: { severity: string }) => severity === 'error')
    if (!isFine || hasFailed) return [[id, exchange.status, exchange.body, output]]
    const [sentPath = '', sentQuery = ''] = exchange.request.split(' ')[1]?.split('?') ?? []
    const shape = (text: string) =>
      decodeURIComponent(text).replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, 'ID')
    const keys = (value: unknown) => shape(JSON.stringify(value) ?? '')
    // The client asks for pages of 100.
    const query =
      request.query.limit === undefined ? sentQuery.replace(/limit=100&?/, '').replace(/&$/, '') : sentQuery
    const came = [exchange.request.split(' ')[0], shape(sentPath), shape(query), keys(exchange.sent)]
    const wanted = [
      request.method,
      shape(request.path),
      shape(searchOf(request.query).slice(1)),
      keys(request.body),
    ]
    return JSON.stringify(came) === JSON.stringify(wanted) ? [] : [[id, came, wanted]]
  }

  /** The examples of operations as the documents of a server have them, once the demo is complete. */
  async function servedBy(server: Server) {
    const read = async () => ({
      application: (await server.ask('GET', '/v1/openapi.json')).body,
      admin: (await server.ask('GET', '/admin/v1/openapi.json')).body,
    })
    if (server.curl.includes('demo-'))
      await expect
        .poll(async () => JSON.stringify(await read()).includes(SAMPLE_ID), { timeout: PATIENCE })
        .toBe(false)
    const documents = await read()
    return ({ side, spec, request }: Operation) => {
      const path = request.id.slice(request.id.indexOf(' ') + 1).slice(BASES[side].length)
      const item = documents[side].paths[path][request.method.toLowerCase()]
      const parameters = spec.parameters.map((one: { name: string }) => ({
        ...one,
        ...item.parameters.find(({ name }: { name?: string }) => name === one.name),
      }))
      return requestOf(BASES[side], path, request.method, { ...item, parameters }, SERVER_START)
    }
  }
})
