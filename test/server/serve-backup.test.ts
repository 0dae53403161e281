/** Backups of `npm run serve` while events come, and what is there after they are restored. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PATIENCE } from '../patience'
import { ADMIN_KEY, newProject, type Server, startServer } from './harness'

const USERS = Array.from({ length: 20 }, (_, n) => `user-${n}`)

let folder: string
let server: Server

beforeAll(async () => {
  folder = await newProject()
  server = await start('data')
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const start = (data: string) =>
  startServer({
    folder,
    by: 'serve',
    env: { DEMO: 'on', RATE_LIMITS: 'off', LAUREL_DATA: join(folder, data) },
  })

async function send(method: string, path: string, body?: unknown) {
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: Object(await answer.json()) }
}

/** Runs `npm run serve -- …` beside the server. Answers what it prints, and whether it succeeded. */
async function run(data: string, ...args: string[]) {
  const { stdout, stderr, code } = await promisify(execFile)(
    process.execPath,
    ['scripts/serve.mjs', ...args],
    {
      cwd: folder,
      env: { ...process.env, INIT_CWD: folder, LAUREL_DATA: join(folder, data) },
    },
  )
    .then((said) => ({ ...said, code: 0 }))
    .catch((error) => Object(error))
  return { code, said: `${stdout}${stderr}` }
}

/** Sends an event, and answers its id once it is stored. */
async function sendEvent(user: string): Promise<string> {
  const { status, body } = await send('POST', '/v1/metrics/demo-lessons/event', {
    user: { id: user, tz: 'UTC' },
    value: 1,
  })
  expect(status).toBe(201)
  return body.eventId
}

/** The ids of a user's events, by the log. */
const logOf = async (user: string): Promise<string[]> =>
  (await send('GET', `/admin/v1/users/${user}/export`)).body.events.map(({ id }: { id: string }) => id)

test('a backup under load has all that was answered before it, and its parts agree', async () => {
  const answered: string[] = []
  let isOver = false
  const client = async (_: unknown, n: number) => {
    for (let turn = n; !isOver; turn += 1) answered.push(await sendEvent(USERS[turn % USERS.length] ?? ''))
  }
  const clients = Promise.all(Array.from({ length: 8 }, client))
  const answeredAtLeast = async (count: number) => {
    for (const deadline = performance.now() + PATIENCE; answered.length < count; await sleep(10))
      expect(performance.now()).toBeLessThan(deadline)
  }
  // By then each user has events.
  await answeredAtLeast(10 * USERS.length)
  const before = [...answered]
  expect(await run('data', 'backup', 'first.backup')).toMatchObject({ code: 0 })
  await answeredAtLeast(before.length + 20)
  isOver = true
  await clients

  // The server goes on with all of it, and the copy is gone.
  expect((await Promise.all(USERS.map(logOf))).flat().sort()).toEqual(answered.toSorted())
  expect((await readdir(join(folder, 'data'))).filter((name) => name.startsWith('snapshot'))).toEqual([])
  await server.stop()

  expect(await run('restored', 'restore', 'first.backup')).toMatchObject({ code: 0 })
  server = await start('restored')
  const restored = (await Promise.all(USERS.map(logOf))).flat()
  expect(before.filter((id) => !restored.includes(id))).toEqual([])
  expect(restored.filter((id) => !answered.includes(id)).length).toBeLessThanOrEqual(8)
  // A board that missed a change at that moment is right with the user's next one (L12).
  for (const user of USERS) await sendEvent(user)
  const { body } = await send('GET', '/v1/leaderboards/demo-all-time?limit=100')
  const places = new Map(body.rankings.map(({ userId, value }: Record<string, unknown>) => [userId, value]))
  for (const user of USERS) {
    const { length } = await logOf(user)
    const { current } = (await send('GET', `/v1/users/${user}/metrics/demo-lessons`)).body
    expect([user, current, places.get(user)]).toEqual([user, length, length])
  }
})

test('the copy of a backup that is killed is removed', async () => {
  const call = request({ socketPath: join(folder, 'restored', 'serve.sock'), path: '/', method: 'POST' })
  call.end()
  const [answer] = await once(call, 'response')
  const [text] = await once(answer, 'data')
  const copies = async () =>
    (await readdir(join(folder, 'restored'))).filter((name) => name.startsWith('snapshot'))
  expect(await copies()).toEqual([JSON.parse(String(text)).folder])
  answer.destroy()
  for (const deadline = performance.now() + PATIENCE; (await copies()).length > 0; await sleep(10))
    expect(performance.now()).toBeLessThan(deadline)
})

test('a backup is written once, and restored into an empty folder only', async () => {
  expect(await run('restored', 'backup', 'first.backup')).toMatchObject({
    code: 1,
    said: expect.stringContaining('exists already'),
  })
  expect(await run('restored', 'restore', 'first.backup')).toMatchObject({
    code: 1,
    said: expect.stringContaining('is not empty'),
  })
  expect((await send('GET', '/health')).status).toBe(200)
})

test('a backup that is damaged is refused, and leaves the folder empty', async () => {
  const whole = await readFile(join(folder, 'first.backup'))
  writeFileSync(join(folder, 'short.backup'), whole.subarray(0, whole.length / 2))
  writeFileSync(join(folder, 'other.backup'), 'something else')
  await mkdir(join(folder, 'empty'))
  const changed = Buffer.from(whole)
  const middle = Math.floor(whole.length / 2)
  changed[middle] = (changed[middle] ?? 0) ^ 1
  writeFileSync(join(folder, 'changed.backup'), changed)
  for (const name of ['short.backup', 'other.backup', 'changed.backup']) {
    expect(await run('empty', 'restore', name)).toMatchObject({
      code: 1,
      said: expect.stringContaining('is no backup of Laurel, or not a whole one'),
    })
  }
  expect(await run('empty', 'restore', 'first.backup')).toMatchObject({ code: 0 })
})

test('a server that does not run is backed up too', async () => {
  await server.stop()
  expect(await run('restored', 'backup', 'second.backup')).toMatchObject({ code: 0 })
  expect(await run('again', 'restore', 'second.backup')).toMatchObject({ code: 0 })
  server = await start('again')
  expect((await logOf('user-0')).length).toBeGreaterThan(0)
})
