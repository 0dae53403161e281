/**
 * `npm run bench:console`: how quickly the pages of the console are ready with 100 and with 100,000 users, in
 * a real browser. See bench/README.md.
 *
 * `-- --users 10000` takes fewer users, `-- --turns 2` opens each page less often.
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { newAdminKey } from '../scripts/lib/dev-vars.mjs'
import { project } from '../scripts/lib/project.mjs'
import { importSource } from '../scripts/lib/sources.mjs'
import { folder, runBench, save, tell, tellMore } from './lib/bench.mjs'
import { closeAll } from './lib/scale/filler.mjs'
import { openScene } from './lib/scale/scene.mjs'
import { BOARD, METRIC, SYSTEM } from './lib/scene.mjs'
import { lastWords, stopAll } from './lib/server.mjs'

/** The time limit of the whole run, in minutes. */
const MINUTES = 30
const FEW = 100
const MANY = 100_000
/** How often each page is opened at each size, besides a first time that is not counted. */
const TURNS = '5'
/** How long a page may take to be ready, in milliseconds. */
const PATIENCE = 60_000
/** How much later a page may be ready with many users than with few, in milliseconds. */
const MUST = 1000

/** @typedef {import('playwright-core').Page} Page */

/** One opening of a page: milliseconds until nothing loads, answers of the interface, and their bytes. */
/** @typedef {{ milliseconds: number; answers: number; bytes: number }} Opening */

/** @type {import('playwright-core').Browser | undefined} */
let browser

/** A scene, and a page that is signed in to its console. */
async function openConsole(/** @type {number} */ users) {
  tell(`${users.toLocaleString('en')} users…`)
  const adminKey = newAdminKey()
  const variables = { ADMIN_API_KEY: adminKey, TEST_CLOCK: 'on', DEMO: 'off', RATE_LIMITS: 'off' }
  const scene = await openScene({
    folder: join(folder, String(users)),
    users,
    adminKey,
    variables,
    tellMore,
    progress: () => undefined,
  })
  const page = await /** @type {NonNullable<typeof browser>} */ (browser).newPage()
  page.setDefaultTimeout(PATIENCE)
  await page.goto(`${scene.server.url}/console`)
  await page.getByLabel('Admin API key').fill(adminKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const { body } = await scene.server.ask('GET', '/admin/v1/users?limit=1', { key: adminKey })
  return { users, page, url: `${scene.server.url}/console`, user: String(Object(body)[0].id) }
}

/** Whether a page waits for an answer. It does not wait for the stream of live rankings, which has no end. */
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

const median = (/** @type {number[]} */ figures) =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0

async function run() {
  const { values } = parseArgs({
    options: { users: { type: 'string' }, turns: { type: 'string', default: TURNS } },
  })
  const { MAIN_PAGES } = await importSource(project, 'test/helpers/console/pages.ts')
  const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  const consoles = [await openConsole(FEW), await openConsole(Number(values.users ?? MANY))]
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
    for (let turn = 0; turn <= Number(values.turns); turn += 1)
      for (const [index, { page, url, user }] of consoles.entries()) {
        const opening = await open(page, url + path.replace(':user', encodeURIComponent(user)))
        if (turn > 0) openings[index]?.push(opening)
      }
    const [few, many] = openings.map((list) => ({
      milliseconds: Math.round(median(list.map(({ milliseconds }) => milliseconds))),
      answers: median(list.map(({ answers }) => answers)),
      bytes: median(list.map(({ bytes }) => bytes)),
    }))
    rows.push({ path, few, many })
    tellMore(`${path}: ${JSON.stringify(few)} ${JSON.stringify(many)}`)
  }
  const cells = rows.map(({ path, few, many }) =>
    [
      path,
      `${few?.milliseconds} ms`,
      `${many?.milliseconds} ms`,
      few?.answers,
      many?.answers,
      `${few?.bytes} B`,
      `${many?.bytes} B`,
    ].join(' | '),
  )
  const sizes = consoles.map(({ users }) => users.toLocaleString('en'))
  process.stdout.write(
    `\n| page | ${sizes.map((size) => `ready, ${size} users`).join(' | ')} | ${sizes.map((size) => `answers, ${size}`).join(' | ')} | ${sizes.map((size) => `bytes, ${size}`).join(' | ')} |\n|---|---|---|---|---|---|---|\n${cells.map((line) => `| ${line} |`).join('\n')}\n\n`,
  )
  const load = loadavg().map((one) => one.toFixed(1))
  tell(`The load of the machine was ${load.join(', ')} in the last minute, 5 and 15 minutes.`)
  save('console-', began, { pages: rows, load })
  const late = rows.filter(({ few, many }) => (many?.milliseconds ?? 0) - (few?.milliseconds ?? 0) > MUST)
  const greedy = rows.filter(({ few, many }) => few?.answers !== many?.answers)
  for (const { path } of late) tell(`${path} is ready too late with many users.`)
  for (const { path } of greedy) tell(`${path} asks for another number of answers with many users.`)
}

const began = performance.now()

runBench(run, {
  script: 'bench:console',
  minutes: MINUTES,
  stop: () => Promise.all([browser?.close(), stopAll(), closeAll()]),
  beforeFailing() {
    for (const said of lastWords()) tell(said)
  },
})
