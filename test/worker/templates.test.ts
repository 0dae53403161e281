import { beforeEach, describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../src/configuration/configuration'
import { templateFor } from '../../src/features/notifications/notification'
import { systemNow } from '../../src/lib/system-clock'
import { parseUser, userStatement } from '../../src/store/users/users.sql.ts'
import { contextOf } from '../helpers/worker/contexts'
import { at, NOBODY, newApp, newTenant, type TestTenant } from '../helpers/worker/harness'
import { linkSecretOf } from '../helpers/worker/stored-tenants'
import { filter } from '../helpers/worker/world'

const PATH = '/notifications/templates'
const TEXTS = { subject: 'Hi {{ user.name }}', body: '<p>Go on</p>' }
const EMAIL = { type: 'streak_reminder', channel: 'email', ...TEXTS }
const PUSH = { type: 'recap', channel: 'push', title: 'Your week', body: 'Well done' }

let tenant: TestTenant
beforeEach(async () => {
  tenant = await newTenant()
})

const attribute = (key: string) => tenant.create('/attributes', { key, name: key, type: 'user' })
const preview = (id: string, userId: string, through = tenant) =>
  through.admin('POST', `${PATH}/${id}/preview`, { userId })
const configOf = async () => {
  const { db, instance } = contextOf(tenant.id)
  return loadConfiguration({ db, instance })
}
const userOf = async (id: string) => {
  const db = contextOf(tenant.id).databases.usersOf(tenant.id).of(id)
  const result = await db.run(userStatement(db, id, systemNow()))
  const user = parseUser(result)
  if (user === null) throw new Error(`no user has the id ${id}`)
  return user
}

describe('[N3, G7] templates', () => {
  it('[N3] an email has a subject, a push message a title, which stays if the channel changes', async () => {
    const id = await tenant.create(PATH, { ...EMAIL, title: 'ignored' })
    const { body: email } = await tenant.admin('GET', `${PATH}/${id}`)
    expect(email).toMatchObject({ ...EMAIL, key: 'streak_reminder-email' })
    expect(email).not.toHaveProperty('title')
    const same = await tenant.admin('PATCH', PATH, [{ id, title: 'no' }])
    expect(at(same.body, 'updated')).toEqual([email])
    const turned = await tenant.admin('PATCH', PATH, [{ id, channel: 'push' }])
    expect(at(turned.body, 'updated', 0)).toMatchObject({ channel: 'push', title: EMAIL.subject })
    expect(at(turned.body, 'updated', 0)).not.toHaveProperty('subject')
  })

  it.each([
    [
      { ...EMAIL, subject: undefined, title: 'x', body: ' ' },
      ['0.subject: must be a string, and is missing', '0.body: must not be empty'],
    ],
    [{ ...PUSH, title: null, subject: 'x' }, ['0.title: must be a string, and is missing']],
    [
      { ...EMAIL, subject: 'a\n {% fo %}' },
      ['0.subject: is not Liquid: tag "fo" not found (line 2, column 2)'],
    ],
    [
      { ...EMAIL, subject: '{{ a | shout }}', body: 'x {% if y %}' },
      ['undefined filter: shout (line 1, column 1)', '0.body', 'not closed (line 1, column 3)'],
    ],
    ...['render', 'include', 'layout'].map((tag): [object, string[]] => {
      return [{ ...PUSH, body: `{% ${tag} "x" %}` }, [`tag "${tag}" not found`]]
    }),
    [{ ...PUSH, body: '{% if a %}'.repeat(6_000) }, ['it is nested too deeply']],
  ])('[N3] %j is 422, names the place, and changes nothing', async (item, named) => {
    for (const method of ['POST', 'PATCH']) {
      const items = method === 'POST' ? [item] : [{ id: NOBODY, ...item }]
      const { status, body } = await tenant.admin(method, PATH, items)
      const isMissing = String(named[0]).includes('missing')
      if (method === 'PATCH' && isMissing) continue
      expect(status).toBe(422)
      for (const part of named) expect(at(body, 'error')).toContain(part)
    }
    expect((await tenant.admin('GET', PATH)).body).toEqual([])
  })

  it('[G9] an attribute in a filter of an active template stays; an inactive one loses it, and can’t become active', async () => {
    const plan = await attribute('plan')
    const id = await tenant.create(PATH, { ...EMAIL, userAttributes: filter(plan), status: 'active' })
    const kept = await tenant.admin('DELETE', `/attributes?ids=${plan}`)
    expect(at(kept.body, 'issues', 0, 'message')).toContain(`the active notification template ${id}`)
    await tenant.admin('PATCH', PATH, [{ id, status: 'inactive' }])
    const gone = await tenant.admin('DELETE', `/attributes?ids=${plan}`)
    expect(gone.body).toMatchObject({ deleted: [{ id: plan }] })
    const renamed = await tenant.admin('PATCH', PATH, [{ id, subject: 'still' }])
    expect(at(renamed.body, 'issues')).toEqual([])
    const activated = await tenant.admin('PATCH', PATH, [{ id, status: 'active' }])
    expect(at(activated.body, 'issues', 0, 'message')).toContain(plan)
    const cleared = await tenant.admin('PATCH', PATH, [{ id, status: 'active', userAttributes: null }])
    expect(cleared.body).toMatchObject({ updated: [{ status: 'active', userAttributes: [] }], issues: [] })
  })

  it('[N3] the first template creates the tenant’s secret for links, which stays; each keeps the origin of its request', async () => {
    await tenant.admin('POST', PATH, [{ ...EMAIL, userAttributes: filter(NOBODY) }])
    expect(await linkSecretOf(tenant)).toBeNull()
    await Promise.all([tenant.create(PATH, EMAIL), tenant.create(PATH, PUSH)])
    const secret = await linkSecretOf(tenant)
    expect(secret).toMatch(/^[A-Za-z0-9+/]{43}=$/)
    await tenant.create(PATH, PUSH)
    expect(await linkSecretOf(tenant)).toBe(secret)
    const other = await newTenant()
    await other.create(PATH, PUSH)
    expect(await linkSecretOf(other)).not.toBe(secret)
    const origins = (await configOf()).templates.map(({ origin }) => origin)
    expect(origins).toEqual(Array(3).fill('http://laurel.test'))
  })

  it('[N1] the first active template of a type and channel whose filters match the user is used', async () => {
    const plan = await attribute('plan')
    const active = { ...EMAIL, status: 'active' }
    await tenant.create(PATH, { ...EMAIL, subject: 'inactive' })
    await tenant.create(PATH, { ...active, type: 'recap', subject: 'another type' })
    await tenant.create(PATH, { ...active, userAttributes: filter(plan, 'pro'), subject: 'pro' })
    await tenant.create(PATH, { ...active, subject: 'all' })
    await tenant.create(PATH, { ...active, subject: 'second' })
    await tenant.app('PUT', '/users/ada', { email: 'a@b.example', attributes: { plan: 'pro' } })
    await tenant.app('PUT', '/users/bob', { email: 'b@b.example', attributes: { plan: 'free' } })
    const config = await configOf()
    const titleFor = async (id: string) =>
      templateFor(config, await userOf(id), 'streak_reminder', 'email')?.title
    expect([await titleFor('ada'), await titleFor('bob')]).toEqual(['pro', 'all'])
    expect(templateFor(config, await userOf('ada'), 'streak_reminder', 'push')).toBeUndefined()
  })
})

describe('[N3] the preview of a template that is not stored', () => {
  it('renders it as a stored one, stores nothing, and names the faults of the template', async () => {
    await tenant.app('PUT', '/users/ada', { name: 'Ada & Co' })
    const draft = (template: object, userId = 'ada') =>
      tenant.admin('POST', `${PATH}/preview`, { userId, template })
    const push = { type: 'recap', channel: 'push', title: 'Hi {{ user.name }}', body: 'You' }
    const { status, body } = await draft(push)
    expect([status, body]).toEqual([200, { channel: 'push', title: 'Hi Ada & Co', body: 'You' }])
    expect((await tenant.admin('GET', PATH)).body).toEqual([])
    expect((await draft(push, 'eve')).status).toBe(422)
    const bad = await draft({ ...push, body: '{% if %}' })
    expect([bad.status, at(bad.body, 'error')]).toEqual([422, expect.stringContaining('template.body')])
  })
})

describe('[N3] the preview', () => {
  it('[N3] an email has subject, HTML, text and the headers of a link; a push message has its title', async () => {
    await tenant.app('PUT', '/users/ada', { name: 'Ada <b>', email: 'ada@b.example' })
    const email = await tenant.create(PATH, { ...EMAIL, body: '<p>Hello {{ user.name }}</p>' })
    const { status, body } = await preview(email, 'ada')
    const url = /^<(http:\/\/laurel\.test\/unsubscribe\/[\w.-]+)>$/.exec(
      String(at(body, 'headers', 'List-Unsubscribe')),
    )?.[1]
    expect([status, body]).toEqual([
      200,
      {
        channel: 'email',
        subject: 'Hi Ada <b>',
        body: expect.stringContaining('<p>Hello Ada &lt;b&gt;</p>'),
        text: `Hello Ada <b>\n\nUnsubscribe (${url})`,
        headers: { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
      },
    ])
    expect(at(body, 'body')).toContain(`<a href="${url}">Unsubscribe</a>`)
    const push = await tenant.create(PATH, { ...PUSH, title: '{{ user.name }}', body: 'For {{ user.name }}' })
    const shown = { channel: 'push', title: 'Ada <b>', body: 'For Ada <b>' }
    expect((await preview(push, 'ada')).body).toEqual(shown)
  })

  it('[N3] PUBLIC_URL takes precedence over the origin of the request that wrote a template', async () => {
    await tenant.app('PUT', '/users/ada', {})
    const id = await tenant.create(PATH, { ...EMAIL, body: '{{ unsubscribeUrl }}' })
    const there = tenant.through(newApp({ PUBLIC_URL: 'https://laurel.example/base//' }))
    const { body } = await preview(id, 'ada', there)
    expect(at(body, 'body')).toMatch(/^https:\/\/laurel\.example\/base\/unsubscribe\/[\w.-]+$/)
  })

  it.each([
    [
      'achievement_completed',
      '{{ achievement.name }}|{{ achievement.key }}|{{ achievement.badgeUrl }}|{{ achievement.achievedAt }}',
      /^First steps\|first-steps\|\|\d{4}-.*Z$/,
      /^Writer\|writer\|https:\/\/b\.example\/w\.png\|\d{4}-.*Z$/,
    ],
    [
      'recap',
      '{{ recap.frequency }}|{% for m in recap.metrics %}{{ m.key }} {{ m.change }} of {{ m.total }}{% endfor %}',
      /^weekly\|words 5 of 5$/,
      /^weekly\|words 4 of 4$/,
    ],
    [
      'reactivation',
      '{{ reactivation.messageNumber }}|{{ reactivation.daysSinceLastActive }}',
      /^1\|3$/,
      /^1\|3$/,
    ],
    [
      'streak_reminder',
      '{{ streak.length }}|{{ streak.frequency }}|{{ metrics.words }}|{{ points.none }}',
      /^0\|daily\|0\|$/,
      /^1\|daily\|4\|$/,
    ],
  ])('[N3] %s is shown with real data, or sample data if there is none', async (type, body, sample, real) => {
    const metricId = await tenant.metric('words')
    const id = await tenant.create(PATH, { ...PUSH, type, body })
    await tenant.app('PUT', '/users/new', {})
    const said = async (user: string) => at((await preview(id, user)).body, 'body')
    expect(await said('new')).toMatch(sample)
    const writer = { key: 'writer', name: 'Writer', badge: { url: 'https://b.example/w.png' } }
    const done = { trigger: 'metric', metricId, metricValue: 3, status: 'active' }
    await tenant.create('/achievements', { ...writer, ...done })
    await tenant.event('words', 'ada', 4)
    expect(await said('ada')).toMatch(real)
  })

  it('[G2] an unknown template is 404; an unknown user, and a template beyond the limits, is 422', async () => {
    await tenant.app('PUT', '/users/ada', {})
    expect((await preview(NOBODY, 'ada')).status).toBe(404)
    const id = await tenant.create(PATH, { ...PUSH, body: '{% for i in (1..1000000000) %}x{% endfor %}' })
    expect((await preview(id, 'eve')).status).toBe(422)
    const { status, body } = await preview(id, 'ada')
    const error =
      "The template can't be rendered. body: it renders too much: loop less often, or over fewer items."
    expect([status, at(body, 'error')]).toEqual([422, error])
  })
})
