/** Bodies that are compressed: `Content-Encoding` (G2). */
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { words } from '../helpers/words'
import { ADMIN_KEY, at, call, newApp, newTenant, type TestTenant, toApp } from '../helpers/worker/harness'

const MIB = 1_048_576
const bytesOf = (text: string) => new TextEncoder().encode(text)

async function compressed(bytes: Uint8Array, format: 'gzip' | 'deflate' | 'deflate-raw' = 'gzip') {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream(format))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

let tenant: TestTenant
beforeAll(async () => {
  tenant = await newTenant()
  await tenant.metric('words')
})
afterEach(() => vi.restoreAllMocks())

async function send(raw: BodyInit, encoding: string, path = '/v1/users/ada', method = 'PUT', app = toApp) {
  const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id, 'content-encoding': encoding }
  const { status, body, headers: answered } = await call(app, method, path, { raw, headers })
  return { status, body, accepted: answered.get('accept-encoding') }
}

/** A body of exactly that many bytes, which is JSON. */
const sized = (bytes: number) => bytesOf(`{"name":"Ada"${' '.repeat(bytes - 14)}}`)

describe('[G2] a compressed body', () => {
  it('[G2] is decoded, in each encoding and spelling', async () => {
    const text = JSON.stringify({ user: { id: 'ada' }, value: 1 })
    const [gzip, deflate] = [await compressed(bytesOf(text)), await compressed(bytesOf(text), 'deflate')]
    const path = '/v1/metrics/words/event'
    for (const [raw, encoding] of [
      [gzip, 'gzip'],
      [gzip, 'GZip'],
      [gzip, 'identity, gzip'],
      [gzip, ' gzip ,'],
      [deflate, 'deflate'],
      [deflate, 'Deflate'],
      [bytesOf(text), 'identity'],
      [bytesOf(text), 'Identity, identity'],
      [bytesOf(text), ''],
    ] as const) {
      const { status, body } = await send(raw, encoding, path, 'POST')
      expect([encoding, status, at(body, 'eventId')]).toEqual([encoding, 201, expect.any(String)])
    }
    const batch = await compressed(bytesOf(JSON.stringify([{ key: 'words', user: { id: 'b' }, value: 1 }])))
    expect((await send(batch, 'gzip', '/admin/v1/metrics/events', 'POST')).status).toBe(202)
  })

  it('[G2] has the limits of its decoded size, for a batch those of a batch', async () => {
    const before = await tenant.stored()
    const most = await compressed(sized(MIB))
    expect(most.length).toBeLessThan(2_000)
    const more = await compressed(sized(MIB + 1))
    expect((await send(more, 'gzip')).status).toBe(413)
    expect((await send(await compressed(sized(MIB + 1), 'deflate'), 'deflate')).status).toBe(413)
    const [path, batch] = ['/admin/v1/metrics/events', async (size: number) => compressed(sized(size))]
    expect((await send(await batch(4 * MIB), 'gzip', path, 'POST')).status).toBe(422)
    const tooLarge = await send(await batch(4 * MIB + 1), 'gzip', path, 'POST')
    expect([tooLarge.status, at(tooLarge.body, 'error')]).toEqual([
      413,
      'The body is larger than 4 MiB. Send less at once.',
    ])
    // The bytes as sent have the same limit, before they are decoded.
    expect((await send(new Uint8Array(MIB + 1), 'gzip')).status).toBe(413)
    expect((await send(new Uint8Array(MIB), 'gzip')).status).toBe(400)
    expect(await tenant.stored()).toEqual(before)
    expect((await send(most, 'gzip')).status).toBe(200)
  })

  it('[G2] that would become very large ends as soon as it is too large', async () => {
    const bomb = await compressed(new Uint8Array(100 * MIB))
    expect(bomb.length).toBeGreaterThan(100_000)
    const write = vi.spyOn(WritableStreamDefaultWriter.prototype, 'write')
    expect((await send(bomb, 'gzip')).status).toBe(413)
    // Of a hundred parts of 1 KiB, each of which becomes 1 MiB.
    expect(write.mock.calls.length).toBeLessThanOrEqual(4)
  })

  it('[G2] that is not whole is 400', async () => {
    const before = await tenant.stored()
    const gzip = await compressed(bytesOf('{"name":"Ada"}'))
    const zlib = await compressed(bytesOf('{"name":"Ada"}'), 'deflate')
    const damaged = gzip.map((byte, n) => (n === 14 ? byte ^ 255 : byte))
    const wrongSum = gzip.map((byte, n) => (n === gzip.length - 6 ? byte ^ 1 : byte))
    for (const [what, raw, encoding] of [
      ['cut short', gzip.slice(0, -3), 'gzip'],
      ['cut short in the header', gzip.slice(0, 5), 'gzip'],
      ['cut short', zlib.slice(0, -1), 'deflate'],
      ['damaged', damaged, 'gzip'],
      ['with a wrong checksum', wrongSum, 'gzip'],
      ['with bytes after it', new Uint8Array([...gzip, 0]), 'gzip'],
      ['with a second part', new Uint8Array([...gzip, ...gzip]), 'gzip'],
      ['plain', bytesOf('{"name":"Ada"}'), 'gzip'],
      ['of another encoding', zlib, 'gzip'],
      ['of another encoding', gzip, 'deflate'],
      ['raw, without the form of zlib', await compressed(bytesOf('{}'), 'deflate-raw'), 'deflate'],
      ['empty', new Uint8Array(), 'gzip'],
    ] as const) {
      const { status, body } = await send(raw, encoding)
      const form = encoding === 'gzip' ? 'gzip' : 'zlib'
      expect([what, status, at(body, 'error')]).toEqual([
        what,
        400,
        `The body is not whole ${form} data, as Content-Encoding: ${encoding} says. Compress all of it once, or leave the header out.`,
      ])
    }
    for (const [what, raw] of [
      ['is not JSON', await compressed(bytesOf('{"name":'))],
      ['is nothing', await compressed(new Uint8Array())],
      ['is not UTF-8', await compressed(new Uint8Array([34, 255, 34]))],
      ['is compressed again', await compressed(gzip)],
    ] as const) {
      const { status, body } = await send(raw, 'gzip')
      expect([what, status, at(body, 'error')]).toEqual([what, 400, expect.stringMatching(/is not JSON/)])
    }
    expect(await tenant.stored()).toEqual(before)
  })

  it('[G2] in any other encoding is 415, which names the ones that are accepted', async () => {
    const before = await tenant.stored()
    const gzip = await compressed(bytesOf('{"name":"Ada"}'))
    for (const encoding of [
      ...words`br zstd compress deflate-raw aws-chunked x-gzip *`,
      ...['gzip, gzip', 'gzip, br'],
    ]) {
      const { status, body, accepted } = await send(gzip, encoding)
      expect([status, accepted, at(body, 'error')]).toEqual([
        415,
        'gzip, deflate',
        `The Content-Encoding "${encoding}" is not accepted. Compress the body once, with gzip or deflate, or not at all.`,
      ])
    }
    expect(String(at((await send(gzip, 'x'.repeat(9_000))).body, 'error')).length).toBeLessThan(250)
    expect(await tenant.stored()).toEqual(before)
  })

  it('[G2] 415 comes after the errors of the key and the tenant, and before 413, 400, 404 and 422', async () => {
    const status = async (raw: BodyInit, more: Record<string, string>) => {
      const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id, 'content-encoding': 'br', ...more }
      const answer = await call(toApp, 'POST', '/v1/metrics/none/event', { raw, headers })
      return answer.status
    }
    expect(await status('{}', { 'x-api-key': 'no' })).toBe(401)
    expect(await status('{}', { 'tenant-id': 'nobody' })).toBe(404)
    expect(await status(' '.repeat(MIB + 1), {})).toBe(415)
    expect(await status('no JSON', {})).toBe(415)
    expect(await status('{}', {})).toBe(415)
  })

  it('[G2] that does not arrive in time is 408', async () => {
    const stream = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue((await compressed(bytesOf('{}'))).slice(0, 4))
      },
    })
    const { status } = await send(stream, 'gzip', '/v1/users/ada', 'PUT', newApp({ BODY_TIMEOUT: '1' }))
    expect(status).toBe(408)
  })
})
