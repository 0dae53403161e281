/**
 * The queue of a user in the real runtime, with clients that disconnect. A request whose client has left runs
 * on only as long as `waitUntil` says so.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as z from 'zod'
import { newFolder } from '../helpers/server/harness'

const State = z.object({ queued: z.array(z.string()), leaders: z.array(z.string()) })

let workerd: ChildProcess
let port: number

const CONFIGURATION = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
    compatibilityDate = "2026-10-23",
  ))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`

beforeAll(async () => {
  const folder = newFolder('laurel-waiting')
  await build({
    entryPoints: [join(import.meta.dirname, '../helpers/server/waiting.worker.ts')],
    outfile: join(folder, 'worker.mjs'),
    bundle: true,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
  })
  await writeFile(join(folder, 'config.capnp'), CONFIGURATION)
  const { default: binary } = createRequire(import.meta.url)('workerd')
  workerd = spawn(binary, ['serve', 'config.capnp', '--control-fd=3'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const control = workerd.stdio[3]
  if (!(control instanceof Readable)) throw new Error('workerd says nothing')
  const [line] = await once(createInterface({ input: control }), 'line')
  port = JSON.parse(line).port
})
afterAll(() => void workerd.kill('SIGKILL'))

/** Sends a request on a connection of its own. The contract knows nothing of this Worker, so not by fetch. */
function ask(path: string) {
  const sent = request({ port, path: `/${path}`, agent: false })
  const answer = new Promise<string>((resolve, reject) => {
    sent.on('error', reject).on('response', async (response) => resolve((await response.toArray()).join('')))
  })
  sent.end()
  // The runtime notices a reset at once, but the end of a connection only when it writes.
  return { answer, leave: () => sent.socket?.resetAndDestroy() }
}

type Happened = z.infer<typeof State>
const state = async () => State.parse(JSON.parse(await ask('state').answer))

/** Waits until the Worker knows of something. */
async function happened(what: keyof Happened, name: string): Promise<void> {
  while (!(await state())[what].includes(name)) {}
}

it('[E3] a waiting request whose client leaves does its turn, so that nobody waits for it in vain', async () => {
  const first = ask('first')
  await happened('leaders', 'first')
  const leaving = ask('leaving')
  await happened('queued', 'leaving')
  const next = ask('next')
  await happened('queued', 'next')
  leaving.leave()
  await expect(leaving.answer).rejects.toThrow('socket hang up')
  // The runtime sees that before the next request.
  await state()
  await ask('release').answer
  expect(await Promise.all([first.answer, next.answer])).toEqual(['first', 'next'])
  expect((await state()).leaders).toEqual(['first', 'leaving'])
})
