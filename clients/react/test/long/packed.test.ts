/** The package as it is published, in new folders with the newest and the oldest React. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { inProject } from '../../../../scripts/lib/project.mjs'
import {
  complaintsAbout,
  firstExample,
  NODES,
  type PackedApp,
  packedApp,
} from '../../../../test/helpers/packed-app'
import { PATIENCE } from '../../../../test/helpers/patience'
import { hasBrowser, launchBrowser } from '../../../../test/helpers/server/browser'
import { type Server, startServer } from '../../../../test/helpers/server/harness'

/** Packages that apps install beside ours. They come from this project, so that no registry is needed. */
const APPS = [
  {
    react: 19,
    beside: [...['react', 'react-dom', 'scheduler', '@types/react', 'csstype']],
  },
  {
    react: 18,
    beside: [
      ...['react-18', 'react-dom-18', 'react-dom-18/node_modules/scheduler', 'loose-envify', 'js-tokens'],
      ...['types-react-18', '@types/prop-types', 'csstype'],
    ],
  },
]

const PAGE = `
  import { Laurel } from '@laurel/client/app'
  import {
    AchievementGrid, AwardToast, Energy, LaurelProvider, Leaderboard, LevelProgress, PointsCounter,
    StreakCalendar, StreakCounter, useAchievements, useEnergy, useLeaderboard, useLevel, usePoints,
    useSendEvent, useStreak,
  } from '@laurel/react'
  import { Meter } from '@laurel/react/parts'

  const laurel = new Laurel({ url: 'http://laurel.test', apiKey: 'app_key' })

  const Board = () => (
    <>
      <Leaderboard {...useLeaderboard('weekly-xp', { live: true })} />
      <StreakCounter {...useStreak()} />
      <StreakCalendar {...useStreak()} />
      <PointsCounter {...usePoints('xp')} />
      <LevelProgress {...useLevel('xp')} />
      <Energy {...useEnergy('energy')} />
      <AchievementGrid {...useAchievements()} />
      <AwardToast {...useSendEvent()} />
      <Meter label="Pages" text="3 of 9" value={3} max={9} />
    </>
  )

  export const Page = () => (
    <LaurelProvider client={laurel} userId="ada">
      <Board />
    </LaurelProvider>
  )
`

/** The first page of the README: one leaderboard and one streak. */
const SMALL = /```tsx\n([^`]*StreakCounter[^`]*)```/.exec(
  readFileSync(inProject('clients/react/README.md'), 'utf8'),
)?.[1]

/** A page with everything whose text could depend on the clock, the language or the locale data of a machine. */
const HYDRATED = `
  import { createElement as h } from 'react'
  import { Laurel } from '@laurel/client/app'
  import {
    AchievementGrid, Energy, LaurelProvider, Leaderboard, PointsCounter, StreakCalendar, StreakCounter,
    useAchievements, useLeaderboard, usePoints, useStreak,
  } from '@laurel/react'

  const laurel = new Laurel({ url: location(), apiKey: 'app_key' })
  function location() {
    return typeof document === 'undefined' ? 'http://laurel.test' : document.location.origin
  }
  const user = { userId: 'ada', userName: 'Ada', rank: 1, value: 12345678.9 }
  const run = { key: '2026-11-23', startsAt: '2026-11-22T15:00:00.000Z', endsAt: '2026-11-29T15:00:00.000Z' }
  const rankings = { name: 'Weekly XP', pointsSystemName: 'XP', status: 'active', run, rankings: [user] }
  const period = (date, length) => ({ periodStart: date, periodEnd: date, length, usedPause: false })
  const daily = {
    length: 1234567, frequency: 'daily', started: '2026-11-01', periodStart: '2026-11-23',
    periodEnd: '2026-11-23', expires: '2026-11-24', streakHistory: [period('2026-11-22', 1), period('2026-11-23', 2)],
  }
  const weekly = {
    ...daily, frequency: 'weekly',
    streakHistory: [{ ...period('2026-11-16', 1), periodEnd: '2026-11-22' }],
  }
  const achievement = { id: 'a', name: 'First', achievedAt: '2026-11-22T23:30:00.000Z', rarity: 12.5 }
  const energy = { name: 'Energy', total: 2, maxPoints: 5, nextAt: '2026-11-23T12:30:00.000Z', nextPoints: 1 }

  const Board = ({ readAt, limit }) => h(Leaderboard, useLeaderboard('weekly-xp', {
    initialData: rankings, initialDataUpdatedAt: readAt, limit,
  }))
  const Rest = () => h('div', null,
    h(StreakCounter, useStreak({ initialData: daily })),
    h(StreakCalendar, useStreak({ initialData: daily })),
    h(StreakCalendar, { data: weekly }),
    h(PointsCounter, usePoints('xp', { initialData: { name: 'XP', total: 1234567, awards: [], badgeUrl: 'no badge.png' } })),
    h(AchievementGrid, useAchievements({ initialData: [achievement] })),
    h(Energy, { data: energy }))

  /** What Intl writes without our help. */
  export const text = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).formatRange(0, 864e5)

  export const page = (locale) => h(LaurelProvider, { client: laurel, userId: 'ada', locale, timeZone: 'Asia/Tokyo' },
    h(Board, { readAt: Date.parse('2026-11-23T12:00:00Z') }), h(Board, { limit: 5 }), h(Rest))
`

describe.each(APPS)('the packed package, in an app with React $react', ({ beside }) => {
  let app: PackedApp

  beforeAll(async () => {
    const others = beside.map((name) => `node_modules/${name}`)
    app = await packedApp('clients/typescript', 'clients/react', ...others)
    app.write({ 'page.tsx': PAGE, 'small.tsx': SMALL ?? '' })
  })

  test('has its entries, their types, the stylesheet, a README and a license', () => {
    const installed = join(app.folder, 'node_modules', '@laurel', 'react')
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    const { exports, dependencies, peerDependencies } = manifest
    const paths = ['.', './parts'].flatMap((entry) => [exports[entry].types, exports[entry].default])
    for (const path of [...paths, exports['./styles.css'].default, 'README.md', 'LICENSE'])
      expect(readFileSync(join(installed, path), 'utf8')).not.toBe('')
    // The app and the package share one copy of everything else.
    expect(dependencies).toBeUndefined()
    expect(Object.keys(peerDependencies)).toEqual(['@laurel/client', 'react'])
  })

  test('passes publint and attw without a finding', async () => {
    expect(await complaintsAbout(app, '@laurel/react')).toBe('')
    const readme = readFileSync(join(app.folder, 'node_modules', '@laurel', 'react', 'README.md'), 'utf8')
    expect(readme).toMatch(/^# .*\n\n[^#]*?\n\n<!--.*-->\n```sh\nnpm install @laurel\/react /)
  })

  test.each(NODES)('renders in Node $version, with import and with require', async ({ path }) => {
    // Node needs no compiler for a page without JSX.
    const script = `
      import { createElement } from 'react'
      import { renderToString } from 'react-dom/server'
      import { Laurel } from '@laurel/client/app'
      import { LaurelProvider, PointsCounter, usePoints } from '@laurel/react'
      const laurel = new Laurel({ url: 'http://laurel.test', apiKey: 'app_key' })
      const initialData = { name: 'XP', total: 1234, level: null, awards: [] }
      const Points = () => createElement(PointsCounter, usePoints('xp', { initialData }))
      const page = createElement(LaurelProvider, { client: laurel, userId: 'ada' }, createElement(Points))
      console.log(renderToString(page))
    `
    const required = script.replaceAll(/import (.*) from (.*)/g, 'const $1 = require($2)')
    app.write({ 'server.mjs': script, 'server.cjs': required })
    for (const name of ['server.mjs', 'server.cjs']) {
      const { stdout, stderr } = await app.node(path, name)
      expect(stderr).toBe('')
      expect(stdout).toContain('1,234')
    }
  })

  test.each([
    ['a bundler', 'Bundler', 'ESNext'],
    ['Node', 'NodeNext', 'NodeNext'],
    ['Node 16', 'Node16', 'Node16'],
  ])('has types, as %s resolves them', async (_, moduleResolution, module) => {
    const options = {
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      jsx: 'react-jsx',
      module,
      moduleResolution,
    }
    const settings = {
      compilerOptions: {
        ...options,
        target: 'ES2023',
        lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
        exactOptionalPropertyTypes: true,
        types: [],
      },
      files: ['page.tsx'],
    }
    app.write({ 'tsconfig.json': JSON.stringify(settings) })
    const { stdout } = await app.tool('typescript/bin/tsc', '-p', '.').catch((error) => error)
    expect(stdout).toBe('')
  })

  test('is bundled by Vite, with its styles and both themes', async () => {
    app.write({
      'index.html': '<div id="root"></div><script type="module" src="/main.tsx"></script>',
      'main.tsx': `
        import { createRoot } from 'react-dom/client'
        import '@laurel/react/styles.css'
        import { Page } from './page.tsx'
        createRoot(document.getElementById('root')!).render(<Page />)
      `,
    })
    await app.tool('vite/bin/vite.js', 'build', '--logLevel', 'error')
    const text = (pattern: string) =>
      globSync(`dist/assets/${pattern}`, { cwd: app.folder })
        .map((file) => readFileSync(join(app.folder, file), 'utf8'))
        .join('')
    expect(text('*.css')).toMatch(/@layer laurel/)
    expect(text('*.css')).toMatch(/--_dark:initial/)
    expect(gzipSync(text('*.css')).length).toBeLessThan(10_000)
    expect(text('*.js').includes('weekly-xp')).toBe(true)
  })

  test.each([
    ['one leaderboard and one streak', 'small.tsx', 16 * 1024],
    ['all components and hooks', 'page.tsx', 24_000],
  ])('%s are small beside React, with the client and the cache', async (_, page, most) => {
    const options = ['--bundle', '--minify', '--format=esm', '--jsx=automatic', '--loader:.css=empty']
    const { stdout } = await app.tool(
      'esbuild/bin/esbuild',
      page,
      ...options,
      ...['react', 'react/jsx-runtime'].map((name) => `--external:${name}`),
    )
    expect(stdout).toContain('weekly-xp')
    expect(gzipSync(stdout).length).toBeLessThanOrEqual(most)
  })

  describe.skipIf(!hasBrowser)('hydrated in a browser', () => {
    let browser: Browser
    let script: string

    beforeAll(async () => {
      app.write({
        'hydrated.jsx': HYDRATED,
        'html.jsx': `
          import { renderToString } from 'react-dom/server'
          import { page, text } from './hydrated.jsx'
          // The clock of the server is a month behind.
          const now = Date.now
          Date.now = () => now() - 31 * 86_400_000
          console.log(JSON.stringify([renderToString(page(process.env.LOCALE || undefined)), text]))
        `,
        'hydrate.jsx': `
          import { hydrateRoot } from 'react-dom/client'
          import { page, text } from './hydrated.jsx'
          window.complaints = []
          window.text = text
          hydrateRoot(document.getElementById('root'), page(location.hash.slice(1) || undefined), {
            onRecoverableError: (error) => window.complaints.push(String(error)),
          })
        `,
      })
      const bundle = (name: string, ...more: string[]) =>
        app.tool(
          'esbuild/bin/esbuild',
          name,
          '--bundle',
          '--format=esm',
          '--define:process.env.NODE_ENV="development"',
          ...more,
        )
      await bundle('html.jsx', '--platform=node', '--packages=external', '--outfile=html.mjs')
      script = (await bundle('hydrate.jsx')).stdout
      browser = await launchBrowser()
    })

    // "fr" and "sv" have spaces of their own in numbers, and "ar" has marks of direction.
    const LOCALES = [undefined, 'de', 'fr', 'sv', 'ar']

    test.each(NODES.flatMap((node) => LOCALES.map((locale) => ({ ...node, locale }))))(
      'without a complaint, though the clock, zone, language and ICU of Node $version are others (locale $locale)',
      async ({ path, locale = '' }) => {
        const env = { TZ: 'America/New_York', LANG: 'C', LOCALE: locale }
        const { stdout, stderr } = await app.node(path, 'html.mjs', env)
        expect(stderr).toBe('')
        const [html, text]: string[] = JSON.parse(stdout)
        // All of the page is in view, so that the browser asks for its picture.
        const viewport = { width: 800, height: 4000 }
        const context = await browser.newContext({
          locale: 'da-DK',
          timezoneId: 'Pacific/Auckland',
          viewport,
        })
        onTestFinished(() => context.close())
        const page = await context.newPage()
        await page.clock.setFixedTime('2026-11-30T12:00:00Z')
        const complaints: string[] = []
        page.on('console', (message) => {
          if (message.type() === 'error' && !message.text().includes('404')) complaints.push(message.text())
        })
        await page.route('**/*', (route) => route.fulfill({ status: 404 }))
        const contentType = 'text/html; charset=utf-8'
        const body = `<!doctype html><div id="root">${html}</div>`
        await page.route('http://app.test/', (route) => route.fulfill({ contentType, body }))
        await page.goto(`http://app.test/#${locale}`)
        // The badge has failed before there is a script.
        await page.waitForFunction(() => document.querySelector('img')?.complete)
        await page.addScriptTag({ content: script, type: 'module' })
        await page.locator('.laurel-points svg').waitFor()
        expect(complaints).toEqual([])
        expect(await page.evaluate('window.complaints')).toEqual([])
        // The two ICUs write this differently.
        expect(await page.evaluate('window.text')).not.toBe(text)
        const runs = await page.locator('.laurel-leaderboard .laurel-detail').allTextContents()
        if (locale === '') expect(runs).toEqual(['Nov 23 – 29', 'Nov 23 – 29'])
        expect(html).toContain(runs[0])
      },
    )

    test('hides what it must and fills bars, though the page forbids styles in its HTML', async () => {
      const { stdout } = await app.node(NODES[0]?.path ?? process.execPath, 'html.mjs')
      const page = await browser.newPage()
      onTestFinished(() => page.close())
      const styles = join(app.folder, 'node_modules/@laurel/react/dist/styles.css')
      await page.route('**/*', (route) => route.fulfill({ status: 404 }))
      await page.route('http://app.test/styles.css', (route) => route.fulfill({ path: styles }))
      await page.route('http://app.test/', (route) =>
        route.fulfill({
          headers: { 'content-type': 'text/html', 'content-security-policy': "style-src 'self'" },
          body: `<!doctype html><link rel="stylesheet" href="/styles.css"><div id="root">${JSON.parse(stdout)[0]}</div>`,
        }),
      )
      await page.goto('http://app.test/')
      const hidden = page.locator('.laurel-figure [data-part="hidden"]').first()
      expect((await hidden.boundingBox())?.width).toBeLessThanOrEqual(1)
      await page.addScriptTag({ content: script, type: 'module' })
      await page.waitForFunction(
        "document.querySelector('[role=meter]').style.getPropertyValue('--laurel-ratio') === '0.4'",
      )
    })
  })

  describe.skipIf(!hasBrowser)('in a browser, with a server', () => {
    let server: Server
    let browser: Browser

    beforeAll(async () => {
      server = await startServer()
      browser = await launchBrowser()
    })

    test('runs the first page of its README, after the first lines of the client', async () => {
      const readmeOf = (name: string) =>
        readFileSync(join(app.folder, 'node_modules', '@laurel', name, 'README.md'), 'utf8')
      app.write({
        'first.mjs': firstExample(readmeOf('client'), 'js'),
        'first.tsx': firstExample(readmeOf('react'), 'tsx').replace('https://laurel.example.com', server.url),
        'first-page.tsx': `
          import { createRoot } from 'react-dom/client'
          import { Page } from './first'
          createRoot(document.getElementById('root')!).render(<Page />)
        `,
      })
      await app.node(process.execPath, 'first.mjs', { URL: server.url, ADMIN_API_KEY: server.adminKey })
      const options = ['--bundle', '--format=esm', '--jsx=automatic', '--outfile=first/page.js']
      await app.tool('esbuild/bin/esbuild', 'first-page.tsx', ...options)
      const read = (name: string) => readFileSync(join(app.folder, 'first', name), 'utf8')
      const html = `<!doctype html><style>${read('page.css')}</style><div id="root"></div>
        <script type="module">${read('page.js').replaceAll('</', '<\\/')}</script>`
      const page = await browser.newPage()
      onTestFinished(() => page.close())
      page.setDefaultTimeout(PATIENCE)
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      const contentType = 'text/html; charset=utf-8'
      await page.route(`${server.url}/app`, (route) => route.fulfill({ contentType, body: html }))
      // The route of the app that answers a token.
      await page.route(`${server.url}/laurel-token`, async (route) => {
        const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' }
        const url = `${server.url}/admin/v1/user-tokens`
        const token = await route.fetch({ url, method: 'POST', headers, postData: { userId: 'ada' } })
        await route.fulfill({ response: token })
      })
      await page.goto(`${server.url}/app`)
      await page.locator('.laurel-leaderboard').getByText('Ada').waitFor()
      await page.locator('.laurel-streak').getByText('1 day streak').waitFor()
      expect(complaints).toEqual([])
    })
  })
})
