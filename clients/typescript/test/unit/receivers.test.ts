import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { Webhook } from 'standardwebhooks'
import { afterAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'laurel-receivers-'))
const SECRET = `whsec_${Buffer.from('a secret of the tests, 32 bytes!').toString('base64')}`

/** The receivers of webhooks in the documents. */
const receivers = ['docs/webhooks.md', 'docs/guides/receive-webhooks.md'].flatMap((page) =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/```js\n\/\/ (\S+)\n(.*?)```/gs)]
    .filter(([script]) => script.includes('createServer'))
    .map(([, name = '', script = '']) => ({
      page,
      name,
      script,
      file: `${page.replace(/\W/g, '-')}-${name}`,
    })),
)

async function started({ script, file }: { script: string; file: string }) {
  const outfile = join(folder, file)
  await build({
    stdin: { contents: script, resolveDir: root },
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['@laurel/source'],
    outfile,
  })
  const socketPath = `${outfile}.socket`
  // The time of the tests is not the real one.
  const clock = `data:text/javascript,Date.now = () => ${Date.now()}`
  const receiver = spawn(process.execPath, ['--import', clock, outfile], {
    env: { ...process.env, SECRET, RECEIVER: socketPath },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  receiver.stdout.on('data', (part) => {
    output += part
  })
  await once(receiver.stdout, 'data')
  return { receiver, socketPath, output: () => output }
}

/** Sends a webhook that is signed in both ways. Answers the status. */
async function send(socketPath: string, event: object): Promise<number | undefined> {
  const body = JSON.stringify(event)
  const at = new Date()
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(SECRET).sign('msg_1', at, body),
    'x-trophy-signature': createHmac('sha256', SECRET).update(body).digest('base64'),
  }
  const sending = request({ socketPath, method: 'POST', headers }).end(body)
  const [response] = await once(sending, 'response')
  response.resume()
  return response.statusCode
}

/** Sends the beginning of a request, and closes the connection. */
async function breakOff(socketPath: string): Promise<void> {
  const socket = connect(socketPath)
  await once(socket, 'connect')
  socket.end('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{')
  await once(socket.resume(), 'close')
}

describe.each(receivers)('the receiver $name of $page', (script) => {
  it('goes on after a sender that breaks off, and takes an event without a user', async () => {
    const { receiver, socketPath, output } = await started(script)
    try {
      await breakOff(socketPath)
      expect(await send(socketPath, { type: 'streak.lost', user: { id: 'ada' }, length: 7 })).toBe(204)
      expect(await send(socketPath, { type: 'leaderboard.finished', rankings: [] })).toBe(204)
      expect(await send(socketPath, { type: 'streak.lost', user: { id: 'ada' }, length: 7 })).toBe(204)
      expect(output()).toContain('ada')
      expect(receiver.exitCode).toBeNull()
    } finally {
      receiver.kill()
    }
  })
})

it('has found all receivers', () => {
  expect(receivers).toHaveLength(3)
})

afterAll(() => rmSync(folder, { recursive: true }))
