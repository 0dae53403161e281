import { describe, expect, it } from 'vitest'
import { STARTERS } from '../../console/src/features/notifications/starters'
import { brandedEmail, brandedTemplate } from '../../console/src/ui/branded'
import { loadConfiguration } from '../../src/configuration/configuration'
import { FONTS } from '../../src/configuration/enumerations'
import type { Configuration, Settings, Template } from '../../src/configuration/model'
import type { NotificationReason } from '../../src/features/notifications/notification'
import { parseLiquid, RenderError, renderLiquid } from '../../src/features/notifications/templates/liquid'
import { textOfHtml } from '../../src/features/notifications/templates/plain-text.rules'
import { compose } from '../../src/features/notifications/templates/render'
import { instant } from '../../src/lib/clock'
import { systemNow } from '../../src/lib/system-clock'
import { civilDate } from '../../src/lib/zone'
import { parseUser, userStatement } from '../../src/store/users/users.sql.ts'
import { words } from '../helpers/words'
import { contextOfUsers } from '../helpers/worker/contexts'
import { newTenantInLast, type TestTenant } from '../helpers/worker/harness'

const rendered = (form: 'html' | 'text', text: string, variables: object = {}) => {
  const parsed = parseLiquid(form, text)
  if ('fault' in parsed) throw new Error(parsed.fault)
  return renderLiquid(parsed, variables)
}

type Branding = Settings['branding']

const HUGE = 1_000_000_000
const TOO_MUCH = 'it renders too much'

describe('limits of a template', () => {
  it.each([
    ['a range', `{% for i in (1..${HUGE}) %}x{% endfor %}`, TOO_MUCH],
    ['a range in an assignment', `{% assign a = (1..${HUGE}) %}`, TOO_MUCH],
    ['a range of a variable', '{% for i in (1..n) %}x{% endfor %}', TOO_MUCH],
    ['a table', `{% tablerow i in (1..${HUGE}) %}x{% endtablerow %}`, TOO_MUCH],
    ['nested loops', loops('(1..1000)', 4), TOO_MUCH],
    ['nested empty loops over one list', `{% assign a = (1..1000) %}${loops('a', 4, '')}`, TOO_MUCH],
    [
      'loops over copies',
      '{% assign a = (1..200000) %}{% for i in a %}{% for j in a offset:1 limit:1 reversed %}{% endfor %}{% endfor %}',
      TOO_MUCH,
    ],
    [
      'comparing lists',
      '{% assign a = (1..50000) %}{% assign b = (1..50000) %}{% for i in a %}{% if a == b %}{% endif %}{% endfor %}',
      TOO_MUCH,
    ],
    [
      'searching a list',
      '{% assign a = (1..50000) %}{% for i in a %}{% if a contains 0 %}{% endif %}{% endfor %}',
      TOO_MUCH,
    ],
    [
      'a text that doubles',
      '{% assign a = "x" %}{% for i in (1..99) %}{% assign a = a | append: a %}{% endfor %}',
      TOO_MUCH,
    ],
    ['a captured text', `{% capture a %}${'x'.repeat(60_000)}{% endcapture %}`.repeat(9), TOO_MUCH],
    ['a wide date', '{{ "2030-01-01" | date: "%999999999d" }}', TOO_MUCH],
    ['much text', `{% for i in (1..5) %}${'x'.repeat(60_000)}{% endfor %}`, 'more than 262144 characters'],
    ['deep conditions', '{% if 1 %}'.repeat(300) + '{% endif %}'.repeat(300), null],
  ])('[N3] %s fails at once', (_name, text, fault) => {
    const run = () => rendered('html', text, { n: String(HUGE) })
    if (fault === null) expect(run()).toBe('')
    else expect(run).toThrow(expect.objectContaining({ message: expect.stringContaining(fault) }))
  })

  it('[N3] a normal template is far within the limits', () => {
    const metrics = Array.from({ length: 300 }, (_, n) => ({ key: `m${n}`, change: n }))
    const text =
      '{% for m in metrics %}{% if m.change > 5 %}<li>{{ m.key | upcase }}: {{ m.change }}</li>{% endif %}{% endfor %}'
    expect(rendered('html', text, { metrics })).toContain('<li>M299: 299</li>')
    expect(rendered('text', 'x'.repeat(65_536))).toHaveLength(65_536)
  })

  it('[N3] the search for the end of a tag reads a text once, whichever part is missing', () => {
    const parts = [
      ...['<', '<a', '<a href="x', '<!--', '<script>', '&', '<a>', '</a>', '<a href="https://a.example">b'],
    ]
    for (const part of parts)
      expect(typeof textOfHtml(part.repeat(Math.floor(262_144 / part.length)))).toBe('string')
  })

  function loops(over: string, depth: number, inside = 'x'): string {
    return `${`{% for i in ${over} %}`.repeat(depth)}${inside}${'{% endfor %}'.repeat(depth)}`
  }
})

describe('data that a template can reach', () => {
  it('[N3] HTML is escaped in all outputs, except as raw; text is not', () => {
    const b = '<b>"\'&'
    const safe = '&lt;b&gt;&#34;&#39;&amp;'
    const ways = ['{{ b }}', '{% echo b %}', '{% cycle b %}', '{% liquid echo b %}', '{{ b | append: "" }}']
    for (const way of ways) {
      expect(rendered('html', way, { b })).toBe(safe)
      expect(rendered('text', way, { b })).toBe(b)
    }
    expect(rendered('html', '{{ list }}', { list: [b] })).not.toContain('<')
    expect(rendered('html', '{{ b | raw }}', { b })).toBe(b)
  })

  it('[N3] no template can reach the runtime', () => {
    const names = words`constructor __proto__ toString hasOwnProperty constructor.constructor prototype`
    for (const name of names)
      expect(rendered('text', `{{ user.${name} }}{{ ${name} }}`, { user: {} })).toBe('')
    expect(rendered('text', '{{ list.size }}{{ list.length }}{{ list.map }}', { list: [1, 2] })).toBe('22')
    expect(() => rendered('text', '{{ x | divided_by }}', { x: { toString: null } })).not.toThrow(TypeError)
  })

  it('[N3] sha256 and hmac_sha256 write the hash in hexadecimal', async () => {
    const hex = (hash: ArrayBuffer) =>
      [...new Uint8Array(hash)].map((n) => n.toString(16).padStart(2, '0')).join('')
    const encoder = new TextEncoder()
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const word = 'é😀'.repeat(50)
    for (const [text, secret] of [
      ['', 'k'],
      ['ada', word],
      [word, 'k'.repeat(65)],
    ]) {
      const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign'])
      const signed = hex(await crypto.subtle.sign('HMAC', key, encoder.encode(text)))
      const hashed = hex(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
      const variables = { text, secret }
      for (const form of ['html', 'text'] as const) {
        expect(rendered(form, '{{ text | sha256 }}', variables)).toBe(hashed)
        const upper = '{% assign h = text | hmac_sha256: secret %}{{ h | upcase }}'
        expect(rendered(form, upper, variables)).toBe(signed.toUpperCase())
      }
    }
    const [of12, ofNothing] = ['{{ "12" | sha256 }}', '{{ "" | sha256 }}'].map((text) =>
      rendered('text', text),
    )
    expect(rendered('text', '{{ 12 | sha256 }} {{ nothing | sha256 }}')).toBe(`${of12} ${ofNothing}`)
  })

  it('[N3] dates are in UTC, in English', () => {
    const date = rendered('text', '{{ d | date: "%A %-d %B %H:%M" }}', { d: '2030-03-01T23:30:00.000Z' })
    expect(date).toBe('Friday 1 March 23:30')
  })
})

const LINK = 'https://laurel.example/unsubscribe/abc.def'

async function scene(prepare: (tenant: TestTenant) => Promise<unknown>) {
  const tenant = await newTenantInLast()
  await prepare(tenant)
  const { db, instance } = contextOfUsers(tenant.id)
  const config = await loadConfiguration({ db, instance })
  const result = await db.run(userStatement(db, 'ada', systemNow()))
  const user = parseUser(result)
  if (user === null) throw new Error('ada is not there')
  const blank: Omit<Template, 'type'> = {
    ...{ id: 'x', key: 'x', created: 0, updated: 0, channel: 'email', title: 'T', body: 'B' },
    ...{ userAttributes: [], status: 'active', origin: 'https://origin.example' },
  }
  const write = (
    given: Partial<Template>,
    reason: NotificationReason = { type: 'streak_reminder' },
    with_: Configuration = config,
  ) => {
    const template = { ...blank, type: reason.type, ...given }
    return compose({ config: with_, user, reason, now: systemNow(), template }, LINK)
  }
  return { write, user, config }
}

describe('[N3] composing', () => {
  it('[N3] every documented variable has its value', async () => {
    const ids = new Map<string, string>()
    const { write } = await scene(async (tenant) => {
      await tenant.create('/attributes', { key: 'plan', name: 'Plan', type: 'user' })
      ids.set('words', await tenant.create('/metrics', { key: 'words', name: 'Words', units: 'w' }))
      ids.set('xp', await tenant.create('/points', { key: 'xp', name: 'XP' }))
      const writer = { key: 'writer', name: 'Writer', description: 'Wrote', trigger: 'api', status: 'active' }
      ids.set('writer', await tenant.create('/achievements', writer))
      const known = { name: 'Ada', email: 'ada@b.example', tz: 'Europe/Paris' }
      await tenant.event('words', { id: 'ada', ...known, attributes: { plan: 'pro' } }, 2.5)
    })
    const push = { channel: 'push' as const }
    const known =
      '{{ user.id }} {{ user.name }} {{ user.email }} {{ user.tz }} {{ user.attributes.plan }} {{ streak.length }} {{ streak.frequency }} {{ points.xp }} {{ metrics.words }}[{{ unsubscribeUrl }}]'
    expect(write({ ...push, body: known }).body).toBe(
      'ada Ada ada@b.example Europe/Paris pro 1 daily 0 2.5[]',
    )
    const dates = write({ ...push, body: '{{ streak.started }} {{ streak.expires }}' })
    expect(dates.body).toMatch(/^\d{4}-\d\d-\d\d \d{4}-\d\d-\d\d$/)
    const achievement =
      '{{ achievement.id }} {{ achievement.key }} {{ achievement.name }} {{ achievement.description }} [{{ achievement.badgeUrl }}] {{ achievement.achievedAt }}'
    const achievementId = ids.get('writer') ?? ''
    const done = { type: 'achievement_completed', achievementId, achievedAt: instant(0) } as const
    const shown = `${achievementId} writer Writer Wrote [] 1970-01-01T00:00:00.000Z`
    expect(write({ ...push, body: achievement }, done).body).toBe(shown)
    const recap =
      '{{ recap.periodStart }} {{ recap.periodEnd }} {{ recap.frequency }}{% for m in recap.metrics %} {{ m.key }} {{ m.name }} {{ m.units }} {{ m.change }} {{ m.total }}{% endfor %}{% for p in recap.points %} {{ p.key }} {{ p.name }} {{ p.change }} {{ p.total }}{% endfor %}'
    const period = { periodStart: civilDate('2030-01-07'), periodEnd: civilDate('2030-01-13') }
    const gained = {
      metrics: [
        { metricId: ids.get('words') ?? '', change: 2.5, total: 7 },
        { metricId: 'deleted since', change: 1, total: 1 },
      ],
      points: [{ systemId: ids.get('xp') ?? '', change: 10, total: 40 }],
    }
    const weekly = { type: 'recap', frequency: 'weekly', ...period, ...gained } as const
    const recapped = '2030-01-07 2030-01-13 weekly words Words w 2.5 7 xp XP 10 40'
    expect(write({ ...push, body: recap }, weekly).body).toBe(recapped)
    const back = '{{ reactivation.messageNumber }} {{ reactivation.daysSinceLastActive }}'
    const reason = { type: 'reactivation', messageNumber: 2, daysSinceLastActive: 5 } as const
    expect(write({ ...push, body: back }, reason).body).toBe('2 5')
  })

  it('[T4, N3] the brand is in every template, with its values escaped in emails', async () => {
    const { write } = await scene(async (tenant) => {
      await tenant.app('PUT', '/users/ada', { email: 'ada@b.example', deviceTokens: ['one'] })
      const branding = {
        appName: '<script>"\'&',
        appUrl: 'https://a.example/?a=1&b="><script>',
        logo: { url: "https://a.example/'onerror='x" },
      }
      await tenant.admin('PATCH', '/settings', { branding: { ...branding, brandColor: 'rgba(1,2,3,0.5)' } })
    })
    const body =
      '{{ branding.appName }}|{{ branding.appUrl }}|{{ branding.brandColor }}|{{ branding.logoUrl }}|{{ branding.appIconUrl }}|{{ unsubscribeUrl }}'
    expect(write({ body }).body).toBe(
      `&lt;script&gt;&#34;&#39;&amp;|https://a.example/?a=1&amp;b=&#34;&gt;&lt;script&gt;|rgba(1,2,3,0.5)|https://a.example/&#39;onerror=&#39;x||${LINK}`,
    )
    const text = {
      channel: 'push',
      title: '{{ branding.appName }}',
      body: '{{ branding.fontFamily }}',
    } as const
    const font = expect.stringMatching(/^system-ui.*sans-serif$/)
    expect(write(text)).toMatchObject({ title: '<script>"\'&', body: font })
  })

  it('[T4] the starters of emails show logo or name, the address, the colour and the font, as the console does', async () => {
    const { write, config } = await scene((tenant) =>
      tenant.app('PUT', '/users/ada', { email: 'ada@b.example' }),
    )
    const branded = (branding: Branding): Configuration => ({
      ...{ ...config, settings: { ...config.settings, branding } },
    })
    const unset = config.settings.branding
    const full = { ...unset, appUrl: 'https://a.example', logo: { url: 'https://a.example/l.png' } }
    for (const font of FONTS) {
      for (const branding of [unset, { ...full, font }, { ...full, font, logo: null, brandColor: '#123' }]) {
        const { body } = write({ body: brandedTemplate('Words', 'Go') }, undefined, branded(branding))
        expect(body.replace(LINK, '#')).toBe(brandedEmail(branding, 'Words', 'Go'))
        expect(body.includes('<img src="https://a.example/l.png" alt="My app"')).toBe(branding.logo !== null)
      }
    }
    const reasons: readonly NotificationReason[] = [
      { type: 'streak_reminder' },
      { type: 'achievement_completed', achievementId: 'x', achievedAt: instant(0) },
      {
        ...{ type: 'recap', frequency: 'weekly', metrics: [], points: [] },
        ...{ periodStart: civilDate('2030-01-07'), periodEnd: civilDate('2030-01-13') },
      },
      { type: 'reactivation', messageNumber: 2, daysSinceLastActive: 5 },
    ]
    for (const reason of reasons) {
      const { subject: title, body } = STARTERS[reason.type]
      const message = write({ title, body }, reason, branded(full))
      expect(message.fault).toBeUndefined()
      expect([title, textOfHtml(message.body)]).toEqual([title, expect.stringMatching(/^My app \(https.*\n/)])
    }
  })

  it('[N3] a subject is one line for any user name; the body has no control characters', async () => {
    const name = 'Ada\r\nBcc: eve@b.example\u2028\u0000x'
    const { write } = await scene((tenant) =>
      tenant.app('PUT', '/users/ada', { name, email: 'ada@b.example' }),
    )
    const template = { title: '  {{ user.name }}\n!', body: 'a\u0000\u001bb\r\n{{ user.name }}\tc' }
    const { title, body } = write(template)
    expect(title).toBe('Ada Bcc: eve@b.example x !')
    expect(body).toMatch(/^ab\nAda\nBcc: eve@b\.example\u2028x\tc\n<p/)
    expect(write({ title: 'ä'.repeat(999) }).title).toBe(`${'ä'.repeat(249)}…`)
  })

  it('[N3] every email has the link once, and the headers of RFC 8058; a push message has neither', async () => {
    const { write } = await scene((tenant) =>
      tenant.app('PUT', '/users/ada', { email: 'ada@b.example', deviceTokens: ['one', 'two', 'one'] }),
    )
    const headers = { 'List-Unsubscribe': `<${LINK}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
    const plain = write({ body: '<p>Hi</p>' })
    expect(plain).toMatchObject({ channel: 'email', to: 'ada@b.example', headers, userId: 'ada' })
    expect(plain.body).toMatch(new RegExp(`^<p>Hi</p>\\n<p[^>]*><a href="${LINK}">Unsubscribe</a></p>$`))
    expect(write({ body: '<html><body>Hi</BODY></html>' }).body).toMatch(/Hi<p.*<\/p>\n<\/BODY><\/html>$/)
    // In lower case the name is one unit longer.
    const name = write({ body: '<html><body>İİİ</BODY></html>' }).body
    expect(name).toMatch(/İİİ<p.*<\/p>\n<\/BODY><\/html>$/)
    const own = '<a href="{{ unsubscribeUrl }}">Stop</a>'
    expect(write({ body: own }).body).toBe(`<a href="${LINK}">Stop</a>`)
    const push = write({ channel: 'push', body: ' Hi ' })
    expect(push).toMatchObject({ channel: 'push', body: 'Hi', headers: {}, tokens: ['one', 'two'], taken: 0 })
  })

  it('[N3] a push message fits the limits of providers', async () => {
    const { write } = await scene((tenant) => tenant.app('PUT', '/users/ada', { deviceTokens: ['x'] }))
    for (const text of ['"\\', '😀', 'x', 'ä\n']) {
      const { title, body } = write({ channel: 'push', title: text.repeat(400), body: text.repeat(9_000) })
      const bytes = new TextEncoder().encode(JSON.stringify({ title, body })).byteLength
      expect(bytes).toBeGreaterThan(2_900)
      expect(bytes).toBeLessThan(3_500)
      expect((title + body).isWellFormed()).toBe(true)
    }
  })

  it('[N3] a template that cannot be rendered returns its error', async () => {
    const { write } = await scene((tenant) => tenant.app('PUT', '/users/ada', { email: 'ada@b.example' }))
    const fault = expect.stringContaining('subject: it renders too much')
    const endless = `{% for i in (1..${HUGE}) %}x{% endfor %}`
    expect(write({ title: endless })).toMatchObject({ title: '', body: '', fault })
    const both = '{{ 1 | date: x }}{% for i in (1..99999999) %}{% endfor %}'
    expect(() => rendered('text', both)).toThrow(RenderError)
  })
})

describe('the text of an email', () => {
  it.each([
    ['<!DOCTYPE html><?xml version="1.0"?><p>One</p><p>Two<br>Three</p>', 'One\n\nTwo\nThree'],
    ['<ul><li>One</li><li>Two</li></ul>', '- One\n\n- Two'],
    ['<style>p { color: red }</style><title>No</title><p>Yes</p><script>if (a<b) x()</script>!', 'Yes\n!'],
    ['<head><title>a</title><style>b</style></head><body>c</body>', 'c'],
    [
      'See <a class="x" href="https://a.example/?b=1&amp;c=2">our <b>page</b></a>.',
      'See our page (https://a.example/?b=1&c=2).',
    ],
    ["<a href='https://a.example'>https://a.example</a>", 'https://a.example'],
    ['<a href="javascript:alert(1)">x</a><a name="y">z</a>', 'xz'],
    [
      '<!-- no --><img src="a.png" alt="A &amp; B"> &lt;b&gt; &#233;&#x20AC;&nbsp;&unknown; &#0;&#xD800;',
      'A & B <b> é€ &unknown;',
    ],
    ['1 < 2 and <3, <5', '1 < 2 and <3, <5'],
    [
      'Gl&uuml;ck &Uuml;ber &Agrave;&yuml; &frac12; 5&euro;&ensp;&RARR;&copy; &ldquo;x&rdquo;',
      'Glück Über Àÿ ½ 5€ →© “x”',
    ],
    ['a   b\n\n\tc', 'a b c'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\n\nc'],
    ['İİİİ<P>a</P><STYLE>b</STYLE>c', 'İİİİ\na\nc'],
    ['<p unclosed', ''],
    ['', ''],
  ])('[N3] %j', (html, text) => {
    expect(textOfHtml(html)).toBe(text)
  })
})
