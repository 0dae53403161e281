/** Backups of `npm run serve` while events come, and what is there after they are restored. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest'
import { inProject } from '../../../scripts/lib/project.mjs'
import { PATIENCE } from '../../helpers/patience'
import {
  newProject,
  runServe,
  type Server,
  serveEnv,
  startCommand,
  startServer,
} from '../../helpers/server/harness'
import { until } from '../../helpers/until'

const USERS = Array.from({ length: 20 }, (_, n) => `user-${n}`)

let folder: string
let server: Server

beforeAll(async () => {
  folder = await newProject()
  server = await start('data')
})

// A server that has ended has said why.
beforeEach(() => onTestFailed(() => console.error(`The output of the server:\n${server.output()}`)))

const start = (data: string) =>
  startServer({
    folder,
    by: 'serve',
    env: { DEMO: 'on', RATE_LIMITS: 'off', LAUREL_DATA: join(folder, data) },
  })

/** Runs `npm run serve -- …` beside the server. */
const run = (data: string, ...args: string[]) => runServe(folder, data, ...args)

/** Sends an event, and answers its id once it is stored. */
async function sendEvent(user: string): Promise<string> {
  const event = { user: { id: user, tz: 'UTC' }, value: 1 }
  const { status, body } = await server.ask('POST', '/v1/metrics/demo-lessons/event', event)
  expect(status).toBe(201)
  return body.eventId
}

/** The ids of a user's events, by the log. */
const logOf = async (user: string): Promise<string[]> =>
  (await server.ask('GET', `/admin/v1/users/${user}/export`)).body.events.map(({ id }: { id: string }) => id)

test('a backup under load has all that was answered before it, and its parts agree', async () => {
  const answered: string[] = []
  let isOver = false
  const client = async (_: unknown, n: number) => {
    for (let turn = n; !isOver; turn += 1) answered.push(await sendEvent(USERS[turn % USERS.length] ?? ''))
  }
  const clients = Promise.all(Array.from({ length: 8 }, client))
  const answeredAtLeast = (count: number) => until(() => answered.length >= count)
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
  const { body } = await server.ask('GET', '/v1/leaderboards/demo-all-time?limit=100')
  const places = new Map(body.rankings.map(({ userId, value }: Record<string, unknown>) => [userId, value]))
  for (const user of USERS) {
    const { length } = await logOf(user)
    const { current } = (await server.ask('GET', `/v1/users/${user}/metrics/demo-lessons`)).body
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
  await until(async () => (await copies()).length === 0)
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
  expect((await server.ask('GET', '/health')).status).toBe(200)
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

/** Starts `npm run serve -- …`, ends it at a moment, and answers its exit code and what it has printed. */
async function interrupted(
  data: string,
  args: string[],
  isTime: () => Promise<boolean>,
  signal: NodeJS.Signals = 'SIGTERM',
) {
  const command = [process.execPath, 'scripts/serve.mjs', ...args]
  const { child, output, ended } = startCommand(command, { cwd: folder, env: serveEnv(folder, data) })
  for (const deadline = performance.now() + PATIENCE; !(await isTime()); await sleep(1)) {
    expect([child.exitCode, output()]).toEqual([null, ''])
    expect(performance.now()).toBeLessThan(deadline)
  }
  child.kill(signal)
  const { code } = await ended()
  return { code, said: output() }
}

/** A folder of data with one more file, so large that it takes a while to copy it. */
async function largeData(data: string) {
  await mkdir(join(folder, data, 'objects'), { recursive: true })
  const part = randomBytes(16 * 1024 * 1024)
  const file = createWriteStream(join(folder, data, 'objects', 'large'))
  for (let n = 0; n < 6; n += 1) if (!file.write(part)) await once(file, 'drain')
  file.end()
  await once(file, 'close')
}

test('a backup or a restore that is interrupted fails; one that is killed leaves half files, which no server takes for whole ones', async () => {
  const namesIn = async (data: string) => (await readdir(join(folder, data))).sort()
  const parts = async () => (await namesIn('.')).filter((name) => name.startsWith('large.backup'))
  const hasPart = async () => (await parts()).length > 0
  const hasObjects = async () => (await namesIn('target')).includes('objects.part')
  await largeData('large')
  await mkdir(join(folder, 'target'))
  const backup = ['backup', 'large.backup']
  const restore = ['restore', 'large.backup']
  expect(await interrupted('large', backup, hasPart)).toEqual({
    code: 1,
    said: 'The backup was interrupted (SIGTERM), and is not complete.\n',
  })
  expect([await parts(), await namesIn('large')]).toEqual([[], ['objects']])
  await interrupted('large', backup, hasPart, 'SIGKILL')
  expect(await parts()).toEqual([expect.stringMatching(/^large.backup.\d+.part$/)])

  // It removes the copy that the one before has left.
  expect(await run('large', ...backup)).toMatchObject({ code: 0 })
  expect(await namesIn('large')).toEqual(['objects'])
  expect(await interrupted('target', restore, hasObjects)).toEqual({
    code: 1,
    said: 'The restore was interrupted (SIGTERM), and is not complete.\n',
  })
  expect(await namesIn('target')).toEqual([])
  await interrupted('target', restore, hasObjects, 'SIGKILL')
  expect(await run('target', '--built')).toMatchObject({
    code: 1,
    said: expect.stringContaining('was interrupted. Empty the folder, and restore again.'),
  })
  await rm(join(folder, 'target'), { recursive: true })
  expect(await run('target', ...restore)).toMatchObject({ code: 0 })
})

test('a backup that is interrupted beside the server leaves no copy', async () => {
  await largeData('restored')
  const copies = async () =>
    (await readdir(join(folder, 'restored'))).filter((name) => name.startsWith('snapshot'))
  const parts = async () => (await readdir(folder)).filter((name) => name.startsWith('beside.backup'))
  expect(
    await interrupted('restored', ['backup', 'beside.backup'], async () => (await parts()).length > 0),
  ).toEqual({ code: 1, said: 'The backup was interrupted (SIGTERM), and is not complete.\n' })
  expect([await parts(), await copies()]).toEqual([[], []])
  expect((await server.ask('GET', '/health')).status).toBe(200)
  await rm(join(folder, 'restored', 'objects', 'large'))
})

test('a restore that had to wait for its folder looks again if it is empty', async () => {
  const data = join(folder, 'contested')
  await mkdir(data)
  const holder = createServer().listen(join(data, 'serve.sock'))
  await once(holder, 'listening')
  const restoring = run('contested', 'restore', 'first.backup')
  // It has found the folder empty, and finds that another process uses it.
  await once(holder, 'connection')
  await mkdir(join(data, 'objects'))
  await writeFile(join(data, 'objects', 'metadata.sqlite'), 'the data of another process')
  await writeFile(join(data, 'restored'), '')
  holder.close()
  expect(await restoring).toMatchObject({ code: 1, said: expect.stringContaining('is not empty') })
  expect((await readdir(data)).sort()).toEqual(['objects', 'restored'])
})

test('without packages, or without esbuild for a build, it says what to install', async () => {
  const lean = await newProject()
  const modules = join(lean, 'node_modules')
  await rm(modules)
  expect((await runServe(lean, 'data')).said).toMatch(/^.+\. Run `npm install.*\n$/)
  await mkdir(modules)
  const packages = await readdir(inProject('node_modules'))
  for (const name of packages.filter((one) => one !== 'esbuild'))
    await symlink(inProject('node_modules', name), join(modules, name))
  await rm(join(lean, 'dist'), { recursive: true })
  expect(await runServe(lean, 'data', 'build')).toEqual({
    code: 1,
    said: 'Building Laurel…\nesbuild is not installed. Run `npm install --include=dev` first.\n',
  })
})
