import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newProject, type Server, startServer } from './harness'

const HOUR = 3_600_000
/** How long overdue work may take after the start, in milliseconds. */
const PATIENCE = 60_000

async function send(server: Server, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'X-API-KEY': server.adminKey, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return answer.json()
}

/** Lets time pass on the set clock while nothing runs. */
function letPass(folder: string, milliseconds: number): void {
  const wrangler = join(folder, 'node_modules', 'wrangler', 'bin', 'wrangler.js')
  const command = `UPDATE test_clock SET now = now + ${milliseconds}`
  execFileSync(process.execPath, [wrangler, 'd1', 'execute', 'laurel', '--local', '--command', command], {
    cwd: folder,
    stdio: 'ignore',
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: '1' },
  })
}

/** Asks until the answer is as wanted, or too long. */
async function until<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const answer = await ask()
    if (isWanted(answer) || performance.now() > deadline) return answer
    await sleep(200)
  }
}

test('C2, P4: what fell due while the server was down is done once it is up again, and only once', async () => {
  const folder = await newProject()
  const energy = (server: Server) => () => send(server, 'GET', '/v1/users/ada/points/demo-energy?awards=100')
  const totalOf = (answer: unknown) => Object(answer).total
  try {
    const first = await startServer({ folder })
    const now = Date.now() + HOUR / 2
    await send(first, 'PUT', '/admin/v1/test-clock', { now: new Date(now).toISOString() })
    await send(first, 'PUT', '/v1/users/ada', { tz: 'Asia/Kathmandu' })
    expect(totalOf(await energy(first)())).toBe(0)
    await first.stop()

    letPass(folder, 3 * HOUR)
    const second = await startServer({ folder })
    const done = await until(energy(second), (answer) => totalOf(answer) === 3)
    expect(totalOf(done)).toBe(3)
    expect(Object(done).awards).toHaveLength(3)
    await second.stop()

    const third = await startServer({ folder })
    const end = new Date(now + 4 * HOUR).toISOString()
    await send(third, 'PUT', '/admin/v1/test-clock', { now: end })
    expect(totalOf(await energy(third)())).toBe(4)
    await third.stop()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
