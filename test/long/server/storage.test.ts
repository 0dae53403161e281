/** `npm run serve` on a disk that fails: on a file system that has turned read-only, and on a full one. */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ADMIN_KEY, askPlainly, newProject, type Server, startServer } from '../../helpers/server/harness'
import { until } from '../../helpers/until'
import { type Ask, callsOf, operations, pathOf, settle, type World } from '../../helpers/walk'

const DAY = 86_400_000

const shell = (command: string) => execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trim()
const canMount = process.getuid?.() === 0 && existsSync('/dev/loop-control') && existsSync('/sys/fs/ext4')

let folder: string
let disk: string
let server: Server
let world: World

/** Not by `fetch`: the set-up would reject a 503. */
const ask: Ask = (method, path, headers, body) =>
  askPlainly(server.url, method, path, { 'x-api-key': ADMIN_KEY, ...headers }, JSON.stringify(body))

const get = async (path: string) => {
  const { status, headers, body } = await ask('GET', path, { accept: 'application/json' }, undefined)
  return { status, body, retryAfter: headers.get('retry-after') }
}

/** Calls each operation of both interfaces. Returns those that failed, with status and `Retry-After`. */
async function failures(): Promise<[id: string, status: number, retryAfter: string | null][]> {
  const failed: [string, number, string | null][] = []
  for (const spec of operations)
    for (const one of spec.account
      ? [{ params: { id: 'x' }, body: [{ name: 'One' }] }]
      : callsOf(spec, world)) {
      const body = spec.method === 'get' ? undefined : one.body
      // An answer that has begun is cut off, which is an error for the client.
      const told = await ask(spec.method.toUpperCase(), pathOf(spec, one), {}, body).catch(() => null)
      if (told !== null && told.status >= 500)
        failed.push([spec.id, told.status, told.headers.get('retry-after')])
    }
  return failed
}

beforeAll(async () => {
  if (canMount) folder = await newProject()
})

beforeEach(async ({ skip }) => {
  skip(!canMount, 'it needs root, loop devices and ext4')
  disk = join(folder, 'disk')
  await mkdir(disk, { recursive: true })
  shell(
    `cd ${folder} && rm -f image && truncate -s 64M image && mkfs.ext4 -q -m 0 -b 4096 -e remount-ro image`,
  )
  shell(`mount -o loop ${folder}/image ${disk}`)
  server = await startServer({
    folder,
    by: 'serve',
    env: { LAUREL_DATA: join(disk, 'data'), RATE_LIMITS: 'off', TEST_CLOCK: 'on' },
  })
  // The test clock stands still, so no midnight comes during the walk.
  const { body } = await ask('PUT', '/admin/v1/test-clock', {}, { advance: 'PT1H' })
  world = await settle({
    ask,
    mark: 'disk',
    factor: 2,
    day: (days) => new Date(Date.parse(String(Object(body).now)) + days * DAY).toISOString().slice(0, 10),
  })
})

afterEach(async () => {
  if (!canMount) return
  await server.kill()
  // The last thread of a process that is dead may still have files open.
  await until(() => shell(`umount ${disk} || echo busy`) === '')
})

test('[G1, G2] on a file system that turned read-only, no change is a 500, and /health is 503', async () => {
  const device = basename(shell(`findmnt -no SOURCE ${disk}`))
  writeFileSync(`/sys/fs/ext4/${device}/trigger_fs_error`, '1')
  await until(async () => (await get('/health')).status === 503)
  const failed = await failures()
  expect(failed.filter(([, status, retryAfter]) => status !== 503 || retryAfter !== '5')).toEqual([])
  expect(failed.length).toBeGreaterThan(20)
  expect(await get('/health')).toEqual({
    status: 503,
    retryAfter: null,
    body: { error: expect.stringContaining('read-only') },
  })
  expect((await get('/v1/users/ada')).status).toBe(200)
})

test('[G1, G2] on a full disk, reads are answered and /health says so; it goes on once there is room', async () => {
  // workerd has closed the objects that nobody calls. On a full disk, it could not open the database again.
  const boards = join(disk, 'data/objects/laurel-LeaderboardObject/*[0-9a-f].sqlite-shm')
  await until(() => globSync(boards).every((file) => basename(file).startsWith('metadata')))
  shell(`cd ${disk} && dd if=/dev/zero of=filling bs=4k 2>/dev/null || true`)
  await until(async () => Object(await get('/health')).body.storage === 'full')
  const failed = await failures()
  expect(failed.filter(([, status, retryAfter]) => status !== 503 || retryAfter !== '5')).toEqual([])
  expect(failed.length).toBeGreaterThan(5)
  expect(await get('/health')).toEqual({
    status: 200,
    retryAfter: null,
    body: { status: 'ok', storage: 'full' },
  })
  expect((await get('/v1/users/ada')).status).toBe(200)
  shell(`rm ${disk}/filling`)
  await until(async () => Object(await get('/health')).body.storage === undefined)
  expect((await ask('PUT', '/v1/users/room', {}, {})).status).toBe(200)
})
