/** Attacks on the console: on its sign-in, by texts of users, by addresses, and by other pages. */
import { once } from 'node:events'
import { createServer, type Server as HttpServer, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, settled, signIn } from '../../helpers/console/browser'
import { MAIN_PAGES } from '../../helpers/console/pages'
import { ATTACK, sharedWorld } from '../../helpers/console/world'
import { listening, stop } from '../../helpers/listening'

const world = sharedWorld()
/** Another server, whose answers and pages attack. */
let attacker: HttpServer
let attackerPort: number

beforeAll(async () => {
  attacker = createServer((asked, response) => {
    asked.resume()
    const isPage = asked.method === 'GET'
    response.writeHead(isPage ? 200 : 500, ATTACK.replaceAll(/[^\x20-\x7e]/g, ''), {
      'content-type': 'text/html',
    })
    response.end(isPage ? `<iframe src="${world.server.url}/console"></iframe>` : ATTACK)
  })
  attackerPort = Number(new URL(await listening(attacker)).port)
})
afterAll(() => stop(attacker))

/** The status and the body of a request with any headers, which `fetch` would not send. */
async function send(path: string, headers: Record<string, string>, body: string, method = 'POST') {
  const { port } = world.server
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { 'content-type': 'application/json', ...headers },
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const part of response) text += part
  return { status: Number(response.statusCode), text, headers: Object(response.headers) }
}

describe('the exchange of the one-time code, on a real server', () => {
  it('[G14] is refused by other names and from other pages, and a refusal does not use the code up', async () => {
    const { port, url, adminKey } = world.server
    const [, code = ''] = /#code=(\S+)$/m.exec(world.server.output()) ?? []
    const body = JSON.stringify({ code })
    const here = { host: `localhost:${port}`, origin: url }
    const evil = `attacker.test:${port}`
    const exchange = (headers: Record<string, string>, path = '/console/one-time-code') =>
      send(path, headers, body)
    for (const headers of [
      { host: here.host },
      { ...here, origin: 'null' },
      { ...here, origin: 'http://attacker.test' },
      { ...here, origin: `http://localhost:${port}.attacker.test` },
      { ...here, origin: `http://127.0.0.1:${port}` },
      // DNS rebinding: a page of attacker.test, whose name leads to this machine.
      { host: evil, origin: `http://${evil}` },
      { host: `localhost.attacker.test:${port}`, origin: `http://localhost.attacker.test:${port}` },
      { host: evil, origin: `http://${evil}`, 'x-forwarded-host': here.host, forwarded: `host=${here.host}` },
      { host: evil, origin: `http://${evil}`, 'mf-original-url': `${url}/console/one-time-code` },
      { host: evil, origin: url, 'mf-original-url': `http://${evil}/console/one-time-code` },
    ]) {
      const { status, text } = await exchange(headers)
      expect([headers, status]).toEqual([headers, 403])
      expect(text).not.toContain(adminKey)
    }
    for (const path of ['/console/One-Time-Code', '/console/one-time-code/', '//console/one-time-code'])
      expect([path, [404, 405].includes((await exchange(here, path)).status)]).toEqual([path, true])
    for (const wrong of ['', 'a', `${code}a`, code.slice(1)])
      expect((await send('/console/one-time-code', here, JSON.stringify({ code: wrong }))).status).toBe(401)
    expect((await send(`/console/one-time-code?code=${code}`, here, '', 'GET')).text).not.toContain(adminKey)

    // All at once: one of them gets the key.
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(here)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      200,
      ...Array.from({ length: 9 }, () => 401),
    ])
    const [granted] = answers.filter(({ status }) => status === 200)
    expect(JSON.parse(granted?.text ?? '')).toEqual({ apiKey: adminKey })
    expect(granted?.headers['cache-control']).toBe('no-store')
    expect((await exchange(here)).status).toBe(401)
  })
})

describe.skipIf(!hasBrowser)('the console', () => {
  it('shows texts that look like HTML as text on all pages, and asks no other server for pictures', async () => {
    const { ask, server } = world
    const done = async (path: string, body: unknown) => {
      const answer = await ask('POST', path, body)
      expect([path, answer.status < 300, answer.body.issues ?? []]).toEqual([path, true, []])
      return answer.body
    }
    /** Creates items of the configuration. Returns the id of the first one. */
    const create = async (path: string, ...items: object[]): Promise<string> =>
      (await done(`/admin/v1${path}`, items)).created[0].id
    const badge = { url: `http://127.0.0.1:${attackerPort}/picture.png` }
    const strange = { key: 'strange', name: ATTACK }
    const described = { ...strange, description: ATTACK }
    const attributeId = await create('/attributes', { ...strange, type: 'user' })
    const metricId = await create('/metrics', { ...strange, units: ATTACK })
    const system = await create('/points', { ...described, badge })
    await create(
      `/points/${system}/levels`,
      { ...described, key: 'one', points: 1, badge },
      { key: 'two', name: `${ATTACK}2`, points: 1000, badge },
    )
    const byMetric = { type: 'metric', metricId, metricThreshold: 1, points: 5, status: 'active' }
    await create(`/points/${system}/triggers`, byMetric)
    const userAttributes = [{ attributeId, attributeValue: ATTACK }]
    const start = '2026-01-01'
    await create(`/points/${system}/boosts`, { name: ATTACK, multiplier: 2, start, userAttributes })
    const item = { ...described, metricId, status: 'active' }
    await create('/achievements', { ...item, trigger: 'metric', metricValue: 1, badge })
    await create('/leaderboards', { ...item, rankBy: 'metric', start, breakdownAttributes: [attributeId] })
    await create('/admin-api-keys', { name: ATTACK })
    const url = `http://127.0.0.1:${attackerPort}/?${encodeURIComponent(ATTACK)}`
    const webhook = await create('/webhooks', { key: 'strange', url, events: ['*'] })
    const html = `${ATTACK}<script>alert(2)</script><a href="http://attacker.test" target=_top>x</a>`
    const template = { key: 'strange', type: 'recap', channel: 'email', subject: ATTACK, body: html }
    await create('/notifications/templates', template)
    await done('/v1/users', { id: 'strange', name: ATTACK, attributes: { strange: ATTACK } })
    await done('/v1/metrics/strange/event', { user: { id: 'strange' }, value: 3 })
    await create(`/points/${system}/adjustments`, { userId: 'strange', amount: 7, reason: ATTACK })
    await done(`/admin/v1/webhooks/${webhook}/test`, { type: 'streak.lost' })

    const { page, complaints } = await world.signedIn()
    const paths = [
      ...MAIN_PAGES.map(({ path }) => path),
      '/users/strange',
      '/users/strange/timeline',
      '/users/strange/achievements',
      '/users/strange/edit',
      `/users?search=${encodeURIComponent(ATTACK)}`,
      `/users/${encodeURIComponent(ATTACK)}`,
      `/metrics/${encodeURIComponent(ATTACK)}`,
      `/audit-log?key=${encodeURIComponent(ATTACK)}`,
      ...['metrics', 'points', 'achievements', 'leaderboards', 'attributes', 'webhooks', 'notifications'].map(
        (name) => `/${name}/strange`,
      ),
      '/notifications/strange/edit',
      '/points/strange?open=levels.one',
    ]
    for (const path of paths) {
      await world.open(page, path)
      expect([path, await page.locator('img[src="x"], script:not([src])').count()]).toEqual([path, 0])
      expect(new URL(page.url()).origin).toBe(server.url)
    }
    await world.open(page, '/users/strange')
    await page.getByRole('definition').getByText(ATTACK, { exact: true }).waitFor()
    expect(complaints.filter((text) => !text.includes('status of 404'))).toEqual([])
    await page.context().close()
  })

  it('goes nowhere by an address that was made up', async () => {
    const { page, complaints } = await world.signedIn()
    for (const path of [
      '//attacker.test/',
      '//attacker.test/%2e%2e',
      '/\\attacker.test',
      '/javascript:alert(1)',
      '/users/javascript%3Aalert(1)',
      '/users/%',
      '/metrics/%zz',
      '/users/%00',
      '/users/a%2F..%2F..%2Fadmin',
      '/?next=//attacker.test',
      '/?redirect=http://attacker.test#//attacker.test',
      '/metrics/new/edit/more',
      '/users/demo-ada?action=__proto__',
      '/users/demo-ada/timeline?type=constructor&award[]=1&system=%22',
      '/points/demo-xp?open=triggers.%2e%2e',
    ]) {
      await page.goto(`${world.server.url}/console${path}`)
      await page.locator('h1').first().waitFor()
      await settled(page)
      expect([path, new URL(page.url()).origin]).toEqual([path, world.server.url])
      expect([path, await page.getByText('This page could not be shown').count()]).toEqual([path, 0])
    }
    expect(complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([])
    // These look like files at the top, and are no pages.
    for (const path of ['/%2f%2fattacker.test', '/%5cattacker.test', '/no-such-file.js']) {
      const answer = await page.goto(`${world.server.url}/console${path}`)
      expect([path, answer?.status(), answer?.headers()['content-type']]).toEqual([
        path,
        404,
        'application/json',
      ])
    }
    await page.context().close()
  })

  it('[G14] is shown in no frame, and keeps its key from a page that opened it', async () => {
    const { page } = await world.page()
    await page.goto(`http://127.0.0.1:${attackerPort}/`)
    const frame = page.frameLocator('iframe')
    expect(await frame.getByLabel('Admin API key').count()).toBe(0)
    const opening = page.waitForEvent('popup')
    await page.evaluate(`opened = open('${world.server.url}/console')`)
    const console = await opening
    await signIn(console, world.server.adminKey)
    expect(await console.evaluate('opener')).toBe(null)
    expect(await page.evaluate('opened.closed')).toBe(true)
    await page.context().close()
  })

  it('[G14] logs no key, and keeps it from other tabs', async () => {
    const { adminKey, url } = world.server
    const shown = () => world.server.output().split(adminKey).length
    const before = shown()
    const { page } = await world.signedIn()
    for (const { path } of MAIN_PAGES.slice(0, 3)) await world.open(page, path)
    const other = await page.context().newPage()
    await other.goto(`${url}/console`)
    await other.getByLabel('Admin API key').waitFor()
    expect(shown()).toBe(before)
    expect((await page.context().cookies()).length).toBe(0)
    await page.context().close()
  })
})
