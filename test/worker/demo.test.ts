/** The demo looks the same at every hour, although its users live in different time zones. */
import { expect, it } from 'vitest'
import { ADMIN_KEY, at, call } from '../helpers/worker/harness'
import { newDemo } from '../helpers/worker/new-demo'

const MONDAY = Date.UTC(2026, 5, 8)
const hours = (count: number) => new Date(MONDAY + count * 3600e3).toISOString()

it.each([
  ['before Monday begins in Paris', hours(-1.5)],
  ['when it is Monday only in Paris', hours(-0.5)],
  ['when it is still Sunday in New York', hours(0.5)],
  ['when it is Monday everywhere', hours(12)],
  ['when it is still Monday in New York', hours(26)],
])("[L1, L11] a new user's first lesson is below the three users of the demo: %s", async (_case, now) => {
  const send = await newDemo(now)
  const answer = await call(send, 'POST', '/v1/metrics/demo-lessons/event', {
    headers: { 'x-api-key': ADMIN_KEY },
    body: { user: { id: 'user-1', name: 'First user', tz: 'Europe/Paris' }, value: 1 },
  })
  expect(answer.status).toBe(201)
  expect(at(answer.body, 'leaderboards', 'demo-all-time')).toMatchObject({ rank: 4, previousRank: null })
})
