import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { listening, stop } from '../../../../test/helpers/listening'
import { executablePath, hasBrowser } from '../../../../test/helpers/server/reference-page'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const run = promisify(execFile)

/** The new folder. */
let folder: string

/** Packages that apps install beside ours. They come from this project, so that no registry is needed. */
const OTHERS = ['react', 'react-dom', 'scheduler', '@tanstack/react-query', '@tanstack/query-core']

const PAGE = `
  import { Laurel } from '@laurel/client/app'
  import {
    AchievementGrid, AwardToast, Energy, LaurelProvider, Leaderboard, LevelProgress, PointsCounter,
    StreakCalendar, StreakCounter, useAchievements, useEnergy, useLeaderboard, useLevel, usePoints,
    useSendEvent, useStreak,
  } from '@laurel/react'
  import { Meter } from '@laurel/react/parts'
  import { QueryClient } from '@tanstack/react-query'

  const cache = new QueryClient()
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
    <LaurelProvider client={laurel} userId="ada" queryClient={cache}>
      <Board />
    </LaurelProvider>
  )
`

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
  const schedule = { start: '2026-01-05', end: null, runUnit: 'day', runInterval: 7 }
  const rankings = { name: 'Weekly XP', pointsSystemName: 'XP', status: 'active', ...schedule, rankings: [user] }
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

  export const page = (locale) => h(LaurelProvider, { client: laurel, userId: 'ada', locale, timeZone: 'Asia/Tokyo' },
    h(Board, { readAt: Date.parse('2026-11-23T12:00:00Z') }), h(Board, { limit: 5 }), h(Rest))
`

const write = (files: Record<string, string>) => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

const tool = (script: string, ...args: string[]) =>
  run(process.execPath, [join(root, 'node_modules', script), ...args], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'production' },
    maxBuffer: 10_000_000,
  })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'laurel-react-packed-'))
  const pack = async (name: string, ...which: string[]) => {
    const { stdout } = await run('npm', ['pack', '--silent', ...which, '--pack-destination', folder], {
      cwd: root,
    })
    return [name, `file:${stdout.trim().split('\n').at(-1)}`]
  }
  const dependencies = [
    await pack('@laurel/client', '-w', '@laurel/client'),
    await pack('@laurel/react', '-w', '@laurel/react'),
  ]
  for (const name of OTHERS) dependencies.push(await pack(name, `./node_modules/${name}`))
  const manifest = {
    name: 'app',
    type: 'module',
    private: true,
    dependencies: Object.fromEntries(dependencies),
  }
  write({ 'package.json': JSON.stringify(manifest), 'page.tsx': PAGE })
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund'], { cwd: folder })
  symlinkSync(join(root, 'node_modules', '@types'), join(folder, 'node_modules', '@types'))
}, 120_000)
afterAll(() => rm(folder, { recursive: true }))

describe('the packed package, in a new folder', () => {
  test('has its entries, their types, the stylesheet, a README and a license', () => {
    const installed = join(folder, 'node_modules', '@laurel', 'react')
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    const { exports, dependencies, peerDependencies } = manifest
    const paths = ['.', './parts'].flatMap((entry) => [exports[entry].types, exports[entry].default])
    for (const path of [...paths, exports['./styles.css'].default, 'README.md', 'LICENSE'])
      expect(readFileSync(join(installed, path), 'utf8')).not.toBe('')
    // The app and the package share one copy of everything else.
    expect(dependencies).toBeUndefined()
    expect(Object.keys(peerDependencies)).toEqual(['@laurel/client', '@tanstack/react-query', 'react'])
  })

  test('renders in Node', async () => {
    // Node needs no compiler for a page without JSX.
    write({
      'server.mjs': `
        import { createElement } from 'react'
        import { renderToString } from 'react-dom/server'
        import { Laurel } from '@laurel/client/app'
        import { LaurelProvider, PointsCounter, usePoints } from '@laurel/react'
        const laurel = new Laurel({ url: 'http://laurel.test', apiKey: 'app_key' })
        const initialData = { name: 'XP', total: 1234, level: null, awards: [] }
        const Points = () => createElement(PointsCounter, usePoints('xp', { initialData }))
        const page = createElement(LaurelProvider, { client: laurel, userId: 'ada' }, createElement(Points))
        console.log(renderToString(page))
      `,
    })
    const { stdout, stderr } = await run(process.execPath, ['server.mjs'], { cwd: folder })
    expect(stderr).toBe('')
    expect(stdout).toContain('1,234')
  })

  test.each([
    ['a bundler', 'Bundler', 'ESNext'],
    ['Node', 'NodeNext', 'NodeNext'],
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
    write({ 'tsconfig.json': JSON.stringify(settings) })
    const { stdout } = await tool('typescript/bin/tsc', '-p', '.').catch((error) => error)
    expect(stdout).toBe('')
  })

  test('is bundled by Vite, with its styles and both themes', async () => {
    write({
      'index.html': '<div id="root"></div><script type="module" src="/main.tsx"></script>',
      'main.tsx': `
        import { createRoot } from 'react-dom/client'
        import '@laurel/react/styles.css'
        import { Page } from './page.tsx'
        createRoot(document.getElementById('root')!).render(<Page />)
      `,
    })
    await tool('vite/bin/vite.js', 'build', '--logLevel', 'error')
    const text = (pattern: string) =>
      globSync(`dist/assets/${pattern}`, { cwd: folder })
        .map((file) => readFileSync(join(folder, file), 'utf8'))
        .join('')
    expect(text('*.css')).toMatch(/@layer laurel/)
    expect(text('*.css')).toMatch(/--_dark:initial/)
    expect(gzipSync(text('*.css')).length).toBeLessThan(10_000)
    expect(text('*.js').includes('weekly-xp')).toBe(true)
  })

  test('is at most 32 KB with all components, hooks and its cache, beside React', async () => {
    const options = ['--bundle', '--minify', '--format=esm', '--jsx=automatic', '--external:react']
    const { stdout } = await tool(
      'esbuild/bin/esbuild',
      'page.tsx',
      ...options,
      '--external:react/jsx-runtime',
    )
    expect(gzipSync(stdout).length).toBeLessThan(32_000)
  })

  // "fr" and "sv" have spaces of their own in numbers, and "ar" has digits of its own.
  test.skipIf(!hasBrowser).each([undefined, 'de', 'fr', 'sv', 'ar'])(
    'is hydrated in a browser with another clock, zone and language than the server (locale %s)',
    async (locale) => {
      write({
        'hydrated.jsx': HYDRATED,
        'html.jsx': `
          import { renderToString } from 'react-dom/server'
          import { page } from './hydrated.jsx'
          // The clock of the server is a month behind.
          const now = Date.now
          Date.now = () => now() - 31 * 86_400_000
          console.log(renderToString(page(${JSON.stringify(locale)})))
        `,
        'hydrate.jsx': `
          import { hydrateRoot } from 'react-dom/client'
          import { page } from './hydrated.jsx'
          const root = document.getElementById('root')
          window.complaints = []
          hydrateRoot(root, page(${JSON.stringify(locale)}), {
            onRecoverableError: (error) => window.complaints.push(String(error)),
          })
        `,
      })
      const options = ['--bundle', '--format=esm', '--define:process.env.NODE_ENV="development"']
      const bundle = (name: string, ...more: string[]) =>
        tool('esbuild/bin/esbuild', name, ...options, ...more)
      await bundle('html.jsx', '--platform=node', '--packages=external', '--outfile=html.mjs')
      const { stdout: script } = await bundle('hydrate.jsx')
      const env = { ...process.env, TZ: 'America/New_York', LANG: 'C' }
      const { stdout: html, stderr } = await run(process.execPath, ['html.mjs'], { cwd: folder, env })
      expect(stderr).toBe('')
      const server = createServer(({ url }, response) => {
        const text = url === '/' ? `<!doctype html><div id="root">${html.trim()}</div>` : script
        if (url === '/' || url === '/script.js')
          response
            .setHeader('content-type', `text/${url === '/' ? 'html' : 'javascript'}; charset=utf-8`)
            .end(text)
        else response.writeHead(404).end()
      })
      const origin = await listening(server)
      const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
      onTestFinished(async () => {
        await browser.close()
        stop(server)
      })
      // All of the page is in view, so that the browser asks for its picture.
      const viewport = { width: 800, height: 4000 }
      const context = await browser.newContext({ locale: 'da-DK', timezoneId: 'Pacific/Auckland', viewport })
      const page = await context.newPage()
      await page.clock.setFixedTime('2026-11-30T12:00:00Z')
      const complaints: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error' && !message.text().includes('404')) complaints.push(message.text())
      })
      await page.goto(origin)
      // The badge has failed before there is a script.
      await page.waitForFunction(() => document.querySelector('img')?.complete)
      await page.addScriptTag({ url: '/script.js', type: 'module' })
      await page.locator('.laurel-points svg').waitFor()
      expect(complaints).toEqual([])
      expect(await page.evaluate('window.complaints')).toEqual([])
      // One that says when it was read has its run in the HTML, and the other one gets it in the browser.
      const runs = await page.locator('.laurel-leaderboard .laurel-detail').allTextContents()
      if (locale === undefined) expect(runs).toEqual(['Nov 23 – 29', 'Nov 30 – Dec 6'])
      expect(html).toContain(runs[0])
    },
  )
})
