/**
 * `npm run screenshots:study`: makes the picture of examples/study again (`docs/pictures/study.png`).
 *
 * It needs a new Laurel (`npm start`) and the app beside it (`npm start` in `examples/study`). Six learners play from
 * Monday to Saturday of the next week. URL and APP in the environment name other addresses than the usual ones, and
 * KEY the admin key.
 */
import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { launchBrowser, takePicture, VIEWER } from './lib/browser.mjs'
import { runCommand } from './lib/command.mjs'
import { inProject, project } from './lib/project.mjs'
import { importSource } from './lib/sources.mjs'

const { URL: url = 'http://localhost:8787', APP: app = 'http://localhost:4100' } = process.env
const DAY = 24 * 60 * 60 * 1000
const MONDAY = 1

/** How many lessons each learner finishes on each day. A freeze saves Ada's Thursday. */
const LEARNERS = {
  Ada: [2, 2, 2, 0, 2, 2],
  Alan: [3, 2, 2, 2, 1, 1],
  Grace: [1, 2, 2, 1, 2, 1],
  Emmy: [0, 2, 1, 2, 1, 1],
  Mary: [1, 0, 1, 0, 1, 1],
  Lise: [0, 0, 1, 0, 0, 1],
}

await runCommand(async () => {
  const { LESSONS } = await importSource(project, 'examples/study/src/lessons.ts')
  const key = process.env.KEY ?? parseEnv(readFileSync(inProject('.dev.vars'), 'utf8')).ADMIN_API_KEY ?? ''
  const failOnStatusCode = true
  const browser = await launchBrowser()
  try {
    const learners = []
    for (const [name, lessons] of Object.entries(LEARNERS)) {
      // It keeps the cookie of the learner.
      const context = await browser.newContext({ ...VIEWER, baseURL: app })
      const data = { name, timeZone: VIEWER.timezoneId }
      await context.request.post('/api/session', { data, failOnStatusCode })
      learners.push({ lessons, context })
    }
    const [ada] = learners.map(({ context }) => context)
    const now = new Date()
    const monday = now.setUTCHours(12, 0, 0, 0) + (((MONDAY - now.getUTCDay() + 6) % 7) + 1) * DAY
    for (const day of [0, 1, 2, 3, 4, 5]) {
      const data = { now: new Date(monday + day * DAY).toISOString() }
      const headers = { 'x-api-key': key }
      await ada?.request.put(`${url}/admin/v1/test-clock`, { data, headers, failOnStatusCode })
      for (const { lessons, context } of learners)
        for (let count = 0; count < (lessons[day] ?? 0); count += 1) {
          const { id, questions } = LESSONS[(2 * day + count) % LESSONS.length]
          const answers = questions.map((/** @type {{ right: number }} */ { right }) => right)
          await context.request.post(`/api/lessons/${id}/finish`, { data: { answers }, failOnStatusCode })
        }
    }
    const page = await ada?.newPage()
    if (page === undefined) return
    await page.goto(app)
    for (const text of ['Live', 'day streak', 'Done today', 'First light'])
      await page.getByText(text).first().waitFor()
    await takePicture(page, inProject('docs', 'pictures', 'study.png'))
  } finally {
    await browser.close()
  }
})
