/**
 * `npm run screenshots -- [NAME…]`: pictures of the pages of the console, light and dark, on a desktop and on
 * a phone, in `dist/screenshots`. Names choose pages of `test/helpers/console/pages.ts`. With `--docs`, it makes
 * the pictures of the documentation and of the README again (`docs/pictures`).
 *
 * It starts a server of its own with the demo, and plays five weeks with it, which takes some minutes. With
 * URL and KEY in the environment, it uses a server that runs, as it is.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { playBusyWeeks } from './lib/busy-weeks.mjs'
import { inProject, project, report } from './lib/project.mjs'
import { importSource } from './lib/sources.mjs'

const PORT = '8799'
const FOLDER = inProject('dist', 'screenshots')
const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
}
const THEMES = /** @type {const} */ (['light', 'dark'])
/** So that the same dates look the same on every machine. */
const VIEWER = { locale: 'en-US', timezoneId: 'Europe/Berlin', reducedMotion: 'reduce' }

/** The pictures of the documentation, by their theme, on a desktop. */
const IN_DOCS = {
  light: ['overview', 'user', 'trigger-new', 'template'],
  dark: ['user-timeline', 'leaderboard'],
}

/** The files of the project that a server needs. */
const NEEDED = ['package.json', 'wrangler.toml', 'tsconfig.json', 'src', 'migrations', 'scripts', 'console']

/** A copy of the project without its data, so that the server begins with the demo alone. */
function newProject() {
  const folder = mkdtempSync(join(tmpdir(), 'laurel-screenshots-'))
  const isSource = (/** @type {string} */ path) => !path.includes('node_modules')
  for (const name of [...NEEDED, 'clients'])
    cpSync(inProject(name), join(folder, name), { recursive: true, filter: isSource })
  symlinkSync(inProject('node_modules'), join(folder, 'node_modules'), 'dir')
  return folder
}

/** Starts a server, or takes the one that the environment names. */
async function serve() {
  const { URL: url, KEY: key } = process.env
  if (url !== undefined && key !== undefined) return { url, key, stop: async () => undefined }
  const folder = newProject()
  const child = spawn(process.execPath, [join(folder, 'scripts', 'start.mjs')], {
    cwd: folder,
    env: { ...process.env, PORT },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  const printed = await new Promise((resolve, reject) => {
    child.stdout.on('data', (part) => {
      output += part
      const [, key] = /Admin key +(\S+)/.exec(output) ?? []
      if (key !== undefined && output.includes('curl ')) resolve(key)
    })
    child.once('exit', () => reject(new Error(`The server has ended.\n${output}`)))
  })
  const server = { url: `http://localhost:${PORT}`, key: String(printed) }
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    process.stdout.write('Playing five weeks…\n')
    await playBusyWeeks(server)
  } catch (error) {
    await stop()
    throw error
  }
  return { ...server, stop }
}

/** Waits until nothing of the page is loading. */
async function settled(/** @type {import('playwright-core').Page} */ page) {
  await page.locator('h1').first().waitFor({ state: 'attached' })
  await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  await page.evaluate('document.fonts.ready.then(() => undefined)')
}

async function run() {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { docs: { type: 'boolean', default: false } },
  })
  const { MAIN_PAGES, OTHER_PAGES } = await importSource(project, 'test/helpers/console/pages.ts')
  const pages = [...MAIN_PAGES, ...OTHER_PAGES]
  /** @type {(picture: string, theme: string, size: string) => boolean} */
  const isWanted = (picture, theme, size) =>
    values.docs
      ? size === 'desktop' && IN_DOCS[theme].includes(picture)
      : positionals.length === 0 || positionals.includes(picture)
  const folder = values.docs ? inProject('docs', 'pictures') : FOLDER
  mkdirSync(folder, { recursive: true })
  /** @type {(picture: string, theme: string, size: string) => string} */
  const pathOf = (picture, theme, size) =>
    join(folder, values.docs ? `${picture}.png` : `${picture}-${theme}-${size}.png`)
  const { url, key, stop } = await serve()
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    for (const theme of THEMES)
      for (const [size, screen] of Object.entries(SIZES)) {
        const chosen = pages.filter(({ picture }) => isWanted(picture, theme, size))
        if (chosen.length === 0) continue
        const context = await browser.newContext({ colorScheme: theme, ...VIEWER, ...screen })
        const page = await context.newPage()
        await page.goto(`${url}/console`)
        await page.getByLabel('Admin API key').waitFor()
        if (!values.docs) await page.screenshot({ path: pathOf('sign-in', theme, size) })
        await page.getByLabel('Admin API key').fill(key)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
        for (const { path, picture } of chosen) {
          await page.goto(`${url}/console${path}`)
          await settled(page)
          await page.screenshot({ path: pathOf(picture, theme, size) })
        }
        await context.close()
      }
  } finally {
    await browser.close()
    await stop()
  }
  process.stdout.write(`The pictures are in ${folder}.\n`)
}

run().then(
  () => process.exit(),
  (error) => {
    report(error)
    process.exit(1)
  },
)
