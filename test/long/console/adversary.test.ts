/** Writes outlive their forms: slow, failing and lost answers, sessions that end, presses that come twice. */
import fc from 'fast-check'
import type { Locator, Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { holdWrites, loseDeletion, NAMES } from '../../helpers/console/adversary'
import { hasBrowser } from '../../helpers/console/browser'
import { sharedWorld } from '../../helpers/console/world'

const world = sharedWorld()
let page: Page

beforeEach(async () => {
  if (!hasBrowser) return
  ;({ page } = await world.signedIn())
  page.setDefaultTimeout(7000)
})
afterEach(() => page?.context().close())

const hold = () => holdWrites(page, world.server.url)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const follow = (name: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()
const form = (name: string) => page.getByRole('dialog', { name, exact: true })
const message = (text: string | RegExp) =>
  page.getByRole('region', { name: 'Messages' }).getByText(text).first()
const stored = async (path: string) => (await world.ask('GET', `/admin/v1${path}`)).body
const isAskedBeforeReload = () =>
  page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))")

/** Begins a new metric: its form is open, with a name. */
async function begin(name: string) {
  await world.open(page, '/metrics/new')
  await form('New metric').getByLabel('Name').fill(name)
}

/** Closes the form, which does not ask, and begins an achievement on another page. */
async function leave() {
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await follow('Achievements')
  await button('New achievement').click()
  await form('New achievement').getByLabel('Name').fill('Half')
}

/** The achievement that `leave` has begun is as it was. */
async function staysThere() {
  expect(page.url()).toBe(`${world.server.url}/console/achievements/new`)
  expect(await form('New achievement').getByLabel('Name').inputValue()).toBe('Half')
}

describe.skipIf(!hasBrowser)('a write', () => {
  it('is shown as saved only when it is, and its answer moves nobody', async () => {
    await world.open(page, '/metrics/demo-minutes/edit')
    const held = await hold()
    await page.getByLabel('Name').fill('Quarters')
    await button('Save changes').click()
    await button('Saving…').waitFor()
    const saved = page.getByRole('heading', { level: 1, name: 'Quarters', includeHidden: true })
    expect(await saved.count()).toBe(0)
    for (const disabled of [button('Saving…'), page.getByLabel('Name')])
      expect(await disabled.isDisabled()).toBe(true)
    expect(await isAskedBeforeReload()).toBe(true)
    await leave()
    await held.release('passes')
    await message('The metric “Quarters” was saved').waitFor()
    await staysThere()

    await begin('Hours')
    const second = await hold()
    await button('Create metric').click()
    await leave()
    await second.release('passes')
    await message('The metric “Hours” was created').waitFor()
    await staysThere()
    expect(await stored('/metrics/hours')).toMatchObject({ name: 'Hours' })
    expect([held.seen.length, second.seen.length]).toEqual([1, 1])
  })

  const notCreated = 'The metric “Pages” was not created'
  const notKnown = 'It is not known whether the metric “Pages” was created'
  it.each([
    ['is refused', notCreated, /is not wanted\. Choose another one\./i],
    ['is refused in a 200', notCreated, 'The name is not wanted. Choose another one.'],
    ['must wait for an hour', notCreated, 'Too many requests. Try again in 1 hour.'],
    ['fails', notKnown, 'Something failed.'],
    ['lost', notKnown, 'There was no answer of the server.'],
  ] as const)('that %s after people left its form leads back to the entries', async (fault, told, why) => {
    await begin('Pages')
    const held = await hold()
    await button('Create metric').click()
    await leave()
    await (await held.release(fault))()
    await message(told).waitFor()
    await message(why).waitFor()
    await staysThere()
    await button('Back to the entries').click()
    await form('New metric').getByText(why).first().waitFor()
    expect(await form('New metric').getByLabel('Name').inputValue()).toBe('Pages')
    // It follows the name, which nobody has changed.
    expect(await form('New metric').getByLabel('Key').inputValue()).toBe('pages')
    // Nothing else was lost on the way.
    await world.open(page, '/achievements/new')
    await staysThere()
    if (fault === 'lost') await world.ask('DELETE', '/admin/v1/metrics?keys=pages')
  })

  it('that was asked for twice at once is done once, and not the opposite of it', async () => {
    await world.open(page, '/leaderboards/demo-all-time')
    const requests: string[] = []
    page.on('request', (request) => request.method() === 'PATCH' && requests.push(request.url()))
    await page.locator('h1 + *', { hasText: /^active$/ }).waitFor()
    // Somebody presses again just as the button turns into its opposite.
    await page.evaluate(`new MutationObserver(() => {
      for (const one of document.querySelectorAll('main button')) if (one.textContent === 'Activate') one.click()
    }).observe(document.body, { childList: true, subtree: true, characterData: true })`)
    const { x, y, width, height } = (await button('Deactivate').boundingBox()) ?? Object(null)
    await page.mouse.dblclick(x + width / 2, y + height / 2, { delay: 60 })
    await page.locator('h1 + *', { hasText: /^inactive$/ }).waitFor()
    await button('Activate').and(page.locator(':enabled')).waitFor()
    expect(requests).toHaveLength(1)
  })

  it('of an action that is refused says why, with the name of the item, which stays as it is', async () => {
    for (const [path, press, told] of [
      ['/achievements/demo-first-lesson', ['Lock'], 'The achievement “First lesson” was not locked'],
      ['/leaderboards/demo-weekly-xp', ['Delete', 'Confirm: delete'], 'Delete XP this week?'],
    ] as const) {
      await world.open(page, path)
      const held = await hold()
      for (const name of press) await button(name).click()
      if (press.length === 1) await page.getByText('Saving: The achievement “First lesson”…').waitFor()
      const active = page.locator('h1 + *', { hasText: /^active$/ })
      await active.waitFor({ state: 'attached' })
      await (await held.release('is refused in a 200'))()
      await page.getByText(told).first().waitFor()
      await page.getByText('The name is not wanted. Choose another one.').first().waitFor()
      await active.waitFor({ state: 'attached' })
    }
  })
})

describe.skipIf(!hasBrowser)('a reload', () => {
  it.each([
    ['/leaderboards/demo-weekly-xp', ['Deactivate'], 'the leaderboard “XP this week” was deactivated'],
    ['/users/demo-grace?action=freeze', ['Confirm: grant a freeze'], 'a freeze of demo-grace was granted'],
    ['/achievements/demo-profile', ['Delete', 'Confirm: delete'], 'was deleted'],
  ] as const)('between a press on %s and its answer says that nobody knows', async (path, presses, told) => {
    await world.open(page, path)
    const held = await hold()
    for (const name of presses) await button(name).click()
    await button(presses.at(-1) ?? '')
      .and(page.locator(':enabled'))
      .waitFor({ state: 'detached' })
    await page.reload()
    await message(new RegExp(`It is not known whether .*${told}`)).waitFor()
    await button('Look').click()
    await page.waitForURL(`${world.server.url}/console${path}`)
    await (await held.release('fails'))()
    expect(await isAskedBeforeReload()).toBe(false)
  })
})

describe.skipIf(!hasBrowser)('entries', () => {
  it('and writes that are on their way are named before people sign out', async () => {
    const question = page.getByRole('alertdialog')
    const asked = async (text: string, answer: string) => {
      await button('Sign out').click()
      await question.getByText(text, { exact: true }).waitFor()
      await question.getByRole('button', { name: answer }).click()
      await question.waitFor({ state: 'detached' })
    }
    await world.open(page, '/settings')
    const share = page.getByLabel('Control group')
    const before = await share.inputValue()
    await share.fill('7')
    await asked('These are not saved: Settings.', 'Keep editing')
    expect(await share.inputValue()).toBe('7')
    await share.fill(before)

    await begin('Weeks')
    const held = await hold()
    await button('Create metric').click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await asked('These are not saved: The metric “Weeks”.', 'Discard')
    await page.getByLabel('Admin API key').waitFor()
    await held.release('passes')
  })

  it('survive the end of the session and a reload, until people drop them', async () => {
    const { body } = await world.ask('POST', '/admin/v1/admin-api-keys', [{ name: 'Of a test' }])
    const [{ id, key }] = body.created
    await page.context().close()
    ;({ page } = await world.page())
    const enter = async (with_: string) => {
      await page.getByLabel('Admin API key').fill(with_)
      await button('Sign in').click()
    }
    await page.goto(`${world.server.url}/console/notifications/new`)
    await enter(key)
    await page.getByLabel('Title').fill('Hello')
    await page.getByLabel('Body').fill('Come back')
    await page.locator('form p').getByText('Come back', { exact: true }).waitFor()
    await world.ask('DELETE', `/admin/v1/admin-api-keys?ids=${id}`)
    // The preview asks as one types, and the answer ends the session.
    await page.keyboard.type('!')
    await page.getByText('Your key is no longer valid.').waitFor()
    await enter(world.server.adminKey)
    expect(await page.getByLabel('Title').inputValue()).toBe('Hello')
    expect(await page.getByLabel('Body').inputValue()).toMatch(/^Come back/)
    await page.reload()
    expect(await page.getByLabel('Title').inputValue()).toBe('Hello')

    await page.keyboard.press('Escape')
    const question = page.getByRole('alertdialog')
    await question.getByRole('button', { name: 'Keep editing' }).click()
    await question.waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await question.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await button('New template').click()
    expect(await page.getByLabel('Title').inputValue()).toBe('')
  })
})

/** What people do in a round, with the answer that the server then holds. */
type Task = {
  /** Names the task, if it fails. */
  title: string
  /** The beginning of the sentence that tells what happened, as a part of an expression. */
  subject: (name: string) => string
  /** What happens, such as `was saved`. */
  did: string
  /** Makes what the task is about. Answers the address of the page. */
  begin: (name: string) => Promise<string>
  /** Fills the form in, or presses the buttons before the last one. Answers the last one. */
  fill: (name: string) => Promise<Locator>
  /** The field that keeps the entry of the round, if the task is a form. */
  field?: () => Locator
  isDone: (name: string) => Promise<boolean>
}

/** How many names there were. Each round has one of its own. */
let names = 0
function nextName(): string {
  names += 1
  return `r${names}r`
}

const ADMIN = '/admin/v1'
const demand = async (method: string, path: string, body?: unknown) => {
  const answer = await world.ask(method, path, body)
  expect([path, answer.status, JSON.stringify(answer.body)]).toEqual([
    path,
    expect.toSatisfy((status: number) => status < 300),
    expect.not.stringContaining('"severity":"error"'),
  ])
  return answer.body
}
const listOf = async (path: string): Promise<Record<string, unknown>[]> =>
  Object.values((await world.ask('GET', `${ADMIN}${path}?limit=100`)).body).map((one) => Object(one))
const dialog = () => page.getByRole('dialog')
const submitOf = (of: Locator = dialog()) => of.locator('button[type=submit]')

/** A number of a round, for fields of numbers. */
const numberOf = (name: string) => String(1000 + Number(name.replace(/\D/g, '')))

/** The entries of a form: `NAME` stands for the name of the round, and `NUMBER` for its number. */
type Entries = Readonly<Record<string, string>>
const entryOf = (text: string, name: string) => text.replace('NAME', name).replace('NUMBER', numberOf(name))

/** Fills the fields of a form in. The first one has the entry by which the round is known. */
async function enter(of: Locator, entries: Entries, name: string) {
  for (const [label, text] of Object.entries(entries)) {
    const field = of.getByLabel(label, { exact: true })
    const kind = await field.evaluate((element: { tagName: string; type?: string }) =>
      element.type === 'checkbox' ? 'box' : element.tagName,
    )
    if (kind === 'SELECT') await field.selectOption(text)
    else if (kind === 'box') await field.setChecked(text === ON)
    else await field.fill(entryOf(text, name))
  }
  return submitOf(of)
}

/** The entry of a box that is ticked, and of one that is not. */
const ON = 'on'
const OFF = 'off'

/** What a field has, also a box. */
const enteredIn = (field: Locator): Promise<string> =>
  field.evaluate((element: { value: string; type?: string; checked?: boolean }) =>
    element.type === 'checkbox' ? String(element.checked) : element.value,
  )

/** A form beside a page. */
const sheet = (
  title: string,
  path: string | ((name: string) => Promise<string>),
  entries: Entries,
  did: string,
  isDone: Task['isDone'],
  subject: Task['subject'] = (name) => name,
): Task => ({
  title,
  subject,
  did,
  begin: async (name) => (typeof path === 'string' ? path : path(name)),
  fill: (name) => enter(dialog(), entries, name),
  field: () => dialog().getByLabel(Object.keys(entries)[0] ?? '', { exact: true }),
  isDone,
})

/** The task of creating a thing by a form. The first entry is the field that names the thing. */
const creation = (
  one: string,
  path: string,
  list: string,
  entries: Entries,
  by = 'name',
  subject?: Task['subject'],
): Task => {
  const isDone = async (name: string) =>
    (await listOf(list)).some((item) => String(item[by]) === entryOf(Object.values(entries)[0] ?? '', name))
  return sheet(`create a ${one}`, path, entries, 'was created', isDone, subject)
}

const edit = (path: string, item: string, entries: Entries = { Name: 'NAME' }, by = 'name'): Task =>
  sheet(`edit ${item}`, path, entries, 'was saved', async (name) => {
    const wanted = entryOf(Object.values(entries)[0] ?? '', name)
    // A user is no thing that is configured.
    const { body } = await world.ask('GET', `${item.startsWith('/users') ? '/v1' : ADMIN}${item}`)
    return String(body[by]) === wanted
  })

/** A form that is a part of a page. */
const pageForm = (
  path: string | ((name: string) => Promise<string>),
  label: string,
  text: string,
  subject: string,
  isDone: Task['isDone'],
): Task => ({
  title: `save ${subject}`,
  subject: () => subject,
  did: 'were saved',
  begin: async (name) => (typeof path === 'string' ? path : path(name)),
  fill: (name) => enter(page.locator('main form'), { [label]: text }, name),
  field: () => page.locator('main form').getByLabel(label, { exact: true }),
  isDone,
})

/** Buttons, of which the last one sends. */
const action = (
  presses: readonly string[],
  did: string,
  begin: Task['begin'],
  isDone: Task['isDone'],
  subject: Task['subject'] = (name) => name,
): Task => ({
  title: `${presses[0]}: it ${did}`,
  subject,
  did,
  begin,
  async fill(name) {
    const [last = '', ...before] = presses.map((press) => entryOf(press, name)).toReversed()
    for (const press of before.toReversed())
      await button(press)
        .or(page.getByRole('menuitem', { name: press }))
        .click()
    return button(last)
  },
  isDone,
})

/** A thing of a list, made for the round. */
const made =
  (list: string, item: (name: string) => object, page = list) =>
  async (name: string) => {
    const { created } = await demand('POST', `${ADMIN}${list}`, [item(name)])
    return `${page}/${created[0].key ?? created[0].id}`
  }
const isStatus = (list: string, status: string) => async (name: string) =>
  (await stored(`${list}/${name}`)).status === status
const isGone = (list: string) => async (name: string) =>
  (await world.ask('GET', `${ADMIN}${list}/${name}`)).status === 404

const achievement = made('/achievements', (name) => ({ name, key: name, trigger: 'api', status: 'active' }))
const boardOf = (name: string) => ({ name, key: name, rankBy: 'metric', metricId, start: '2082-01-01' })
const board = made('/leaderboards', (name) => ({ ...boardOf(name), status: 'active' }))
const inactive = (list: string, item: (name: string) => object) =>
  made(list, (name) => ({ ...item(name), status: 'inactive' }))
const HOOK = { events: ['*'], status: 'active' }
const webhook = made('/webhooks', (key) => ({ ...HOOK, key, url: `https://example.com/${key}` }))
let metricId = ''

const SYSTEM = '/points/demo-coins'
/** A part of a points system, such as a level, with the address that opens it. */
const part = (list: string, item: (name: string) => object) => async (name: string) => {
  const { created } = await demand('POST', `${ADMIN}${SYSTEM}/${list}`, [item(name)])
  return `${SYSTEM}?open=${list}.${created[0].key}`
}
const level = part('levels', (name) => ({ name, key: name, points: Number(numberOf(name)) }))
const BOOST = { multiplier: 2, start: '2083-05-01', end: null, rounding: 'down' }
const boost = part('boosts', (name) => ({ ...BOOST, name, key: name }))
/** A trigger that never fires. */
const NEVER = { type: 'streak', streakLength: 1000, status: 'active' }
const trigger = part('triggers', (name) => ({ ...NEVER, points: Number(numberOf(name)) }))
const TEMPLATES = '/notifications/templates'
const RECAP = { type: 'recap', channel: 'push', title: 'Before', body: 'Hello', status: 'inactive' }
const template = made(TEMPLATES, (key) => ({ ...RECAP, key }), '/notifications')
/** Its words, as it has no other name. */
const asTemplate = () => 'Recap by push message'
/** User and event attributes may share a key, so the path names the id. */
const attribute = async (name: string) => {
  const { created } = await demand('POST', `${ADMIN}/attributes`, [{ name, key: name, type: 'user' }])
  return `/attributes/${created[0].id}`
}
const attributeOf = async (name: string) => (await listOf('/attributes')).find(({ key }) => key === name)

/** The form of a thing that was made for the round. The first field, which is `by` of the thing, gets its entry. */
const editOf = (
  one: string,
  begin: Task['begin'],
  end: string,
  entries: Entries,
  find: (name: string) => Promise<Record<string, unknown> | undefined>,
  by = 'name',
  subject: Task['subject'] = (name) => `${name}x`,
): Task => {
  const isDone = async (name: string) =>
    String((await find(name))?.[by]) === entryOf(Object.values(entries)[0] ?? '', name)
  const path = async (name: string) => `${await begin(name)}${end}`
  return sheet(`edit a ${one}`, path, entries, 'was saved', isDone, subject)
}
const itemOf = (list: string) => (name: string) => stored(`${list}/${name}`)

/** The admin keys that rounds have made, by their names. */
const keys = new Map<string, string>()
const adminKey = async (name: string) => {
  const { created } = await demand('POST', `${ADMIN}/admin-api-keys`, [{ name }])
  keys.set(name, created[0].key)
  return '/api-keys'
}
const isRefused = async (name: string) =>
  (await world.ask('GET', `${ADMIN}/metrics`, undefined, keys.get(name))).status === 401

/** A user of the round, who has done one lesson. */
const user = (search: string) => async (name: string) => {
  await demand('POST', '/v1/metrics/demo-lessons/event', { user: { id: name }, value: 1 })
  return `/users/${name}${search}`
}
const streakOf = async (name: string) => (await demand('GET', `/v1/users/${name}/streak`)) ?? {}
/** A user of the round whose streak was reset. */
const lostStreak = async (name: string) => {
  const path = await user('')(name)
  await demand('POST', `${ADMIN}/streaks/reset`, { users: [{ id: name }] })
  return path
}
const isStreak = (field: string, value: number) => async (name: string) =>
  (await streakOf(name))[field] === value

const TRIGGERS = `${SYSTEM}/triggers`
const triggerOf = async (name: string) =>
  (await listOf(TRIGGERS)).find(({ points }) => String(points) === numberOf(name))
/** Whether a trigger has this status. Without a status: whether it does not exist. */
const isTrigger = (status?: string) => async (name: string) => (await triggerOf(name))?.status === status
/** A trigger is named by its words, in which the number of the round is. */
const byNumber = (name: string) => `${Number(numberOf(name)).toLocaleString('en-US')}[^.]{0,80}`

const activation = (list: string, begin: Task['begin'], subject?: Task['subject']) =>
  action(['Activate'], 'was activated', begin, isStatus(list, 'active'), subject)
const deactivation = (begin: Task['begin'], isDone: Task['isDone'], subject?: Task['subject']) =>
  action(['Deactivate'], 'was deactivated', begin, isDone, subject)
const DELETE = ['Delete', 'Confirm: delete']
const DELETE_KEY = ['Delete NAME', 'Confirm: delete key']
const deletion = (begin: Task['begin'], isDone: Task['isDone'], subject?: Task['subject']) =>
  action(DELETE, 'was deleted', begin, isDone, subject)
/** A task with the menu "Actions" on the page of a user. */
const support = (presses: readonly string[], did: string, begin: Task['begin'], isDone: Task['isDone']) =>
  action(['Actions', ...presses], did, begin, isDone)

const NEW_TRIGGER = { Points: 'NUMBER', Type: 'user_creation' }
const NEW_TEMPLATE = { Title: 'NAME', Body: 'Hello', Type: 'recap' }
const EARNED = 'Days until another one is earned'

/** The tasks, by the test that plays them. */
const TASKS: Readonly<Record<string, readonly Task[]>> = {
  'what is new': [
    creation('metric', '/metrics/new', '/metrics', { Name: 'NAME' }),
    creation('points system', '/points/new', '/points', { Name: 'NAME' }),
    creation('level', `${SYSTEM}?open=levels.new`, `${SYSTEM}/levels`, { Name: 'NAME', Points: 'NUMBER' }),
    creation('boost', `${SYSTEM}?open=boosts.new`, `${SYSTEM}/boosts`, { Name: 'NAME', Start: '2083-05-01' }),
    creation('achievement', '/achievements/new', '/achievements', { Name: 'NAME', Trigger: 'api' }),
    creation('leaderboard', '/leaderboards/new', '/leaderboards', { Name: 'NAME', 'Rank by': 'streak' }),
    creation('attribute', '/attributes/new', '/attributes', { Name: 'NAME' }),
    creation('webhook', '/webhooks/new', '/webhooks', { Address: 'https://example.com/NAME' }, 'url'),
    creation('admin key', '/api-keys/new-admin', '/admin-api-keys', { Name: 'NAME' }),
    creation('application key', '/api-keys/new', '/application-api-keys', { 'User id': 'NAME' }, 'userId'),
    creation('user', '/users/new', '/users', { Id: 'NAME' }, 'id'),
    creation('trigger', `${SYSTEM}?open=triggers.new`, TRIGGERS, NEW_TRIGGER, 'points', byNumber),
    creation('template', '/notifications/new', TEMPLATES, NEW_TEMPLATE, 'title', asTemplate),
  ],
  'what is changed': [
    edit('/metrics/demo-minutes/edit', '/metrics/demo-minutes'),
    edit('/points/demo-gems/edit', '/points/demo-gems'),
    edit('/achievements/demo-first-lesson/edit', '/achievements/demo-first-lesson'),
    edit('/leaderboards/demo-weekly-xp/edit', '/leaderboards/demo-weekly-xp'),
    edit('/users/demo-grace/edit', '/users/demo-grace'),
    editOf('webhook', webhook, '/edit', { Address: 'https://example.com/NAMEx' }, itemOf('/webhooks'), 'url'),
    editOf('level', level, '.edit', { Name: 'NAMEx' }, itemOf(`${SYSTEM}/levels`)),
    editOf('boost', boost, '.edit', { Name: 'NAMEx' }, itemOf(`${SYSTEM}/boosts`)),
    editOf('trigger', trigger, '.edit', { 'Streak length': 'NUMBER' }, triggerOf, 'streakLength', byNumber),
    editOf('template', template, '/edit', { Title: 'NAMEx' }, itemOf(TEMPLATES), 'title', asTemplate),
    editOf('attribute', attribute, '/edit', { Name: 'NAMEx' }, attributeOf),
    pageForm(user('/preferences'), 'Recap by push', OFF, 'preferences', async (name) => {
      const { notifications } = await demand('GET', `/v1/users/${name}/preferences`)
      return notifications.recap?.includes('push') === false
    }),
    pageForm('/settings', 'Name of the app', 'NAME', 'settings', async (name) => {
      const { branding } = await stored('/settings')
      return branding.appName === name
    }),
    pageForm('/streaks', EARNED, 'NUMBER', 'settings of streaks', async (name) => {
      const { freezes } = await stored('/streaks/settings')
      return String(freezes.autoEarnInterval) === numberOf(name)
    }),
  ],
  'what is done by a button': [
    action(['Lock'], 'was locked', achievement, isStatus('/achievements', 'locked')),
    deletion(achievement, isGone('/achievements')),
    deactivation(board, isStatus('/leaderboards', 'inactive')),
    action(['Finish', 'Confirm: finish'], 'was finished', board, isStatus('/leaderboards', 'finished')),
    deletion(board, isGone('/leaderboards')),
    deactivation(webhook, isStatus('/webhooks', 'inactive')),
    deletion(webhook, isGone('/webhooks')),
    action(
      ['Rotate secret', 'Confirm: rotate secret'],
      'was replaced',
      webhook,
      async (name) => (await stored(`/webhooks/${name}`)).previousSecretEnds !== null,
    ),
    activation(
      '/achievements',
      inactive('/achievements', (name) => ({ name, key: name, trigger: 'api' })),
    ),
    activation('/leaderboards', inactive('/leaderboards', boardOf)),
    activation(TEMPLATES, template, asTemplate),
    deletion(template, isGone(TEMPLATES), asTemplate),
    deactivation(trigger, isTrigger('inactive'), byNumber),
    deletion(trigger, isTrigger(undefined), byNumber),
    deletion(level, isGone(`${SYSTEM}/levels`)),
    deletion(boost, isGone(`${SYSTEM}/boosts`)),
    deletion(attribute, async (name) => (await attributeOf(name)) === undefined),
    action(['Rotate NAME', 'Confirm: rotate key'], 'was replaced', adminKey, isRefused),
    action(DELETE_KEY, 'was deleted', adminKey, isRefused),
  ],
  'what support does for a user': [
    {
      ...action(
        ['Confirm: erase'],
        'was erased',
        user('?action=erase'),
        async (name) => (await world.ask('GET', `/v1/users/${name}`)).status === 404,
      ),
      async fill(name) {
        await page.getByLabel(`Type ${name} to confirm`).fill(name)
        return button('Confirm: erase')
      },
    },
    support(['Grant a freeze', 'Confirm: grant a freeze'], 'was granted', user(''), isStreak('freezes', 2)),
    support(['Reset the streak', 'Confirm: reset'], 'was reset', user(''), isStreak('length', 0)),
    support(['Restore the streak', 'Confirm: restore'], 'was restored', lostStreak, isStreak('length', 1)),
    sheet(
      'adjust points',
      user('?action=adjust-points'),
      { Amount: '7', Reason: 'NAME' },
      'were adjusted',
      async (name) => {
        const points: { total: number }[] = Object.values(await demand('GET', `/v1/users/${name}/points`))
        return points.some(({ total }) => total % 10 === 7)
      },
    ),
    sheet(
      'pause a streak',
      user('?action=pause'),
      { 'First day': '2083-07-01', 'Last day': '2083-07-02' },
      'was created',
      async (name) => (await streakOf(name)).pauses.length === 1,
    ),
    sheet(
      'void an event',
      async (name) => {
        const path = await user('/timeline')(name)
        const [event] = Object.values(await demand('GET', `${ADMIN}/users/${name}/timeline?types=event`))
        return `${path}?void=${Object(event).id}`
      },
      { Reason: 'NAME' },
      'was voided',
      async (name) => (await demand('GET', `/v1/users/${name}/metrics/demo-lessons`)).current === 0,
    ),
  ],
}

const prefixes = new Map<string, string>()
const applicationKey = async (name: string) => {
  const { created } = await demand('POST', `${ADMIN}/application-api-keys`, [{ userId: name }])
  prefixes.set(name, created[0].prefix)
  return '/api-keys'
}
const paused = async (name: string) => {
  const path = await user('')(name)
  const pause = { userId: name, start: '2082-07-01', end: '2082-07-02' }
  await demand('POST', `${ADMIN}/streaks/pauses`, { pauses: [pause] })
  return path
}
const completed = async (name: string) => {
  await achievement(name)
  await user('')(name)
  await demand('POST', `/v1/achievements/${name}/complete`, { user: { id: name } })
  return `/users/${name}/achievements`
}

/** Items to delete: for each kind the page, the buttons to press, and the end of the message. */
const DELETIONS: readonly [kind: string, begin: Task['begin'], presses: readonly string[], told: string][] = [
  ['an admin key', adminKey, DELETE_KEY, 'The key “NAME” was deleted'],
  [
    'an application key',
    applicationKey,
    ['Delete PREFIX', 'Confirm: delete key'],
    'The key of NAME was deleted',
  ],
  ['a pause', paused, ['Remove'], 'The pause of NAME was removed'],
  [
    'a completion',
    completed,
    ['Revoke NAME', 'Confirm: revoke'],
    'The achievement “NAME” of NAME was revoked',
  ],
  ['an achievement', achievement, DELETE, '“NAME” was deleted'],
  ['a level', level, DELETE, '“NAME” was deleted'],
]

describe.skipIf(!hasBrowser)('a deletion', () => {
  async function press(texts: readonly string[], name: string) {
    const shown = (text: string) => text.replace('NAME', name).replace('PREFIX', prefixes.get(name) ?? '')
    for (const text of texts) await page.getByRole('button', { name: shown(text) }).click()
  }

  it.each(DELETIONS)(
    'of %s says why it is refused, and is told as done if only its first answer is lost',
    async (_, begin, texts, told) => {
      const name = nextName()
      const path = await begin(name)
      await world.open(page, path)
      const held = await hold()
      await press(texts, name)
      await (await held.release('is refused in a 200'))()
      await page.getByText('The name is not wanted. Choose another one.').first().waitFor()

      await world.open(page, path)
      const sent = await loseDeletion(page, world.server.url)
      await press(texts, name)
      await message(new RegExp(`${told.replaceAll('NAME', name)}$`)).waitFor()
      expect(sent).toEqual([sent[0], sent[0]])
      await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    },
  )
})

type Round = { task: Task; way: (typeof WAYS)[number]; fault: (typeof NAMES)[number] }
const WAYS = ['stays', 'closes the form', 'goes elsewhere', 'presses twice', 'loads the page again'] as const

/** How many of the ways each task takes in a run. Another seed takes others. */
const WAYS_EACH = 2

describe.skipIf(!hasBrowser)('from a seed', () => {
  /** What people were told about a write: null until they are told. */
  async function toldOf(subject: string, did: string): Promise<'done' | 'not done' | 'not known' | null> {
    const shown = (await page.locator('body').innerText()).replaceAll('\n', ' ')
    const not = did.replace(/^\w+/, '$& not')
    if (new RegExp(`It is not known whether .{0,80}${subject}`).test(shown)) return 'not known'
    if (new RegExp(`${subject}[^.]{0,40} ${not}`).test(shown)) return 'not done'
    if (new RegExp(`${subject}[^.]{0,40} ${did}`).test(shown)) return 'done'
    const alert = page.locator('[role=dialog], [role=alertdialog], main form').locator('.text-danger')
    return (await alert.count()) > 0 ? 'not done' : null
  }

  /** Plays a round. Notes what people were told if the server holds something else. */
  async function play({ task, way, fault }: Round, name: string, round: string, found: string[]) {
    const subject = task.subject(name)
    await world.open(page, await task.begin(name))
    const last = await task.fill(name)
    const entry = task.field && (await enteredIn(task.field()))
    const held = await hold()
    if (way === 'presses twice') await last.dblclick({ delay: 30 })
    else await last.click()
    await expect.poll(() => held.seen.length, { message: round }).toBeGreaterThan(0)
    if (way === 'closes the form' || way === 'goes elsewhere') {
      // A question may be above a sheet.
      const open = page.locator('[role=dialog], [role=alertdialog]')
      for (let count = await open.count(); count > 0; count -= 1) {
        await page.keyboard.press('Escape')
        await expect.poll(() => open.count(), { message: round }).toBeLessThan(count)
      }
    }
    if (way === 'goes elsewhere') await follow('Audit log')
    const isReloaded = way === 'loads the page again'
    if (isReloaded) await page.reload()
    await (await held.release(fault))()
    if (fault === 'finds the session ended' && !isReloaded) {
      await page.getByLabel('Admin API key').fill(world.server.adminKey)
      await button('Sign in').click()
    }
    await expect.poll(() => toldOf(subject, task.did), { message: round, timeout: 20_000 }).not.toBe(null)
    const told = await toldOf(subject, task.did)
    // The answer may come while the next page is loading. People press buttons of that page.
    if (way === 'goes elsewhere') await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
    const field = task.field?.()
    if (told === 'done') {
      // A secret is shown at once, or on demand.
      if (await button('Show it').isVisible()) await button('Show it').click()
      if (/^create a.* (?:key|webhook)$|: it was replaced$/.test(task.title)) await button('Done').click()
    } else if (field !== undefined) {
      if (!(await field.isVisible())) await button('Back to the entries').or(button('Look')).last().click()
      expect([round, await enteredIn(field)]).toEqual([round, entry])
      // A form of a page has no button that drops its entries, as long as it was not left.
      const drop = button('Cancel').or(page.locator('main').getByRole('button', { name: 'Discard them' }))
      if (!(await drop.isVisible())) await page.reload()
      await drop.click()
      await drop.waitFor({ state: 'detached' })
    }
    expect([round, await isAskedBeforeReload()]).toEqual([round, false])
    const isDone = await task.isDone(name)
    if (told !== 'not known' && isDone !== (told === 'done'))
      found.push(`${round}: told ${told}, stored ${isDone}`)
  }

  it.each(Object.entries(TASKS))(
    'people are told of %s what the server holds, and what was not done is still in its form',
    async (_group, tasks) => {
      metricId = (await stored('/metrics/demo-lessons')).id
      // They follow from TEST_SEED, as all that fast-check makes.
      const ways = fc.shuffledSubarray([...WAYS], { minLength: WAYS_EACH, maxLength: WAYS_EACH })
      const drawn = fc.sample(
        fc.tuple(ways, fc.array(fc.constantFrom(...NAMES), { minLength: WAYS_EACH, maxLength: WAYS_EACH })),
        tasks.length,
      )
      const rounds = tasks.flatMap((task, nth) => {
        const [of = [], faults = []] = drawn[nth] ?? []
        return of.map((way, index) => ({ task, way, fault: faults[index] ?? 'passes' }))
      })
      const found: string[] = []
      for (const one of rounds) {
        const round = `${one.task.title}: the person ${one.way}, the write ${one.fault}`
        await play(one, nextName(), round, found).catch((cause) => {
          throw new Error(round, { cause })
        })
      }
      expect(found).toEqual([])
    },
  )
})
