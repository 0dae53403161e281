import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newProject, type Server, startServer } from '../../helpers/server/harness'
import { inDatabase as askDatabase, STATE } from '../../helpers/server/local-state'
import { SERVER_START } from '../../helpers/time'
import { untilHeld } from '../../helpers/until'

type Place = { userId: string; value: number }

const HOUR = 3_600_000

const send = async ({ ask }: Server, method: string, path: string, body?: unknown): Promise<unknown> =>
  (await ask(method, path, body)).body

/** Runs a statement in the database of a stopped server. Returns its rows. */
const inDatabase = (folder: string, sql: string) => askDatabase(join(folder, STATE), 1, sql)

/** Moves the test clock while nothing runs. */
function letPass(folder: string, milliseconds: number): void {
  inDatabase(folder, `UPDATE test_clock SET now = now + ${milliseconds}`)
}

// Concurrent, because these tests mostly wait for servers and measure no time.
test.concurrent('[C1, C2, P4] the test clock stays, and work that falls due while the server is down is done once after the start', async () => {
  const folder = await newProject()
  const energy = async (server: Server) => {
    const { total, awards } = Object(await send(server, 'GET', '/v1/users/ada/points/demo-energy?awards=100'))
    return [total, awards.length]
  }
  const first = await startServer({ folder, clock: SERVER_START })
  await send(first, 'PUT', '/v1/users/ada', { tz: 'Asia/Kathmandu' })
  expect(await energy(first)).toEqual([0, 0])
  await first.stop()

  letPass(folder, 3 * HOUR)
  const second = await startServer({ folder })
  const now = new Date(SERVER_START + 3 * HOUR).toISOString()
  expect(await send(second, 'GET', '/admin/v1/test-clock')).toEqual({ now })
  await untilHeld(async () => expect(await energy(second)).toEqual([3, 3]))
  await second.stop()

  const third = await startServer({ folder })
  const end = new Date(SERVER_START + 4 * HOUR).toISOString()
  await send(third, 'PUT', '/admin/v1/test-clock', { now: end })
  expect((await energy(third))[0]).toBe(4)
})

test.concurrent('[C2, S3] streaks are judged across a stop of the server, without a visit, and each midnight only once', async () => {
  const folder = await newProject()
  // Without the users of the demo.
  const board = async (server: Server) =>
    Object(await send(server, 'GET', '/v1/leaderboards/streaks'))
      .rankings.filter(({ userId }: Place) => !userId.startsWith('demo-'))
      .map(({ userId, value }: Place) => [userId, value])
  const first = await startServer({ folder, clock: SERVER_START })
  const now = new Date(SERVER_START + 10 * HOUR).toISOString()
  await send(first, 'PUT', '/admin/v1/test-clock', { now })
  const streaks = {
    key: 'streaks',
    name: 'Streaks',
    rankBy: 'streak',
    start: now.slice(0, 10),
    status: 'active',
  }
  await send(first, 'POST', '/admin/v1/leaderboards', [streaks])
  for (const id of ['ada', 'bob']) {
    await send(first, 'POST', '/v1/metrics/demo-lessons/event', { user: { id }, value: 1 })
  }
  // Each user begins with one freeze.
  await send(first, 'POST', '/admin/v1/streaks/freezes', { freezes: [{ userId: 'ada' }] })
  expect(await board(first)).toEqual([
    ['ada', 1],
    ['bob', 1],
  ])
  await first.stop()

  // Two days without a lesson.
  letPass(folder, 51 * HOUR)
  const second = await startServer({ folder })
  await untilHeld(async () => expect(await board(second)).toEqual([['ada', 1]]))
  await second.stop()
  expect(
    inDatabase(
      folder,
      `SELECT id, streak ->> '$.run.history' AS alive, streak ->> '$.freezes' AS freezes, history AS over
       FROM users u LEFT JOIN streak_runs r ON r.user_iid = u.iid
       WHERE id NOT LIKE 'demo-%' ORDER BY id, first`,
    ),
  ).toEqual([
    { id: 'ada', alive: '1e2f', freezes: null, over: null },
    { id: 'bob', alive: null, freezes: null, over: '1e1f' },
  ])
})
