/** The server of the app. It signs users in, checks their answers, and is the only one who tells Laurel about them. */
import { createHash, randomBytes } from 'node:crypto'
import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { LaurelError } from '@laurel/client'
import { type Context, Hono } from 'hono'
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie'
import { createMiddleware } from 'hono/factory'
import { LESSONS } from '../src/lessons.ts'
import { LAUREL_URL, laurel } from './laurel.ts'

const port = Number(process.env.PORT ?? 4100)
const COOKIE = 'study-user'
// Without a secret of your own, everybody has to sign in again after a restart.
const secret = process.env.SESSION_SECRET ?? randomBytes(32).toString('hex')

/** The date at a user, such as `2026-06-03`. By Laurel's clock, so that both agree on the day. */
const todayIn = (timeZone: string) =>
  // The format of Canada is that of ISO 8601.
  new Intl.DateTimeFormat('en-CA', { timeZone }).format(laurel.now())

/** Answers 401 if nobody is signed in. */
const signedIn = createMiddleware<{ Variables: { userId: string } }>(async (c, next) => {
  const userId = await getSignedCookie(c, secret, COOKIE)
  if (!userId) return c.json({ error: 'Sign in first.' }, 401)
  c.set('userId', userId)
  await next()
})

/** The fields of a request's body. A body that is not JSON throws a SyntaxError. */
const bodyOf = async (c: Context): Promise<Record<string, unknown>> => Object(await c.req.json())

const app = new Hono()

app.post('/api/session', async (c) => {
  const { name, timeZone } = await bodyOf(c)
  if (typeof name !== 'string' || name.trim() === '' || name.length > 40)
    return c.json({ error: 'Enter a name with at most 40 characters.' }, 400)
  // This is a demo: a name is enough, and the same name is the same user. Check a password here, or ask a provider.
  const userId = `study-${createHash('sha256').update(name.trim().toLowerCase()).digest('hex').slice(0, 16)}`
  // The days of a streak begin at midnight where the user is.
  await laurel.users.identify(userId, { name: name.trim(), tz: String(timeZone) })
  await setSignedCookie(c, COOKIE, userId, secret, {
    httpOnly: true,
    sameSite: 'Lax',
    secure: process.env.NODE_ENV === 'production',
    maxAge: 30 * 24 * 60 * 60,
  })
  return c.json({ userId, laurelUrl: LAUREL_URL })
})

/** Answers null if nobody is signed in. */
app.get('/api/session', async (c) => {
  const userId = await getSignedCookie(c, secret, COOKIE)
  if (!userId) return c.json(null)
  try {
    await laurel.users.get(userId)
  } catch (error) {
    if (!(error instanceof LaurelError) || error.status !== 404) throw error
    // The user was erased, or the data of Laurel was deleted.
    deleteCookie(c, COOKIE)
    return c.json(null)
  }
  return c.json({ userId, laurelUrl: LAUREL_URL })
})

app.delete('/api/session', (c) => {
  deleteCookie(c, COOKIE)
  return c.body(null, 204)
})

/** A token for the page. It can only read: what counts is decided here. */
app.post('/api/laurel-token', signedIn, async (c) =>
  c.json(await laurel.admin.userTokens.create({ userId: c.var.userId, scope: 'read', ttl: 900 })),
)

/** The lessons that the user has finished today. Laurel has kept them, so this demo needs no database. */
app.get('/api/today', signedIn, async (c) => {
  const { tz } = await laurel.users.get(c.var.userId)
  const newest = await laurel.admin.users.timeline.list(c.var.userId, { types: 'event', limit: 50 })
  const today = todayIn(tz ?? 'UTC')
  const finished = newest.flatMap((entry) =>
    entry.type === 'event' && entry.localDate === today ? (entry.attributes['study-lesson'] ?? []) : [],
  )
  return c.json({ finished })
})

app.post('/api/lessons/:id/finish', signedIn, async (c) => {
  const lesson = LESSONS.find(({ id }) => id === c.req.param('id'))
  if (lesson === undefined) return c.json({ error: 'There is no such lesson.' }, 404)
  const { answers } = await bodyOf(c)
  if (!Array.isArray(answers) || answers.length !== lesson.questions.length)
    return c.json({ error: 'Answer all questions of the lesson.' }, 400)
  const isFlawless = lesson.questions.every(({ right }, index) => answers[index] === right)
  const { id, tz } = await laurel.users.get(c.var.userId)
  const answer = await laurel.event('study-lessons', {
    user: { id },
    value: 1,
    attributes: { 'study-lesson': lesson.id, 'study-flawless': isFlawless ? 'yes' : 'no' },
    // A lesson counts once a day, however often the page sends it.
    idempotencyKey: `${lesson.id} ${todayIn(tz ?? 'UTC')}`,
  })
  return c.json(answer)
})

app.use(serveStatic({ root: './dist' }))

app.onError((error, c) => {
  if (error instanceof SyntaxError) return c.json({ error: 'The body must be JSON.' }, 400)
  // A field that Laurel refuses, such as an unknown time zone. Its message says what is wrong.
  if (error instanceof LaurelError && error.status === 422) return c.json({ error: error.message }, 422)
  console.error(error)
  return c.json(
    { error: 'This did not work. Try again in a moment.' },
    error instanceof LaurelError ? 502 : 500,
  )
})

serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, () => {
  console.log(`The app is at http://localhost:${port}`)
})
