/**
 * `npm run screenshots -- [NAME…]`: pictures of the pages of the console, light and dark, on a desktop and on
 * a phone, in `dist/screenshots`. It starts a server with the demo. Names choose pages of
 * `test/console/pages.ts`. With URL and KEY in the environment, it uses a server that runs.
 */
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { inProject, project, report } from './lib/project.mjs'
import { importSource } from './lib/sources.mjs'

const PORT = '8799'
const FOLDER = inProject('dist', 'screenshots')
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }

/** Starts a server, or takes the one that the environment names. */
async function serve() {
  const { URL: url, KEY: key } = process.env
  if (url !== undefined && key !== undefined) return { url, key, stop: () => undefined }
  const child = spawn(process.execPath, [inProject('scripts', 'start.mjs')], {
    cwd: project,
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
  return { url: `http://localhost:${PORT}`, key: String(printed), stop: () => child.kill('SIGTERM') }
}

async function run() {
  const { positionals } = parseArgs({ allowPositionals: true })
  const { MAIN_PAGES, OTHER_PAGES } = await importSource(project, 'test/console/pages.ts')
  const pages = [...MAIN_PAGES, ...OTHER_PAGES].filter(
    ({ picture }) => positionals.length === 0 || positionals.includes(picture),
  )
  mkdirSync(FOLDER, { recursive: true })
  const { url, key, stop } = await serve()
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    for (const colorScheme of /** @type {const} */ (['light', 'dark']))
      for (const [size, viewport] of Object.entries(SIZES)) {
        const context = await browser.newContext({ colorScheme, viewport, reducedMotion: 'reduce' })
        const page = await context.newPage()
        await page.goto(`${url}/console`)
        await page.getByLabel('Admin API key').waitFor()
        await page.screenshot({ path: join(FOLDER, `sign-in-${colorScheme}-${size}.png`) })
        await page.getByLabel('Admin API key').fill(key)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
        for (const { path, picture } of pages) {
          await page.goto(`${url}/console${path}`)
          await page.locator('h1').first().waitFor({ state: 'attached' })
          await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
          await page.screenshot({ path: join(FOLDER, `${picture}-${colorScheme}-${size}.png`) })
        }
        await context.close()
      }
  } finally {
    await browser.close()
    stop()
  }
  process.stdout.write(`The pictures are in ${FOLDER}.\n`)
}

run().then(
  () => process.exit(),
  (error) => {
    report(error)
    process.exit(1)
  },
)
