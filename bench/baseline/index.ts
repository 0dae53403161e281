import { Hono } from 'hono'

/**
 * What an event costs at the very least: a route, one D1 batch that reads three rows by primary key, and one that writes
 * five. It checks no key and validates nothing, guards nothing and logs nothing; two events of a user at once may lose
 * one. It is there only to be measured against.
 */
const app = new Hono<{ Bindings: { DB: D1Database } }>()

const SYSTEM = 'points'
const AWARD = 10

app.post('/v1/metrics/:key/event', async (c) => {
  const metric = c.req.param('key')
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
  return c.json({ eventId, total, points: { total: points, added: AWARD } }, 201)
})

app.get('/health', (c) => c.json({ status: 'ok' }))

export default app
