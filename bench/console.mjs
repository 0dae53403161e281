/**
 * `npm run bench:console`: how quickly the pages of the console are ready with 100 and with 100,000 users, in
 * a real browser. See bench/README.md.
 *
 * `-- --users 10000` takes fewer users, `-- --turns 2` opens each page less often.
 */
import { chromium } from 'playwright-core'
import { project } from '../scripts/lib/project.mjs'
import { importSource } from '../scripts/lib/sources.mjs'
import { adminKey, atEnd, fixed, median, runBench, save, tell, tellMore, wholeOf } from './lib/bench.mjs'
import { BOARD, METRIC, SYSTEM } from './lib/scene.mjs'
import { openScene } from './scale/scene.mjs'

const FEW = 100
/** How long a page may take to be ready, in milliseconds. */
const PATIENCE = 60_000
/** How much later a page may be ready with many users than with few, in milliseconds. */
const MUST = 1000

/** @typedef {import('playwright-core').Page} Page */

/** One opening of a page: milliseconds until nothing loads, answers of the interface, and their bytes. */
/** @typedef {{ milliseconds: number; answers: number; bytes: number }} Opening */

/** A scene, and a page that is signed in to its console. */
async function openConsole(
  /** @type {import('playwright-core').Browser} */ browser,
  /** @type {number} */ users,
) {
  tell(`${fixed(users)} users…`)
  const scene = await openScene({ users })
  const page = await browser.newPage()
  page.setDefaultTimeout(PATIENCE)
  await page.goto(`${scene.server.url}/console`)
  await page.getByLabel('Admin API key').fill(adminKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const { body } = await scene.server.ask('GET', '/admin/v1/users?limit=1')
  return { users, page, url: `${scene.server.url}/console`, user: String(Object(body)[0].id) }
}

/** True if a page waits for an answer. It does not wait for the stream of live rankings, which has no end. */
const isAnswered = (/** @type {import('playwright-core').Request} */ request) =>
  /\/v1\//.test(request.url()) && request.headers().accept !== 'text/event-stream'

/** Opens a page by its address, and measures until nothing of it loads. @returns {Promise<Opening>} */
async function open(/** @type {Page} */ page, /** @type {string} */ url) {
  const requests = /** @type {import('playwright-core').Request[]} */ ([])
  const note = (/** @type {import('playwright-core').Request} */ request) => {
    if (isAnswered(request)) requests.push(request)
  }
  page.on('request', note)
  const began = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator('h1').first().waitFor({ state: 'attached' })
  let seen = -1
  // An answer may be followed by a request that needs it.
  while (requests.length > seen) {
    seen = requests.length
    await Promise.all(requests.map(async (request) => (await request.response())?.finished()))
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  }
  const milliseconds = performance.now() - began
  page.off('request', note)
  const bytes = await Promise.all(requests.map(async (request) => (await request.sizes()).responseBodySize))
  return { milliseconds, answers: bytes.length, bytes: bytes.reduce((sum, size) => sum + size, 0) }
}

/** Runs the bench with these options. */
async function run(/** @type {Record<string, string>} */ { users, turns }) {
  const { MAIN_PAGES } = await importSource(project, 'test/helpers/console/pages.ts')
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  atEnd(() => browser.close())
  const consoles = [await openConsole(browser, FEW), await openConsole(browser, wholeOf(users))]
  const paths = [
    ...MAIN_PAGES.map((/** @type {{ path: string }} */ { path }) => path),
    '/users?search=7',
    // No user fits, so all users are searched.
    '/users?search=nobody',
    '/users/:user',
    '/users/:user/timeline',
    '/users/:user/achievements',
    `/metrics/${METRIC}`,
    `/points/${SYSTEM}`,
    `/leaderboards/${BOARD}`,
  ]
  const rows = []
  for (const path of paths) {
    const openings = consoles.map(() => /** @type {Opening[]} */ ([]))
    // In turns, so that a busy moment of the machine meets both sizes.
    for (let turn = 0; turn <= wholeOf(turns); turn += 1)
      for (const [index, { page, url, user }] of consoles.entries()) {
        const opening = await open(page, url + path.replace(':user', encodeURIComponent(user)))
        if (turn > 0) openings[index]?.push(opening)
      }
    const [few, many] = openings.map((list) => ({
      milliseconds: Math.round(median(list.map(({ milliseconds }) => milliseconds))),
      answers: median(list.map(({ answers }) => answers)),
      bytes: median(list.map(({ bytes }) => bytes)),
    }))
    if (few === undefined || many === undefined) continue
    rows.push({ path, few, many })
    tellMore(`${path}: ${few.milliseconds} and ${many.milliseconds} ms`)
  }
  const sizes = consoles.map((one) => fixed(one.users))
  const head = ['ready, ms', 'answers', 'bytes'].flatMap((what) =>
    sizes.map((size) => `${what}, ${size} users`),
  )
  const lines = rows.map(({ path, few, many }) => [
    path,
    ...[few.milliseconds, many.milliseconds, few.answers, many.answers, few.bytes, many.bytes].map(String),
  ])
  save('console', [['page', ...head], ...lines], { pages: rows })
  for (const { path, few, many } of rows) {
    if (many.milliseconds - few.milliseconds > MUST) tell(`${path} is ready too late with many users.`)
    if (few.answers !== many.answers) tell(`${path} asks for another number of answers with many users.`)
  }
}

runBench({ script: 'bench:console', minutes: 30, options: { users: '100000', turns: '5' }, run })
