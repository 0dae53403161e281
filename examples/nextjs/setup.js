/** Makes what the app needs: settings in `.env.local`, and a few things in Laurel. It can run again and again. */
import { randomBytes } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { Laurel, LaurelError } from '@laurel/client'
import env from '@next/env'

const METRIC = 'reading-pages'
const POINTS = 'reading-points'

/**
 * Keeps a setting in `.env.local`, unless it is set already.
 *
 * @param {string} name
 * @param {string | undefined} value
 */
function keep(name, value) {
  if (process.env[name] !== undefined || value === undefined) return
  appendFileSync('.env.local', `${name}=${value}\n`, { mode: 0o600 })
  process.env[name] = value
}

/** The admin key of `npm start`, if this folder is in Laurel's repository. */
function keyOfRepository() {
  const file = new URL('../../.dev.vars', import.meta.url)
  return existsSync(file) ? /^ADMIN_API_KEY=(.*)$/m.exec(readFileSync(file, 'utf8'))?.[1] : undefined
}

/**
 * Creates the items whose keys do not exist yet.
 *
 * @template {{ key?: string | null }} Item
 * @param {{
 *   list(): { toArray(): Promise<{ key: string | null }[]> }
 *   create(items: Item[]): PromiseLike<{ issues: { message: string }[] }>
 * }} collection
 * @param {Item[]} items
 */
async function ensure(collection, items) {
  const existing = new Set((await collection.list().toArray()).map(({ key }) => key))
  const missing = items.filter(({ key }) => !existing.has(key ?? null))
  if (missing.length === 0) return
  const { issues } = await collection.create(missing)
  if (issues.length > 0) throw new Error(issues.map(({ message }) => message).join('\n'))
}

async function setUp() {
  // As Next.js reads them.
  env.loadEnvConfig('.')
  keep('SESSION_SECRET', randomBytes(32).toString('hex'))
  keep('LAUREL_ADMIN_KEY', keyOfRepository())
  const { LAUREL_URL: url = '', LAUREL_ADMIN_KEY: apiKey } = process.env
  if (!apiKey) throw new Error('Set LAUREL_ADMIN_KEY to the admin key that Laurel has printed.')

  const { admin } = new Laurel({ url, apiKey, tries: 3 })
  await ensure(admin.metrics, [{ key: METRIC, name: 'Pages', units: 'pages' }])
  await ensure(admin.attributes, [{ key: 'reading-book', name: 'Book', type: 'event' }])
  await ensure(admin.points, [
    {
      key: POINTS,
      name: 'Reading points',
      levels: [
        { key: 'reader', name: 'Reader', points: 0 },
        { key: 'page-turner', name: 'Page-turner', points: 100 },
        { key: 'bookworm', name: 'Bookworm', points: 500 },
        { key: 'librarian', name: 'Librarian', points: 2000 },
      ],
      triggers: [
        { key: 'page', type: 'metric', metricKey: METRIC, metricThreshold: 1, points: 1, status: 'active' },
      ],
    },
  ])
  // From a Monday on, so each week begins on Monday, at the midnight of each user.
  await ensure(admin.leaderboards, [
    {
      key: 'reading-week',
      name: 'Pages this week',
      rankBy: 'points',
      pointsSystemKey: POINTS,
      start: '2026-01-05',
      runUnit: 'day',
      runInterval: 7,
      status: 'active',
    },
  ])
  // The settings of streaks are for all of Laurel, so those of other apps stay: this adds the pages to them.
  const { metrics } = await admin.streaks.settings.get()
  const countsAnyway = metrics.length === 0 || metrics.some(({ key }) => key === METRIC)
  if (!countsAnyway)
    await admin.streaks.settings.update({ metrics: [...metrics, { key: METRIC, threshold: 1 }] })
  console.log(`Laurel at ${url} has all that the app needs.`)
}

try {
  await setUp()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  if (error instanceof LaurelError && error.status === 401)
    console.error('If LAUREL_ADMIN_KEY in .env.local is an old key, delete that line and run this again.')
  process.exitCode = 1
}
