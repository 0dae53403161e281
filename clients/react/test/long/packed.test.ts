import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

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
    const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    const paths = ['.', './parts'].flatMap((entry) => [exports[entry].types, exports[entry].default])
    for (const path of [...paths, exports['./styles.css'].default, 'README.md', 'LICENSE'])
      expect(readFileSync(join(installed, path), 'utf8')).not.toBe('')
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
})
