/** The package as it is published, installed in a new folder: in Node, with Vite, in a Worker and in a browser. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import workerd from 'workerd'
import { fetchedTool } from '../../../../scripts/lib/tools.mjs'
import { listening, stop } from '../../../../test/helpers/listening'
import {
  complaintsAbout,
  firstExample,
  NODES,
  type PackedApp,
  packedApp,
} from '../../../../test/helpers/packed-app'
import { type Server, startServer } from '../../../../test/helpers/server/harness'
import { PAGE, testBrowser } from '../server/browser.js'

const root = join(import.meta.dirname, '..', '..', '..', '..')

const TYPESCRIPT_5 = join(fetchedTool('types'), 'typescript', 'bin', 'tsc')

/** A service that answers each event with its metric, its key, its body, and an id. */
const service = createServer(async (request, response) => {
  let body = ''
  for await (const part of request.setEncoding('utf8')) body += part
  const key = Buffer.from(String(request.headers['idempotency-key']), 'latin1').toString('utf8')
  response
    .setHeader('x-request-id', 'request')
    .end(JSON.stringify({ eventId: 'event', metric: request.url, key, ...JSON.parse(body || '{}') }))
})
let url: string
let app: PackedApp

/** The client in each of the three projects: it sends one event. */
const EVENT = "laurel.event('lessons', { user: { id: 'ada' }, value: 1 })"
const ANSWER = {
  eventId: 'event',
  metric: '/v1/metrics/lessons/event',
  key: expect.stringMatching(/^[\da-f-]{36}$/),
  user: { id: 'ada' },
  value: 1,
}

/** A Worker that can call the service on this machine. */
const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "app", worker = (
      modules = [(name = "worker.js", esModule = embed "worker/worker.js")],
      compatibilityDate = "2026-06-01",
      bindings = [(name = "URL", text = "URL_OF_THE_SERVICE"), (name = "LAUREL", service = "internet")],
    )),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "app")],
);
`

beforeAll(async () => {
  url = await listening(service)
  app = await packedApp('clients/typescript')
})
afterAll(() => stop(service))

describe('the package', () => {
  it('has its entries, their types, a README and a license, and no dependency', () => {
    const installed = join(app.folder, 'node_modules', '@laurel', 'client')
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    // Tools of React Native read the manifest.
    const { './package.json': own, ...paths } = manifest.exports
    expect(own).toBe('./package.json')
    const entries = Object.values<Record<string, string>>(paths)
    expect(entries).toHaveLength(3)
    for (const { types = '', default: module = '' } of entries)
      for (const path of [types, module]) expect(readFileSync(join(installed, path), 'utf8')).not.toBe('')
    // For tools that do not read `exports`.
    expect(manifest.exports['.']).toMatchObject({ default: manifest.main, types: manifest.types })
    const read = (...path: string[]) => readFileSync(join(...path), 'utf8')
    expect(read(installed, 'LICENSE')).toBe(read(root, 'LICENSE'))
    expect(read(installed, 'README.md')).toBe(read(root, 'clients', 'typescript', 'README.md'))
    expect(manifest.dependencies).toBeUndefined()
    const address = JSON.parse(read(root, 'package.json')).repository
    expect(manifest.repository.url).toBe(`git+${address}.git`)
    expect(manifest.homepage).toContain(address)
    expect(manifest.keywords).toContain('gamification')
    expect(read(installed, 'README.md')).toMatch(
      /^# .*\n\n.*\n\n<!--.*-->\n```sh\nnpm install @laurel\/client\n/,
    )
  })

  it('passes publint and attw without a finding', async () => {
    expect(await complaintsAbout(app, '@laurel/client')).toBe('')
  })

  it.each(NODES)('works in Node $version, with import and with require', async ({ path }) => {
    app.write({
      'app.mjs': `
        import { Laurel, LaurelError, verifyWebhook } from '@laurel/client'
        import { Laurel as App } from '@laurel/client/app'
        import { OfflineQueue } from '@laurel/client/offline'
        const laurel = new Laurel({ url: process.env.URL, apiKey: 'adm_a.b' })
        const names = [LaurelError, verifyWebhook, App, OfflineQueue].map(({ name }) => name)
        console.log(JSON.stringify([await ${EVENT}, laurel instanceof App, names]))
      `,
      'app.cjs': `
        const { Laurel, LaurelError, verifyWebhook } = require('@laurel/client')
        const { Laurel: App } = require('@laurel/client/app')
        const { OfflineQueue } = require('@laurel/client/offline')
        const laurel = new Laurel({ url: process.env.URL, apiKey: 'adm_a.b' })
        const names = [LaurelError, verifyWebhook, App, OfflineQueue].map(({ name }) => name)
        ${EVENT}.then((event) => console.log(JSON.stringify([event, laurel instanceof App, names])))
      `,
    })
    for (const script of ['app.mjs', 'app.cjs']) {
      const { stdout } = await app.node(path, script, { URL: url })
      expect(JSON.parse(stdout)).toEqual([
        ANSWER,
        true,
        ['LaurelError', 'verifyWebhook', 'Laurel', 'OfflineQueue'],
      ])
    }
  })

  it.each([
    ['TypeScript 7, as a bundler resolves', 'typescript/bin/tsc', 'Bundler', 'ESNext'],
    ['TypeScript 7, as Node resolves', 'typescript/bin/tsc', 'NodeNext', 'NodeNext'],
    ['TypeScript 5', TYPESCRIPT_5, 'NodeNext', 'NodeNext'],
    ['TypeScript 5, as Node 16 resolves', TYPESCRIPT_5, 'Node16', 'Node16'],
  ])('has types for %s', async (_, compiler, moduleResolution, module) => {
    const readme = readFileSync(join(app.folder, 'node_modules/@laurel/client/README.md'), 'utf8')
    const ifMatch = readme.split('```').find((code) => code.includes("'if-match'"))
    const good = `
      import { Laurel, type EventResponse, type LeaderboardRanking, type User } from '@laurel/client'
      import { OfflineQueue } from '@laurel/client/offline'
      const laurel = new Laurel({ url: 'http://localhost:8787', apiKey: async () => 'key' })
      export const event: Promise<EventResponse> = ${EVENT}
      export const user: User = await laurel.users.get('ada')
      declare const profile: { name?: string; email: string | undefined }
      await laurel.users.identify('ada', { name: profile.name, email: profile.email })
      const board = await laurel.leaderboards.get('weekly', { limit: 3 })
      export const rankings: LeaderboardRanking[] = board.rankings
      for await (const metric of laurel.admin.metrics.list()) metric.key satisfies string
      await new OfflineQueue(laurel).event('lessons', { user: { id: 'ada' }, value: 1 })
      ${ifMatch?.replace('js', '')}
    `
    const bad = `
      import { Laurel } from '@laurel/client'
      const laurel = new Laurel({ url: 'http://localhost:8787', apiKey: 'key' })
      laurel.event('lessons', { user: { name: 'Ada' }, value: 1 })
      laurel.leaderboards.get('weekly', { limit: 'three' })
      laurel.request('GET /v1/user/{id}', { path: { id: 'ada' } })
    `
    // Of CommonJS, only the newer settings can import ES modules.
    const files = ['good.ts', 'bad.ts', ...(module === 'NodeNext' ? ['common.cts'] : [])]
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: 'ES2022',
      lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
      types: [],
      module,
      moduleResolution,
    }
    app.write({
      'good.ts': good,
      'bad.ts': bad,
      'common.cts':
        "import { LaurelError } from '@laurel/client/app'\nexport const name: string = LaurelError.name",
      'tsconfig.json': JSON.stringify({ compilerOptions, files }),
    })
    const output = await app.tool(compiler, '-p', '.', '--pretty', 'false').then(
      ({ stdout }) => stdout,
      ({ stdout }) => String(stdout),
    )
    const lines = output.split('\n').filter((line) => /^\S/.test(line))
    expect(lines.map((line) => /^(\w+\.ts)\((\d+)/.exec(line)?.slice(1))).toEqual([
      ['bad.ts', '4'],
      ['bad.ts', '5'],
      ['bad.ts', '6'],
    ])
  })

  it('works with Vite, and is small', async () => {
    app.write({
      'index.html': '<!doctype html><script type="module" src="/page.js"></script>',
      'page.js': `
        import { Laurel } from '@laurel/client/app'
        const laurel = new Laurel({ url: globalThis.LAUREL_URL, apiKey: 'app_a.b' })
        globalThis.answer = ${EVENT}
      `,
      'vite.config.js':
        "export default { build: { target: 'es2020', rollupOptions: { output: { entryFileNames: 'page.js' } }, modulePreload: false } }",
    })
    await app.tool('vite/bin/vite.js', 'build', '--logLevel', 'error')
    const bundle = join(app.folder, 'dist', 'page.js')
    expect(gzipSync(readFileSync(bundle)).length).toBeLessThan(10_000)
    app.write({
      'run.mjs': `
        globalThis.LAUREL_URL = process.env.URL
        await import('./dist/page.js')
        console.log(JSON.stringify(await globalThis.answer))
      `,
    })
    const { stdout } = await app.node(process.execPath, 'run.mjs', { URL: url })
    expect(JSON.parse(stdout)).toEqual(ANSWER)
  })

  it('works in a Worker', async () => {
    app.write({
      'worker.js': `
        import { Laurel } from '@laurel/client'
        export default {
          async fetch(request, { URL, LAUREL }) {
            const options = { url: URL, apiKey: 'adm_a.b' }
            const event = { user: { id: 'ada' }, value: 1, idempotencyKey: 'é ✓' }
            const clients = [{}, { fetch }, { fetch: LAUREL }].map((more) => new Laurel({ ...options, ...more }))
            const answers = clients.flatMap((laurel) => [${EVENT}, laurel.event('lessons', event)])
            const lost = new Laurel({ ...options, fetch: LAUREL.fetch })
            const refusal = lost.users.get('ada').catch(({ name, message }) => ({ name, message }))
            return Response.json(await Promise.all([...answers, refusal]))
          },
        }
      `,
      'wrangler.toml': 'name = "app"\nmain = "worker.js"\ncompatibility_date = "2026-06-01"\n',
    })
    await app.tool('wrangler/bin/wrangler.js', 'deploy', '--dry-run', '--outdir', 'worker')
    app.write({ 'config.capnp': CONFIG.replace('URL_OF_THE_SERVICE', url) })
    const child = spawn(workerd, ['serve', 'config.capnp', '--control-fd=1'], {
      cwd: app.folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'close')
    try {
      const [line] = await once(createInterface(child.stdout), 'line')
      // Not `fetch`, which compares every answer with the contract here.
      const [answer] = await once(get(`http://127.0.0.1:${JSON.parse(line).port}/`), 'response')
      // As in Node, the key is sent in UTF-8.
      const answers = [ANSWER, { ...ANSWER, key: 'é ✓' }]
      const refusal = { name: 'TypeError', message: expect.stringContaining('Illegal invocation') }
      expect(await json(answer)).toEqual([...answers, ...answers, ...answers, refusal])
    } finally {
      child.kill()
      await ended
    }
  })
})

describe('the package, with a server', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer()
  })

  it('runs the first example of its README', async () => {
    const readme = readFileSync(join(app.folder, 'node_modules', '@laurel', 'client', 'README.md'), 'utf8')
    app.write({ 'first.mjs': firstExample(readme, 'js') })
    const variables = { URL: server.url, ADMIN_API_KEY: server.adminKey }
    const { stdout } = await app.node(NODES[0]?.path ?? process.execPath, 'first.mjs', variables)
    expect(JSON.parse(stdout)).toMatchObject({ xp: 10, streak: 1, rankings: [{ userId: 'ada', value: 10 }] })
  })

  testBrowser(
    () => server,
    () => {
      const page = join(app.folder, 'browser.page.ts')
      copyFileSync(PAGE, page)
      return { entryPoints: [page] }
    },
  )
})
