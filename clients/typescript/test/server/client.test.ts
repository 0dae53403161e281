/** The client against a running server, in Node and in a real browser. */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Server, startServer } from '../../../../test/helpers/server/harness'
import { Laurel } from '../../src/index.js'
import { testBrowser } from './browser.js'

let server: Server
let laurel: Laurel

beforeAll(async () => {
  server = await startServer()
  laurel = new Laurel({ url: server.url, apiKey: server.adminKey })
})

describe('the client in Node', () => {
  it('[E4] sends an event, and reads everything that it changed', async () => {
    const event = { user: { id: 'node-ada', name: 'Ada' }, value: 2, idempotencyKey: 'first' }
    const { data, response } = await laurel.event('demo-lessons', event).withResponse()
    expect(response.status).toBe(201)
    expect(data).toMatchObject({ total: 2, idempotencyKey: 'first', idempotentReplayed: false })
    expect(data.points['demo-xp']?.added).toBe(20)
    expect(await laurel.event('demo-lessons', event)).toMatchObject({ total: 2, idempotentReplayed: true })
    const [user, points, streak, board, place] = await Promise.all([
      laurel.users.get('node-ada'),
      laurel.users.points.get('node-ada', 'demo-xp', { awards: 1 }),
      laurel.users.streak('node-ada', { historyPeriods: 7 }),
      laurel.leaderboards.get('demo-all-time', { limit: 3, userId: 'node-ada' }),
      laurel.users.leaderboards.get('node-ada', 'demo-all-time'),
    ])
    expect(user.name).toBe('Ada')
    expect(points).toMatchObject({ total: 20, awards: [{ awarded: 20 }] })
    expect(streak.length).toBe(1)
    const { rank } = place
    expect(rank).toBeGreaterThan(0)
    expect(board.rankings).toContainEqual({ userId: 'node-ada', userName: 'Ada', rank, value: 2 })
  })

  it('uses keys with every character', async () => {
    const idempotencyKey = 'é ✓ key / ü'
    const event = { user: { id: 'a/b ?#é' }, value: 1, idempotencyKey }
    expect(await laurel.event('demo-lessons', event)).toMatchObject({ idempotencyKey })
    expect(await laurel.event('demo-lessons', event)).toMatchObject({ idempotentReplayed: true })
    expect(await laurel.users.get('a/b ?#é')).toMatchObject({ id: 'a/b ?#é' })
  })
})

testBrowser(() => server)
