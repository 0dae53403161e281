/** What listens under `npm run serve`: how it hands requests to the Worker, and answers on. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { descriptorsFor, Front } from '../../scripts/serve/front.mjs'
import { listening } from '../helpers/listening'
import { until } from '../helpers/until'

const SOCKET = join(tmpdir(), `laurel-front-${process.pid}.sock`)

/** What the Worker does with a request. By default it tells what it got. */
let work: (request: IncomingMessage, response: ServerResponse) => unknown
const worker = createServer((request, response) => work(request, response))
let front: Front
let port: number

async function startFront(options: { most?: number; trusted?: string } = {}): Promise<void> {
  front = new Front({ most: 100, trusted: '', ...options, to: SOCKET })
  port = Number(new URL(await listening(front.server)).port)
  front.open()
}

beforeEach(async () => {
  work = async (request, response) => {
    const { method, url, headers } = request
    response.end(JSON.stringify({ method, url, headers, body: await text(request) }))
  }
  await rm(SOCKET, { force: true })
  worker.listen(SOCKET)
  await once(worker, 'listening')
  await startFront()
})
afterEach(async () => {
  await front.end()
  worker.closeAllConnections()
  worker.close()
  await once(worker, 'close')
})

/** Sends bytes, and reads until the connection ends. */
async function sendRaw(bytes: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.write(bytes)
  return await text(socket)
}

/** What the Worker got of a request. */
async function passedOn(head: string, body = '') {
  const answer = await sendRaw(`${head}\r\nConnection: close\r\n\r\n${body}`)
  return JSON.parse(/\{.*\}/s.exec(answer)?.[0] ?? 'null')
}

/** Asks, and returns the answer once its head has arrived. */
async function ask(method = 'GET', body?: string): Promise<IncomingMessage> {
  const call = request({ port, host: '127.0.0.1', method, agent: false })
  call.on('error', () => undefined)
  call.end(body)
  const [answer] = await once(call, 'response')
  return answer
}

test.each([
  ['HTTP/1.0 without Host', 'GET /health HTTP/1.0', '/health', 'localhost'],
  ['a whole address', 'GET http://b:1/v1/x?y=%2F HTTP/1.1\r\nHost: a', '/v1/x?y=%2F', 'b:1'],
  ['a whole address without a path', 'GET http://b?y HTTP/1.1\r\nHost: a', '/?y', 'b'],
  ['the server itself', 'OPTIONS * HTTP/1.1\r\nHost: a', '/', 'a'],
])('a request with %s reaches the Worker', async (_, head, url, host) => {
  expect(await passedOn(head)).toMatchObject({ url, headers: { host } })
})

test('a request arrives as it was sent, without what belongs to its connection', async () => {
  const head = 'PATCH /a HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nx-twice: 2\r\nTE: trailers\r\nUpgrade: h2c'
  const chunks = '2\r\nab\r\n1;name=value\r\nc\r\n0\r\nX-Trailer: 1\r\n\r\n'
  expect(await passedOn(`${head}\r\nTransfer-Encoding: chunked`, chunks)).toEqual({
    ...{ method: 'PATCH', url: '/a', body: 'abc' },
    headers: {
      ...{ host: 'a', 'x-twice': '1, 2', 'cf-connecting-ip': '127.0.0.1' },
      ...{ 'transfer-encoding': 'chunked', connection: 'keep-alive' },
    },
  })
})

test.each([
  ['without Host', 400, 'GET / HTTP/1.1'],
  ['with an empty Host', 400, 'GET / HTTP/1.1\r\nHost:'],
  ['with two Hosts', 400, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b'],
  [
    'with a coding of the body that is not known',
    400,
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked',
  ],
  ['with two lengths', 400, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2'],
  [
    'with a length and chunks',
    400,
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked',
  ],
  ['with a length that is no number', 400, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x'],
  ['for a tunnel', 405, 'CONNECT b:443 HTTP/1.1\r\nHost: b:443'],
  ['with an address that is too long', 414, `GET /${'x'.repeat(61_000)} HTTP/1.1\r\nHost: a`],
  ['of another protocol', 400, '\x16\x03\x01\x02'],
  ['with a head that is too large', 431, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(200_000)}`],
])('a request %s is answered %i, and does not reach the Worker', async (_, status, head) => {
  let got = 0
  work = () => {
    got += 1
  }
  const answer = await sendRaw(`${head}\r\nConnection: close\r\n\r\n`)
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(answer).toMatch(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n(?:.+\r\n)*\r\n\{"error":"[^"]+.*"\}$/)
  expect(got).toBe(0)
})

test('a body that is not valid is answered 400 if nothing else is under way on its connection', async () => {
  work = (request) => request.resume()
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
  expect(await sendRaw(`${head}not hex\r\n`)).toMatch(/^HTTP\/1\.1 400 /)
  // It would be taken for the answer to the first request.
  expect(await sendRaw(`GET /slow HTTP/1.1\r\nHost: a\r\n\r\n${head}not hex\r\n`)).toBe('')
})

test('[G2] the Worker learns of a request whose body does not come, so that it can answer 408', async () => {
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n'
  work = (_, response) => response.writeHead(408, { connection: 'close' }).end()
  expect(await sendRaw(head)).toMatch(/^HTTP\/1\.1 408 /)
})

test('[G2] the address of a client comes from its connection, or from the header of a proxy', async () => {
  const head = 'GET / HTTP/1.1\r\nHost: a\r\nCF-Connecting-IP: 192.0.2.1\r\nX-Real-Ip: 192.0.2.2'
  const addressOf = async (line = '') => (await passedOn(`${head}${line}`)).headers['cf-connecting-ip']
  expect(await addressOf()).toBe('127.0.0.1')
  await front.end()
  await startFront({ trusted: 'X-Real-IP' })
  expect(await addressOf()).toBe('192.0.2.2')
  expect(await addressOf('\r\nx-real-ip: 192.0.2.4:5000')).toBe('192.0.2.4')
  expect(await addressOf('\r\nx-real-ip: 192.0.2.3, [2001:db8::1]:80')).toBe('2001:db8::1')

  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    expect((await passedOn('GET /health HTTP/1.1\r\nHost: a')).headers['cf-connecting-ip']).toBe('127.0.0.1')
    expect(said).not.toHaveBeenCalled()
    for (const other of ['', 'unknown', '_hidden', '192.0.2.256', 'for=192.0.2.3', '192.0.2.3/32', '[::1'])
      expect([other, await addressOf(`\r\nx-real-ip: ${other}`)]).toEqual([other, '127.0.0.1'])
    expect(said.mock.calls.map(([line]) => line)).toEqual([
      expect.stringMatching(/127\.0\.0\.1 has no address in the header x-real-ip \(TRUST_PROXY\)/),
    ])
  } finally {
    said.mockRestore()
  }
})

test('[G1] the Worker learns from a proxy that the client speaks TLS, and from nobody else', async () => {
  const protocolOf = async (given: string) =>
    (await passedOn(`GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: ${given}`)).headers['x-forwarded-proto']
  expect(await protocolOf('https')).toBeUndefined()
  await front.end()
  await startFront({ trusted: 'X-Real-IP' })
  for (const given of ['https', 'HTTPS, http'])
    expect([given, await protocolOf(given)]).toEqual([given, 'https'])
  for (const given of ['http', '', 'httpsx', 'ftp, https']) expect(await protocolOf(given)).toBeUndefined()
})

test('an answer begins before its body, and each part arrives at once', async () => {
  const parts = Promise.withResolvers<ServerResponse>()
  work = (_, response) => {
    response.writeHead(200, { 'Set-Cookie': ['a=1', 'b=2'] }).flushHeaders()
    parts.resolve(response)
  }
  const answer = await ask()
  expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  const response = await parts.promise
  for (const part of ['one', 'two']) {
    response.write(part)
    expect(String((await once(answer, 'data'))[0])).toBe(part)
  }
  response.end()
  await once(answer, 'end')
})

test('a client that leaves is gone for the Worker too, before and during the answer', async () => {
  for (const isAnswered of [false, true]) {
    const gone = Promise.withResolvers<void>()
    work = (_, response) => {
      if (isAnswered) response.write('a')
      response.once('close', gone.resolve)
    }
    const call = request({ port, host: '127.0.0.1', agent: false }).on('error', () => undefined)
    call.end()
    if (isAnswered) await once(call, 'response')
    else await once(worker, 'request')
    call.destroy()
    await gone.promise
  }
})

test('a client that ends in the middle of its body is gone for the Worker too', async () => {
  const got = Promise.withResolvers<IncomingMessage>()
  work = got.resolve
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf')
  const message = await got.promise
  const failed = once(message, 'error')
  message.resume()
  socket.destroy()
  await failed
  expect(message.complete).toBe(false)
})

test('an answer that breaks off breaks off for the client, and one that never begins is 503', async () => {
  work = (_, response) => {
    response.write('half')
    setImmediate(() => response.destroy())
  }
  await expect(text(await ask())).rejects.toThrow()
  work = (_, response) => response.destroy()
  const answer = await ask('POST', '{}')
  expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5'])
})

test('the Worker waits for a client that reads slowly, and a client for the Worker', async () => {
  const big = Buffer.alloc(64 << 20)
  let response: ServerResponse | undefined
  work = (_, one) => {
    response = one
    one.end(big)
  }
  const answer = await ask()
  await until(() => response !== undefined)
  expect(response?.writableFinished).toBe(false)
  let bytes = 0
  for await (const part of answer) bytes += part.length
  expect(bytes).toBe(big.length)

  const got = Promise.withResolvers<IncomingMessage>()
  work = (message, one) => {
    got.resolve(message)
    one.on('pipe', () => undefined)
    message.once('end', () => one.end())
  }
  const call = request({ port, host: '127.0.0.1', method: 'POST', agent: false })
  call.end(big)
  const message = await got.promise
  expect(call.writableFinished).toBe(false)
  for await (const _ of message);
  expect((await once(call, 'response'))[0].statusCode).toBe(200)
})

test('an answer that comes before the end of a body arrives, and the rest is not waited for', async () => {
  work = (_, response) => response.writeHead(413, { Connection: 'close' }).end('too large')
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nhalf')
  expect(await text(socket)).toContain('too large')
})

test.each(['GET', 'POST', 'DELETE', 'PURGE'])('%s without a body arrives without one', async (method) => {
  const { headers, body } = await passedOn(`${method} / HTTP/1.1\r\nHost: a`)
  expect([headers['transfer-encoding'], Number(headers['content-length'] ?? 0), body]).toEqual([
    undefined,
    0,
    '',
  ])
})

test('requests that come at once on a connection are done one after another', async () => {
  const paths: unknown[] = []
  work = ({ url }, response) => {
    paths.push(url)
    setImmediate(() => response.end(`[${paths}]`))
  }
  const head = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n`
  const said = await sendRaw(`${head('/a')}\r\nx${head('/b')}\r\nx${head('/c')}Connection: close\r\n\r\nx`)
  expect(said.match(/\[.*?\]/g)).toEqual(['[/a]', '[/a,/b]', '[/a,/b,/c]'])
})

test('a connection ends after its answer, if it is idle for longer than balancers keep theirs', async () => {
  const [accepted, requested] = [once(front.server, 'connection'), once(front.server, 'request')]
  const client = connect({ port, host: '127.0.0.1' }).setEncoding('utf8')
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [[socket], [, answer]] = await Promise.all([accepted, requested])
  const sent = once(answer, 'close')
  expect(String(await once(client, 'data'))).toContain('\r\nKeep-Alive: timeout=620\r\n')
  await sent
  socket.emit('timeout')
  await once(client, 'close')
})

test('HEAD has the headers of the answer and no body', async () => {
  work = (_, response) => response.writeHead(200, { 'Content-Length': '5' }).end()
  const answer = await ask('HEAD')
  expect([answer.headers['content-length'], await text(answer)]).toEqual(['5', ''])
})

test('when all connections are taken, the one that has been idle longest goes, and none with a request', async () => {
  await front.end()
  await startFront({ most: 3 })
  const busy = Promise.withResolvers<ServerResponse>()
  work = (_, response) => busy.resolve(response)
  const first = ask()
  const response = await busy.promise
  const [older, newer] = [connect({ port, host: '127.0.0.1' }), connect({ port, host: '127.0.0.1' })]
  await Promise.all([older, newer].map((one) => once(one, 'connect')))
  const closed = once(older.resume(), 'close')
  work = (_, one) => one.end('served')
  expect(await text(await ask())).toBe('served')
  await closed
  response.end('late')
  expect(await text(await first)).toBe('late')
  newer.destroy()
})

test('while work holds it, requests wait', async () => {
  const done = Promise.withResolvers<void>()
  let got = 0
  const count = work
  work = (message, response) => {
    got += 1
    return count(message, response)
  }
  const began = Promise.withResolvers<void>()
  const held = front.hold(() => {
    began.resolve()
    return done.promise
  })
  await began.promise
  const answer = ask()
  await once(front.server, 'request')
  expect(got).toBe(0)
  done.resolve()
  await held
  expect((await answer).statusCode).toBe(200)
})

test('the example unit gives enough descriptors, never gives up, and systemd finds no fault in it', async () => {
  const unit = readFileSync('deploy/laurel.service', 'utf8')
  const limit = Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1])
  expect(limit).toBeGreaterThan(descriptorsFor(100))
  const compose = readFileSync('compose.yaml', 'utf8')
  expect(compose).toContain(`nofile: ${limit} `)
  // The PORT of .env is that of the machine, and does not change the one in the container.
  expect(compose).toContain('environment: { HOST: 0.0.0.0, PORT: 8787, LAUREL_DATA: /data }')
  expect(compose).toMatch(/'127\.0\.0\.1:\$\{PORT:-8787\}:8787'/)
  expect(unit.slice(0, unit.indexOf('[Service]'))).toMatch(/^StartLimitIntervalSec=0$/m)
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return
  const copy = join(tmpdir(), 'laurel-test.service')
  writeFileSync(copy, unit.replace('/usr/bin/node', process.execPath))
  const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', copy], { encoding: 'utf8' })
  await rm(copy)
  expect(stdout + stderr).toBe('')
})
