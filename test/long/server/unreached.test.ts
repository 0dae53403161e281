/** `npm run serve`: what a delivery says if its receiver, or a provider, cannot be reached. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer, type Server as NetServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePort, newProject, type Server, startServer } from '../../helpers/server/harness'
import { until } from '../../helpers/until'

let folder: string
let server: Server
const servers: NetServer[] = []
/** The ports of the receivers, by what is wrong with them. */
const ports: Record<string, number> = {}

async function listen(name: string, receiver: NetServer): Promise<void> {
  servers.push(receiver.listen(0, '127.0.0.1'))
  await once(receiver, 'listening')
  const address: AddressInfo | string | null = receiver.address()
  ports[name] = Object(address).port
}

beforeAll(async () => {
  folder = await newProject()
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync('openssl', [...made, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const files = { key: readFileSync(key), cert: readFileSync(cert) }
  await listen('signed by itself', createSecureServer(files))
  await listen(
    'without an answer',
    createServer((socket) => socket.once('data', () => socket.destroy())),
  )
  ports.closed = await freePort()
  const hosts = Object.values(ports).flatMap((port) => [`127.0.0.1:${port}`, `localhost:${port}`])
  const provider = `https://127.0.0.1:${ports.closed}`
  const mail = { EMAIL_FROM: 'a@laurel.example', RESEND_API_KEY: 'secret-key', RESEND_URL: provider }
  const env = { WEBHOOK_ALLOW: hosts.join(), EXPO_URL: provider, ...mail }
  server = await startServer({ folder, by: 'serve', env })
})
afterAll(() => {
  for (const one of servers) one.close()
})

const admin = (method: string, path: string, body?: unknown) => server.ask(method, `/admin/v1${path}`, body)

describe('[W4] a delivery says why it failed', () => {
  it.each([
    ['http://127.0.0.1', 'closed', 'the connection was refused (ECONNREFUSED)'],
    ['https://127.0.0.1', 'closed', 'the connection was refused (ECONNREFUSED)'],
    ['http://127.0.0.1', 'without an answer', 'the connection was closed (ECONNRESET)'],
    ['https://127.0.0.1', 'without an answer', 'the connection was closed (ECONNRESET)'],
    ['https://localhost', 'signed by itself', 'the certificate is not valid, or its issuer is not known'],
    ['https://nobody.invalid', '', 'the name of the host'],
  ])('%s, %s', async (base, name, reason) => {
    const url = `${base}:${ports[name] ?? 443}/hooks?token=very-secret`
    const { body: made } = await admin('POST', '/webhooks', [{ url, events: ['streak.lost'] }])
    const path = `/webhooks/${made.created[0].id}`
    await admin('POST', `${path}/test`, { type: 'streak.lost' })
    const first = async () => (await admin('GET', `${path}/deliveries`)).body[0]
    await until(async () => (await first()).attempts > 0)
    const { lastStatus, lastError } = await first()
    expect([lastStatus, lastError]).toEqual([null, expect.stringContaining(`no answer: ${reason}`)])
    expect(lastError).not.toContain('secret')
  })
})

it('[N4] so do an email and a push message', async () => {
  const user = { email: 'ada@b.example', deviceTokens: ['ExponentPushToken[device]'] }
  await server.ask('PUT', '/v1/users/ada', user)
  const text = { type: 'recap', name: 'Recap', body: 'Go on' }
  const { body: made } = await admin('POST', '/notifications/templates', [
    { ...text, channel: 'email', subject: 'Hi' },
    { ...text, channel: 'push', title: 'Hi' },
  ])
  for (const { id } of made.created) {
    const { body } = await admin('POST', `/notifications/templates/${id}/test`, { userId: 'ada' })
    expect(body).toMatchObject({
      status: 'failed',
      reason: 'the provider could not be reached: the connection was refused (ECONNREFUSED)',
    })
  }
})

it('[W1] nothing connects to a private address that the Worker may not reach', async () => {
  const { networkFault } = await import(join(folder, 'scripts/serve/machine.mjs'))
  let connections = 0
  await listen(
    'private',
    createServer(() => (connections += 1)),
  )
  for (const host of ['localhost', '127.0.0.1', '[::ffff:127.0.0.1]'])
    for (const scheme of ['http', 'https'])
      expect(await networkFault(`${scheme}://${host}:${ports.private}`, false)).toBe('EPRIVATE')
  expect(connections).toBe(0)
  expect(await networkFault(`http://127.0.0.1:${ports.private}`, true)).toBe('')
})

it('[W4] a certificate is checked by the authorities that workerd trusts', async () => {
  const { networkFault } = await import(join(folder, 'scripts/serve/machine.mjs'))
  const fault = () => networkFault(`https://localhost:${ports['signed by itself']}`, true)
  expect(await fault()).toBe('DEPTH_ZERO_SELF_SIGNED_CERT')
  vi.stubEnv('SSL_CERT_FILE', join(folder, 'cert.pem'))
  expect(await fault()).toBe('')
  vi.stubEnv('SSL_CERT_FILE', join(folder, 'missing.pem'))
  expect(await fault()).toBe('ENOENT')
  vi.unstubAllEnvs()
})
