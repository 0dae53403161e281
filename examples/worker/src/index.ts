/** A Worker of your product. It calls Laurel by a service binding: no request leaves Cloudflare. */
import { Laurel, LaurelError } from '@laurel/client'

interface Env {
  LAUREL: Fetcher
  LAUREL_ADMIN_KEY: string
}

/** A problem with the request, which the caller can fix. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Who is signed in. Put your own sign-in here: anybody can send this header. */
function userOf(request: Request): string {
  const id = request.headers.get('x-user') ?? ''
  if (!/^[\w-]{1,64}$/.test(id))
    throw new Refusal(401, 'Say who you are in the header X-User: 1 to 64 letters, digits, _ or -.')
  return id
}

/** The user has finished a lesson. It counts once, however often the request comes. */
async function finish(laurel: Laurel, user: string, lesson: string) {
  const { points, currentStreak } = await laurel.event('demo-lessons', {
    user: { id: user },
    value: 1,
    idempotencyKey: `${user}/${lesson}`,
  })
  return { xp: points['demo-xp']?.added ?? 0, streak: currentStreak.length }
}

/** The best of the week. */
async function board(laurel: Laurel) {
  const { rankings } = await laurel.leaderboards.get('demo-weekly-xp', { limit: 10 })
  return rankings.map(({ rank, userId, value }) => ({ rank, user: userId, xp: value }))
}

function answer(request: Request, laurel: Laurel): Promise<unknown> {
  const { pathname } = new URL(request.url)
  const [, lesson] = /^\/lessons\/([\w-]{1,64})$/.exec(pathname) ?? []
  if (lesson !== undefined && request.method === 'POST') return finish(laurel, userOf(request), lesson)
  if (pathname === '/board' && request.method === 'GET') return board(laurel)
  throw new Refusal(404, 'There are POST /lessons/LESSON and GET /board.')
}

export default {
  async fetch(request, env) {
    const laurel = new Laurel({
      // Any host will do, since the binding leads to Laurel.
      url: 'https://laurel',
      apiKey: env.LAUREL_ADMIN_KEY,
      fetch: env.LAUREL,
    })
    try {
      return Response.json(await answer(request, laurel))
    } catch (error) {
      if (error instanceof Refusal) return Response.json({ error: error.message }, { status: error.status })
      if (!(error instanceof LaurelError)) throw error
      console.error(`Laurel answered ${error.status}: ${error.message}`)
      return Response.json({ error: 'Try again later.' }, { status: 502 })
    }
  },
} satisfies ExportedHandler<Env>
