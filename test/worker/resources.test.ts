import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { adminOperations } from '../../src/worker/operations'
import { forgetTime, moveTo, NOON } from '../helpers/worker/boards'
import { type Answer, at, list, NOBODY, newApp, pick, type TestTenant, UUID } from '../helpers/worker/harness'
import { type Item, KINDS } from '../helpers/worker/kinds'
import { type World, world } from '../helpers/worker/world'

/*
 * Create, read, update and delete, the same for all admin resources (G5, G7, O1, O2). What is special about a
 * kind is in the file of that kind, such as leaderboards-admin.test.ts.
 */

const SENTENCES = expect.stringMatching(/^.+[^.]\. .+[^.]\.$/)
/** Keys that look odd, and are fine. */
const ODD_KEYS = ['-', '_', '0', 'A-b_9', 'k'.repeat(255), 'constructor', '__proto__', 'toString', NOBODY]
const WRONG_KEYS = ['', 'k'.repeat(256), 'a b', 'é', 'a.b', 'a/b', 'a\n', '\na', 'a\u0000', '%61', '🙂', 7]

const objectAt = (body: unknown, ...path: (string | number)[]): Item => Object(at(body, ...path))
const without = (item: Item, ...fields: string[]): Item =>
  Object.fromEntries(Object.entries(item).filter(([name]) => !fields.includes(name)))
const issueOf = (about: object, message: unknown = SENTENCES) => ({ ...about, severity: 'error', message })

// So that moments are known, and a change that is taken back is none.
beforeAll(() => moveTo(NOON))
afterAll(forgetTime)

it('[G7] all admin resources are tested here', () => {
  const ids = new Set(adminOperations.filter(({ account }) => !account).map(({ id }) => id))
  const declared = [...ids]
    .filter((id) => id.endsWith('_update'))
    .map((id) => id.replace(/_update$/, ''))
    .filter((id) => ['list', 'get', 'create', 'delete'].every((verb) => ids.has(`${id}_${verb}`)))
  expect([...new Set(Object.values(KINDS).map(({ operations }) => operations))].sort()).toEqual(
    declared.sort(),
  )
})

describe.each(Object.entries(KINDS))('a %s', (name, kind) => {
  const { path, defaults, removable, needed, most } = kind
  /** Issues about boosts have the id twice (G7). */
  const about = (id: unknown) => (path.endsWith('/boosts') ? { id, boostId: id } : { id })
  let tenant: TestTenant
  let things: World
  const begin = async () => {
    things = await world({ without: path })
    tenant = things.tenant
  }
  // One tenant for most tests of a kind. The list is empty when a test begins.
  beforeAll(begin)
  afterEach(async () => {
    const ids = pick((await tenant.admin('GET', `${path}?limit=100`)).body, 'id')
    // There are more of them, so that another tenant is quicker.
    if (ids.length === 100) await begin()
    else if (ids.length > 0) expect(at((await remove(`ids=${ids}`)).body, 'issues')).toEqual([])
  })

  const least = (key: string) => kind.least(key, things)
  const change = () => kind.change(things)
  const shown = (item: Item) => ({ id: UUID, ...defaults, ...item })
  const post = (...items: unknown[]) => tenant.admin('POST', path, items)
  const patch = (...items: object[]) => tenant.admin('PATCH', path, items)
  const create = (key: string) => tenant.create(path, least(key))
  const remove = (query: string) => tenant.admin('DELETE', `${path}?${query}`)
  /** An item that was read, as the answers to writes show it: the health of a webhook is only in answers to GET. */
  const asWritten = (item: unknown) => (kind.audit === 'webhook' ? without(Object(item), 'health') : item)
  const get = async (idOrKey: unknown) => {
    const answer = await tenant.admin('GET', `${path}/${idOrKey}`)
    return { ...answer, body: asWritten(answer.body) }
  }
  const keys = async (query = '') => pick((await tenant.admin('GET', path + query)).body, 'key')

  /** What was created, without the secret of a webhook, which only this answer has (W1). */
  const created = ({ body }: Answer) => list(at(body, 'created')).map((one) => without(Object(one), 'secret'))

  /** Sends items of which all but the first have one wrong field. Expects a 422 that names each of these fields. */
  async function refuses(
    ask: (...items: object[]) => Promise<Answer>,
    fine: object,
    wrong: readonly (readonly [field: string, value: unknown])[],
    item: object = fine,
  ) {
    const { status, body } = await ask(fine, ...wrong.map(([field, value]) => ({ ...item, [field]: value })))
    const paths = pick(at(body, 'issues'), 'path').map((one) => `${one}.`)
    const named = wrong.map(([field, value], n) => {
      const isNamed = paths.some((one) => one.startsWith(`${n + 1}.${field}.`))
      return [field, value, isNamed]
    })
    expect([status, named]).toEqual([422, wrong.map(([field, value]) => [field, value, true])])
    expect([paths.filter((one) => one.startsWith('0.')), at(body, 'error')]).toEqual([
      [],
      expect.stringContaining(`1.${wrong[0]?.[0]}`),
    ])
  }

  /** The entries that a request left in the audit log, newest first. */
  async function entries({ headers }: Answer): Promise<unknown[]> {
    const { body } = await tenant.admin('GET', '/audit-log?limit=100')
    const id = headers.get('x-request-id')
    return list(body).filter((one) => at(one, 'requestId') === id)
  }

  describe('is created', () => {
    it('[G7, G10] with defaults, also for null, and with all fields, as list and get show it', async () => {
      const nulls = Object.keys({ ...kind.wrong, ...kind.wrongNew }).filter((field) => !(field in least('b')))
      const answer = await post(
        least('a'),
        { ...Object.fromEntries(nulls.map((field) => [field, null])), ...least('b') },
        { ...least('c'), ...change() },
      )
      expect([answer.status, at(answer.body, 'issues')]).toEqual([201, []])
      const made = created(answer)
      expect(made).toEqual([shown(least('a')), shown(least('b')), shown({ ...least('c'), ...change() })])
      expect(list((await tenant.admin('GET', path)).body).map(asWritten)).toEqual(made)
      for (const one of made) {
        for (const named of [one.id, String(one.id).toUpperCase(), one.key])
          expect([named, (await get(named)).body]).toEqual([named, one])
      }
      const bySystemId = `${path.replace('/xp/', `/${things.xp.toUpperCase()}/`)}/a`
      expect(asWritten((await tenant.admin('GET', bySystemId)).body)).toEqual(made[0])
    })

    if (needed.includes('name'))
      it('[G7] with an odd name as it is shown', async () => {
        for (const name of ['a\u0000b', '😀', "'; DROP TABLE metrics; --", ' ']) {
          const [made] = created(await post({ ...least(`odd${name.codePointAt(0)}`), name }))
          const read = await tenant.through(newApp()).admin('GET', `${path}/${made?.id}`)
          expect(read.body).toEqual(made)
        }
      })

    it('[G3] or not at all: each wrong field is named in a 422, and nothing is stored', async () => {
      const id = await create('first')
      const before = await tenant.stored()
      const wrong = { key: WRONG_KEYS, ...kind.wrong, ...kind.wrongNew }
      const missing = needed.flatMap((field) => [undefined, null].map((value) => [field, value] as const))
      const all = Object.entries(wrong).flatMap(([field, values]) =>
        values.map((value) => [field, value] as const),
      )
      await refuses(post, least('a'), [...missing, ...all], least('b'))
      const ofUpdates = all.filter(([field]) => !Object.keys(kind.wrongNew ?? {}).includes(field))
      await refuses(patch, { id }, ofUpdates)
      for (const [field, value] of Object.entries(wrong).map(([field, [value]]) => [field, value] as const))
        await refuses(post, least('a'), [[field, value]], least('b'))
      const { body } = await post(
        Object.fromEntries(Object.entries(wrong).map(([field, [value]]) => [field, value])),
      )
      for (const field of Object.keys(wrong)) expect(at(body, 'error')).toContain(`0.${field}`)
      for (const items of [
        {},
        null,
        'x',
        5,
        [],
        [null],
        [[]],
        [least('a'), 7],
        Array(101).fill(least('a')),
      ]) {
        expect([items, (await tenant.admin('POST', path, items)).status]).toEqual([items, 422])
      }
      for (const items of [
        {},
        null,
        [],
        [{}],
        [{ id: 'x' }],
        [{ id: null, key: null }],
        Array(101).fill({ id }),
      ])
        expect([items, (await tenant.admin('PATCH', path, items)).status]).toEqual([items, 422])
      expect(at((await patch({ id: null })).body, 'error')).toContain('0.id')
      expect(await tenant.stored()).toEqual(before)
    })

    it('[G7] unless it refers to something unknown, which is an issue, and the other items are done', async () => {
      const unknown = kind.unknown(things)
      if (unknown.length === 0) return
      const items = unknown.map(([field, value], n) => ({ ...least(`u${n}`), [field]: value }))
      const answer = await post(least('a'), ...items, least('z'))
      expect([answer.status, pick(created(answer), 'key')]).toEqual([201, ['a', 'z']])
      expect(at(answer.body, 'issues')).toEqual(
        unknown.map(([, , named], n) => issueOf({ index: n + 1 }, expect.stringContaining(named))),
      )
      expect((await post(...items)).status).toBe(200)
      const id = at(created(answer), 0, 'id')
      for (const [field, value, named] of unknown) {
        if (kind.wrongNew !== undefined && field in kind.wrongNew) continue
        const { body } = await patch({ id, [field]: value })
        expect(body).toEqual({ updated: [], issues: [issueOf(about(id), expect.stringContaining(named))] })
      }
      expect((await get(id)).body).toEqual(at(created(answer), 0))
    })

    it('[O4] without its unknown fields, which are warnings', async () => {
      const warning = { severity: 'warning', message: 'Unknown field "colour". It is ignored.' }
      const answer = await post(least('a'), { ...least('b'), colour: 'red' })
      expect([answer.status, at(answer.body, 'issues')]).toEqual([201, [{ index: 1, ...warning }]])
      expect(created(answer)).toEqual([shown(least('a')), shown(least('b'))])
      const { body } = await patch({ key: 'a', colour: 'red' })
      expect(body).toEqual({ updated: [at(created(answer), 0)], issues: [{ index: 0, ...warning }] })
    })

    it('[G7] once by parallel requests with one key, and other isolates see it at once', async () => {
      const other = tenant.through(newApp())
      expect((await other.admin('GET', path)).body).toEqual([])
      const answers = await Promise.all(
        [tenant, other, tenant, other].map((one, n) =>
          one.admin('POST', path, [least('a'), least(`own${n}`)]),
        ),
      )
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
      expect(answers.filter(({ body }) => list(at(body, 'issues')).length === 0)).toHaveLength(1)
      for (const one of [tenant, other]) {
        const all = pick((await one.admin('GET', path)).body, 'key').map(String)
        expect(all.sort()).toEqual(['a', 'own0', 'own1', 'own2', 'own3'])
      }
    })

    it(`[G7] until there are ${most}`, async () => {
      // The parts of all points systems count together.
      const elsewhere = most === 1_000 ? path.replace('/xp/', '/gems/') : path
      const wave = Math.min(100, most)
      for (let from = 0; from < most; from += wave) {
        const items = Array.from({ length: wave }, (_, n) => least(`k${from + n}`))
        const answer = await tenant.admin('POST', from === 0 ? elsewhere : path, items)
        expect([answer.status, at(answer.body, 'issues')]).toEqual([201, []])
      }
      const { status, body } = await post(least('more'))
      expect([status, at(body, 'created')]).toEqual([200, []])
      expect(at(body, 'issues')).toEqual([issueOf({ index: 0 }, expect.stringContaining(String(most)))])
      const last = `k${most - 1}`
      expect((await keys('?limit=100')).length).toBe(Math.min(100, most))
      expect(at((await patch({ key: last, ...change() })).body, 'issues')).toEqual([])
      await remove(`keys=${last}`)
      expect((await post(least('more'))).status).toBe(201)
    })
  })

  describe('has a key', () => {
    it('[G5] that no other one has, also in one request; that of a deleted one is free', async () => {
      const { status, body } = await post(...['a', 'b', 'a', 'A'].map(least))
      expect([status, pick(at(body, 'created'), 'key')]).toEqual([201, ['a', 'b', 'A']])
      const taken = (key: string) => expect.stringContaining(`The key "${key}" is taken by another`)
      expect(at(body, 'issues')).toEqual([issueOf({ index: 2 }, taken('a'))])
      const again = await post(least('a'), least('b'))
      expect([again.status, again.body]).toEqual([
        200,
        { created: [], issues: ['a', 'b'].map((key, index) => issueOf({ index }, taken(key))) },
      ])
      const id = String(at(body, 'created', 0, 'id'))
      await remove(`ids=${id}`)
      expect((await get('a')).status).toBe(404)
      const anew = await create('a')
      expect(anew).not.toBe(id)
      expect([(await get(id)).status, at((await get('a')).body, 'id')]).toEqual([404, anew])
      expect((await patch({ id, ...change() })).body).toEqual({ updated: [], issues: [issueOf(about(id))] })
    })

    it('[G5, O1] of letters, digits, _ and -, and an id wins over a key that looks like it', async () => {
      const id = await create('a')
      for (const key of [...ODD_KEYS, id]) expect([key, (await post(least(key))).status]).toEqual([key, 201])
      for (const key of ODD_KEYS) expect([key, at((await get(key)).body, 'key')]).toEqual([key, key])
      expect(at((await get(id)).body, 'key')).toBe('a')
      expect((await keys(`?limit=100&key=${id}`)).length).toBe(1)
      for (const none of ['b', 'a%20', 'hasOwnProperty', '%00', 'x'.repeat(300)])
        expect([none, (await get(none)).status]).toEqual([none, 404])
    })

    if (kind.keys === 'derived' || kind.keys === 'made')
      it('[O2] that is made if there is none, and another one each time', async () => {
        const items = ['a', 'a'].map((key) => without(least(key), 'key'))
        const made = pick(created(await post(...items)), 'key')
        expect(new Set(made).size).toBe(2)
        for (const key of made) expect(at((await get(key)).body, 'key')).toBe(key)
      })

    if (kind.keys === 'fixed' || kind.keys === 'made')
      it('[O1] that never changes, which is a warning', async () => {
        const id = await create('a')
        const { body } = await patch({ id, key: 'b' })
        expect([at(body, 'updated', 0, 'key'), at(body, 'issues')]).toEqual([
          'a',
          [{ id, severity: 'warning', message: expect.stringMatching(/^The key of an? .* never changes/) }],
        ])
      })

    if (kind.keys === 'given' || kind.keys === 'derived')
      it('[O1, O2] that can change and be swapped, and stays if other fields change', async () => {
        const [a, b] = [await create('a'), await create('b')]
        const taken = issueOf(about(a), expect.stringContaining('The key "b" is taken by another'))
        expect((await patch({ id: a, key: 'b' })).body).toEqual({ updated: [], issues: [taken] })
        const { body } = await patch({ id: a, key: 'c' }, { id: b, key: 'a' }, { id: a, key: 'b' })
        expect([at(body, 'issues'), await keys()]).toEqual([[], ['b', 'a']])
        await patch({ id: a, ...change() }, { id: b, key: null })
        expect(await keys()).toEqual(['b', 'a'])
      })
  })

  it('[G7, O1] is listed from the oldest on, in pages and by keys', async () => {
    const all = Array.from({ length: 12 }, (_, n) => `k${n}`)
    await post(...all.map(least))
    for (const [query, expected] of [
      ['', all.slice(0, 10)],
      ['?limit=100', all],
      ['?limit=3&skip=10', all.slice(10)],
      ['?skip=12', []],
      ['?skip=2147483647', []],
      ['?key=k7&key=k1&key=none', ['k1', 'k7']],
      ['?key=k1,k3,k5&limit=1&skip=1', ['k3']],
    ] as const)
      expect([query, await keys(query)]).toEqual([query, expected])
    for (const query of [
      ...['limit=0', 'limit=101', 'limit=', 'limit=1e1', 'limit=0x1', 'limit=1&limit=2'],
      ...['skip=-1', 'skip=1.5', 'skip=99999999999999999999', 'key=a%20b'],
    ]) {
      expect([query, (await tenant.admin('GET', `${path}?${query}`)).status]).toEqual([query, 422])
    }
    const { body } = await tenant.admin('GET', `${path}?limit=0&skip=x`)
    expect(at(body, 'error')).toMatch(/limit.*skip/)
  })

  describe('is changed', () => {
    it('[G7, O1] in the named fields, by id and by key; null removes what is optional, and else is absent', async () => {
      const id = await create('a')
      const changes = async (item: object, after: Item) => {
        expect((await patch(item)).body).toEqual({ updated: [after], issues: [] })
        expect((await get(id)).body).toEqual(after)
      }
      const before = Object((await get(id)).body)
      const after = { ...before, ...change() }
      await changes({ id }, before)
      await changes({ id: id.toUpperCase(), ...change() }, after)
      const fields = [...Object.keys(change()), ...needed].filter((field) => field !== 'key')
      const nulls = Object.fromEntries(fields.map((field) => [field, null]))
      const removed = Object.fromEntries(removable.map((field) => [field, defaults[field]]))
      await changes({ id, ...nulls }, { ...after, ...removed })
      const [field = '', value] = Object.entries(change())[0] ?? []
      await changes({ key: 'a', [field]: before[field] }, { ...after, ...removed, [field]: before[field] })
      const { status, body } = await patch(
        { id: NOBODY, [field]: value },
        { key: 'none', [field]: value },
        { id, [field]: value },
      )
      expect([status, body]).toEqual([
        200,
        {
          updated: [{ ...after, ...removed }],
          issues: [
            issueOf(about(NOBODY), expect.stringContaining(`The id ${NOBODY} is not the id of a`)),
            issueOf({ key: 'none' }, expect.stringContaining('The key "none" is not the key of a')),
          ],
        },
      ])
    })

    it('[G7] in nothing if the values are the same, also if a change is taken back, and writes nothing', async () => {
      const id = await create('a')
      await patch({ id, ...change() })
      // The version of a trigger counts both changes.
      if (name !== 'trigger') {
        const before = await tenant.stored()
        const [field = '', value] = Object.entries(change())[0] ?? []
        await patch({ id, [field]: least('a')[field] }, { id, [field]: value })
        expect(await tenant.stored()).toEqual(before)
      }
      await moveTo(NOON + 1_000)
      try {
        const before = await tenant.stored()
        const { body } = await patch({ id, ...change() })
        expect(body).toEqual({ updated: [(await get(id)).body], issues: [] })
        expect(await tenant.stored()).toEqual(before)
      } finally {
        await forgetTime()
        await moveTo(NOON)
      }
    })
  })

  it('[G7, O1] is deleted by ids and keys, each once, and is then unknown', async () => {
    const made = new Map<string, string>()
    for (const key of ['a', 'b', 'c', 'd', 'e']) made.set(key, await create(key))
    const [a, b, c, d] = [...made.values()]
    const { status, body } = await remove(
      `keys=a,none&keys=b&ids=${a},${c?.toUpperCase()}&ids=${c}&ids=${d},${NOBODY}`,
    )
    expect([status, body]).toEqual([
      200,
      {
        deleted: [a, c, d, b].map((id) => ({ id })),
        issues: [
          issueOf(about(NOBODY)),
          issueOf({ key: 'none' }, expect.stringContaining('"none" is not the key of a')),
        ],
      },
    ])
    for (const one of [a, 'a', c, 'b']) expect([one, (await get(one)).status]).toEqual([one, 404])
    const again = await remove(`ids=${a}&keys=b`)
    expect([again.status, at(again.body, 'deleted'), pick(at(again.body, 'issues'), 'severity')]).toEqual([
      ...[200, []],
      ['error', 'error'],
    ])
    const many = Array.from({ length: 101 }, () => crypto.randomUUID())
    expect(list(at((await remove(`ids=${many.slice(1)}`)).body, 'issues'))).toHaveLength(100)
    for (const [query, error] of [
      ['', 'ids: must be UUIDs, and is missing'],
      ['ids=', 'ids'],
      ['ids=x', 'ids'],
      [`ids=${made.get('e')},`, 'ids'],
      [`ids=${many}`, 'ids: must be at most 100'],
      ['keys=', 'keys: must be keys'],
      ['keys=a%20b', 'keys: must be keys'],
      [`keys=${many.map((_, n) => `k${n}`)}`, 'keys: must be at most 100'],
    ]) {
      const answer = await remove(`${query}`)
      expect([query, answer.status, at(answer.body, 'error')]).toEqual([
        ...[query, 422],
        expect.stringContaining(`${error}`),
      ])
    }
    expect(await keys()).toEqual(['e'])
  })

  describe('is changed and deleted with If-Match', () => {
    /** A write of one item that names an ETag. */
    const patchIf = (etag: string, item: object, by = tenant) =>
      by.admin('PATCH', path, [item], { 'if-match': etag })
    const removeIf = (etag: string, query: string) =>
      tenant.admin('DELETE', `${path}?${query}`, undefined, { 'if-match': etag })
    const etagOf = ({ headers }: Answer) => headers.get('etag') ?? ''

    it('[G15] only if nobody has changed it since, and a 412 shows it as it is', async () => {
      const id = await create('a')
      await create('b')
      const first = etagOf(await get(id))
      expect(first).toMatch(/^"[0-9a-f]{24}"$/)
      expect([etagOf(await get('a')), etagOf(await get('b')) === first]).toEqual([first, false])
      expect(etagOf(await tenant.through(newApp()).admin('GET', `${path}/a`))).toBe(first)
      const changed = await patchIf(`"other", ${first}`, { id, ...change() })
      expect([changed.status, etagOf(changed)]).toEqual([200, etagOf(await get(id))])
      const current = (await get(id)).body
      const before = await tenant.stored()
      const late = [patchIf(first, { id }), patchIf(`W/${first}`, { key: 'a' }), removeIf(first, `ids=${id}`)]
      for (const { status, body } of await Promise.all([...late, removeIf('""', 'keys=a')]))
        expect([status, body]).toEqual([412, { error: SENTENCES, current }])
      expect(await tenant.stored()).toEqual(before)
      // A proxy that compresses the answer makes its ETag weak, or adds the name of the compression.
      const zipped = ['gzip', 'br', 'zstd'].map((name) => etagOf(changed).replace(/"$/, `-${name}"`))
      for (const tag of ['*', `W/${etagOf(changed)}`, ...zipped])
        expect([tag, (await patchIf(tag, { id })).status]).toEqual([tag, 200])
      expect((await removeIf(etagOf(changed), 'keys=a')).body).toEqual({ deleted: [{ id }], issues: [] })
      for (const { status, body } of [await patchIf('*', { id }), await removeIf(first, 'keys=a')])
        expect([status, body]).toEqual([412, { error: SENTENCES, current: null }])
    })

    it('[G15] by one of two at the same time, and a request with several items ignores it', async () => {
      const id = await create('a')
      const etag = etagOf(await get(id))
      const [field = '', value] = Object.entries(change())[0] ?? []
      const both = [tenant, tenant.through(newApp())].map((by) => patchIf(etag, { id, [field]: value }, by))
      const answers = await Promise.all(both)
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
      const several = [{ id, [field]: value }, { id: NOBODY }]
      expect((await tenant.admin('PATCH', path, several, { 'if-match': etag })).status).toBe(200)
    })
  })

  it('[Z1] leaves an entry for each change, with the fields before and after, and none without one', async () => {
    const system = path.startsWith('/points/') ? { pointsSystemId: things.xp } : {}
    const isOwn = 'userId' in least('a')
    const told = (item: Item) => ({ ...without(item, 'id', 'created', 'updated', 'userId'), ...system })
    const entry = (action: string, id: unknown, fields: object) => ({
      ...{
        id: UUID,
        at: expect.any(String),
        requestId: expect.any(String),
        actor: { keyId: null, name: 'ADMIN_API_KEY' },
      },
      ...{ action, kind: kind.audit, key: 'a', fields, resourceId: isOwn ? UUID : id },
    })
    const fields = (before: Item | null, after: Item | null) =>
      Object.fromEntries(
        Object.keys({ ...before, ...after }).map((field) => [
          field,
          { before: before?.[field] ?? null, after: after?.[field] ?? null },
        ]),
      )
    const answer = await post(least('a'), least('a'))
    const made = objectAt(created(answer), 0)
    expect(await entries(answer)).toEqual([entry('create', made.id, fields(null, told(made)))])
    const before = Object.fromEntries(Object.keys(change()).map((field) => [field, made[field]]))
    const changed = await patch({ id: made.id, ...change() }, { id: NOBODY })
    expect(await entries(changed)).toEqual([entry('update', made.id, fields(before, change()))])
    expect(await entries(await patch({ id: made.id, ...change() }))).toEqual([])
    const after = objectAt(changed.body, 'updated', 0)
    const deleted = await remove('keys=a')
    expect(await entries(deleted)).toEqual([entry('delete', made.id, fields(told(after), null))])
    expect(await entries(await remove('keys=a'))).toEqual([])
  })

  it('[T3] is unknown to another tenant', async () => {
    const id = await create('a')
    const mine = (await get(id)).body
    const { tenant: other } = await world({ without: path })
    const item = Object.entries(change())[0] ?? []
    expect((await other.admin('GET', path)).body).toEqual([])
    expect((await other.admin('GET', `${path}?key=a`)).body).toEqual([])
    for (const named of [id, 'a']) expect((await other.admin('GET', `${path}/${named}`)).status).toBe(404)
    for (const named of [{ id }, { key: 'a' }]) {
      const { body } = await other.admin('PATCH', path, [{ ...named, ...Object.fromEntries([item]) }])
      expect(body).toMatchObject({ updated: [], issues: [{ ...named, severity: 'error' }] })
    }
    const { body } = await other.admin('DELETE', `${path}?ids=${id}&keys=a`)
    expect(body).toMatchObject({ deleted: [], issues: [{ id }, { key: 'a' }] })
    expect((await get(id)).body).toEqual(mine)
  })
})
