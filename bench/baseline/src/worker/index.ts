import { DurableObject } from 'cloudflare:workers'
import { type Context, Hono } from 'hono'

/**
 * The minimal cost of an event: a route, one D1 batch that reads three rows by primary key, one that writes
 * five, and one call of an object that stores a score and counts its rank. Checks no key, validates nothing,
 * guards nothing and logs nothing. Of two simultaneous events of a user, one may be lost. It exists only for
 * comparison.
 */
type Env = { Bindings: { DB: D1Database; BOARD: DurableObjectNamespace<Board> } }

const app = new Hono<Env>()

const SYSTEM = 'points'
const AWARD = 10

app.post('/v1/metrics/:key/event', async (c) => {
  const { eventId, total, points } = await record(c, c.req.param('key'))
  return c.json({ eventId, total, points }, 201)
})

app.post('/ranked/v1/metrics/:key/event', async (c) => {
  const { userId, eventId, total, points } = await record(c, c.req.param('key'))
  const rank = await c.env.BOARD.getByName('board').put(userId, total)
  return c.json({ eventId, total, points, rank }, 201)
})

async function record(c: Context<Env>, metric: string) {
  const { user, value } = await c.req.json<{ user: { id: string }; value: number }>()
  const db = c.env.DB
  const [known, metricTotal, pointsTotal] = await db.batch<{ seq?: number; total?: number }>([
    db.prepare('SELECT seq FROM users WHERE id = ?1').bind(user.id),
    db.prepare('SELECT total FROM metric_totals WHERE user_id = ?1 AND metric_id = ?2').bind(user.id, metric),
    db.prepare('SELECT total FROM points_totals WHERE user_id = ?1 AND system_id = ?2').bind(user.id, SYSTEM),
  ])
  const at = Date.now()
  const eventId = crypto.randomUUID()
  const seq = (known?.results[0]?.seq ?? 0) + 1
  const total = (metricTotal?.results[0]?.total ?? 0) + value
  const points = (pointsTotal?.results[0]?.total ?? 0) + AWARD
  await db.batch([
    db.prepare('INSERT OR REPLACE INTO users (id, seq, changed) VALUES (?1, ?2, ?3)').bind(user.id, seq, at),
    db
      .prepare('INSERT OR REPLACE INTO metric_totals (user_id, metric_id, total) VALUES (?1, ?2, ?3)')
      .bind(user.id, metric, total),
    db
      .prepare('INSERT OR REPLACE INTO points_totals (user_id, system_id, total) VALUES (?1, ?2, ?3)')
      .bind(user.id, SYSTEM, points),
    db
      .prepare('INSERT INTO events (user_id, metric_id, at, id, value) VALUES (?1, ?2, ?3, ?4, ?5)')
      .bind(user.id, metric, at, eventId, value),
    db
      .prepare(
        'INSERT INTO awards (user_id, system_id, at, id, awarded, total) VALUES (?1, ?2, ?3, ?4, ?5, ?6)',
      )
      .bind(user.id, SYSTEM, at, crypto.randomUUID(), AWARD, points),
  ])
  return { userId: user.id, eventId, total, points: { total: points, added: AWARD } }
}

/** The only leaderboard. */
export class Board extends DurableObject<object> {
  readonly #sql = this.ctx.storage.sql

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env)
    this.#sql.exec(
      'CREATE TABLE IF NOT EXISTS scores (user_id TEXT PRIMARY KEY, score INTEGER NOT NULL) WITHOUT ROWID',
    )
    this.#sql.exec('CREATE INDEX IF NOT EXISTS scores_by_score ON scores (score)')
  }

  /** Stores a score, and returns its rank. */
  put(userId: string, score: number): number {
    this.#sql.exec(
      'INSERT INTO scores (user_id, score) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET score = ?2',
      userId,
      score,
    )
    const better = 'SELECT count(*) AS better FROM scores WHERE score > ?1'
    return this.#sql.exec<{ better: number }>(better, score).one().better + 1
  }
}

app.get('/health', (c) => c.json({ status: 'ok' }))

export default app
