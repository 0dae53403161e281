/** The client in older browsers and in React Native, which lack parts of newer ones. */
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const client = join(import.meta.dirname, '..', '..')

/** What the page or the app does with the client. It sees the globals below, and nothing else. */
const SCRIPT = `
  import { Laurel, LaurelError } from './src/app.js'
  import { Laurel as Whole } from './src/index.js'
  const controller = new AbortController()
  const options = { url: 'https://laurel.example.com/base/', apiKey: () => 'a.e30.c', fetch: globalThis.fetch }
  const laurel = new Whole({ ...options, tries: 2, runtime: { random: () => 0 } })
  globalThis.run = async () => {
    const event = await laurel.event('lessons', { user: { id: 'a/b' }, value: 1 })
    const metrics = await laurel.admin.metrics.list({ limit: 2 }).toArray()
    const users = []
    for (const page of [laurel.admin.users.list()]) for await (const user of page) users.push(user.id)
    const reasonOf = (promise) => promise.then(() => null, (error) => error)
    const hung = reasonOf(laurel.users.get('hung', { signal: controller.signal }))
    controller.abort()
    const errors = [await hung, await reasonOf(laurel.users.get('ada', { signal: controller.signal }))]
    const refused = await reasonOf(new Laurel(options).users.get(''))
    const lost = await reasonOf(laurel.users.get('lost'))
    return JSON.stringify({
      event, metrics, users, aborted: errors.map(({ name }) => name), refused: refused.name,
      lost: lost instanceof LaurelError && lost.message,
    })
  }
`

/** A signal as React Native has it: without a reason, `throwIfAborted` and the static functions. */
class OldSignal {
  aborted = false
  readonly listeners = new Set<() => void>()
  addEventListener = (_: string, listener: () => void) => this.listeners.add(listener)
  removeEventListener = (_: string, listener: () => void) => this.listeners.delete(listener)
}

class OldController {
  readonly signal = new OldSignal()
  abort() {
    this.signal.aborted = true
    for (const listener of this.signal.listeners) listener()
  }
}

/** A URL as React Native had it until 2025: its parts cannot be read. */
class OldUrl {
  get protocol(): string {
    throw new Error('URL.protocol is not implemented')
  }
}

it('needs no newer syntax than the README says', async () => {
  const bundle = async (target: string[]) => {
    const entryPoints = ['index', 'offline'].map((entry) => join(client, 'src', `${entry}.ts`))
    const { outputFiles } = await build({
      entryPoints,
      bundle: true,
      format: 'esm',
      target,
      outdir: 'out',
      write: false,
    })
    return outputFiles.map(({ text }) => text)
  }
  // esbuild rewrites what a target does not know.
  expect(await bundle(['chrome91', 'firefox90', 'safari15'])).toEqual(await bundle(['esnext']))
})

it.each([
  ['none', undefined],
  ['an empty one', {}],
])(
  'needs no newer parts of a runtime than fetch, AbortController and async functions (crypto: %s)',
  async (_, crypto) => {
    const { outputFiles } = await build({
      stdin: { contents: SCRIPT, resolveDir: client, loader: 'ts' },
      bundle: true,
      format: 'iife',
      target: 'es2018',
      conditions: ['@laurel/source'],
      write: false,
    })
    const script = outputFiles[0]?.text ?? ''
    // Hermes compiles each expression when the app is built, and some versions do not know this.
    expect(script).not.toContain('\\p{')
    const sent: string[] = []
    const answers = (url: string): Promise<Response> => {
      const { pathname, search } = new URL(url)
      sent.push(pathname + search)
      const answer = (body: unknown, headers: Record<string, string> = {}) =>
        Promise.resolve(Response.json(body, { headers: { 'x-request-id': 'r', ...headers } }))
      const next = '<https://laurel.example.com/x?limit=100&after=a%2Bb+c>; rel="next"'
      if (pathname.endsWith('/hung')) return new Promise(() => undefined)
      if (pathname.endsWith('/lost')) return Promise.reject(new TypeError('Network request failed'))
      if (pathname.endsWith('/event')) return answer({ eventId: 'e' })
      if (pathname.endsWith('/metrics')) return answer(search.includes('skip') ? [] : [1, 2])
      return answer([{ id: sent.length }], search.includes('after') ? {} : { link: next })
    }
    const context = createContext({
      Headers,
      URL: OldUrl,
      URLSearchParams: undefined,
      AbortController: OldController,
      fetch: answers,
      setTimeout,
      clearTimeout,
      console,
      crypto,
    })
    for (const missing of ['replaceAll', 'at', 'isWellFormed'])
      runInContext(`delete String.prototype.${missing}`, context)
    runInContext('delete Object.hasOwn; delete Promise.withResolvers; delete Promise.any', context)
    runInContext(script, context)
    expect(JSON.parse(await runInContext('run()', context))).toEqual({
      event: { eventId: 'e' },
      metrics: [1, 2],
      users: [4, 5],
      aborted: ['AbortError', 'AbortError'],
      refused: 'TypeError',
      lost: 'https://laurel.example.com could not be reached, or its answer was lost.',
    })
    expect(sent.slice(0, 5)).toEqual([
      '/base/v1/metrics/lessons/event',
      '/base/admin/v1/metrics?limit=2',
      '/base/admin/v1/metrics?limit=2&skip=2',
      '/base/admin/v1/users?limit=100',
      '/base/admin/v1/users?limit=100&after=a%2Bb%20c',
    ])
  },
)
