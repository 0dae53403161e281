import { beforeEach, describe, expect, it } from 'vitest'
import { START } from '../../helpers/time'
import { boardsWith } from '../../helpers/worker/boards'
import { beforeFirst, losing, lost, only, onWrites } from '../../helpers/worker/faulty'
import { at, newApp, newTenant, rowsEverywhere, type TestTenant, until } from '../../helpers/worker/harness'
import { disturbUsers } from '../../helpers/worker/stored-users'

/* Corrections with lost responses, failing reads and writes, and other changes of the user in between. */

let tenant: TestTenant
let ids: { metric: string; xp: string; achievement: string; trigger: string }
beforeEach(async () => {
  tenant = await newTenant()
  const metric = await tenant.metric('words')
  const xp = await tenant.create('/points', { key: 'xp', name: 'XP' })
  const byMetric = { type: 'metric', metricId: metric, metricThreshold: 10, points: 5, status: 'active' }
  const trigger = await tenant.create(`/points/${xp}/triggers`, byMetric)
  const ten = { trigger: 'metric', metricId: metric, metricValue: 10, status: 'active' }
  const achievement = await tenant.create('/achievements', { ...ten, key: 'ten', name: 'Ten' })
  const byAchievement = { type: 'achievement', achievementId: achievement, points: 7, status: 'active' }
  await tenant.create(`/points/${xp}/triggers`, byAchievement)
  const board = { start: '2020-01-01', status: 'active', rankBy: 'metric', metricId: metric }
  await tenant.create('/leaderboards', { ...board, key: 'words', name: 'Words', maxParticipants: 10 })
  ids = { metric, xp, achievement, trigger }
})

/** Sends an event of 12 words, which gives 5 points, and 7 for the achievement. Returns its id. */
async function twelve(): Promise<string> {
  const { body } = await tenant.event('words', 'ada', 12)
  return String(at(body, 'eventId'))
}

const voidIt = (through: TestTenant, id: string) => through.admin('POST', `/users/ada/events/${id}/void`, {})
const revoke = (through: TestTenant) => through.admin('DELETE', '/users/ada/achievements/ten?points=revoke')
const adjust = (through: TestTenant, more = {}) =>
  through.admin('POST', '/points/xp/adjustments', [{ userId: 'ada', amount: 3, ...more }])

/** The user's state as it is served, and the sum and the number of the entries in the ledger. */
async function state() {
  const { body } = await tenant.admin('GET', '/users/ada/export')
  const awards = at(body, 'awards')
  const amounts = Array.isArray(awards) ? awards.map((award: unknown) => Number(at(award, 'awarded'))) : []
  const board = (await tenant.app('GET', '/leaderboards/words')).body
  return {
    words: at(body, 'metrics', 0, 'total'),
    points: at((await tenant.app('GET', '/users/ada/points/xp')).body, 'total'),
    ledger: amounts.reduce((sum, amount) => sum + amount, 0),
    entries: amounts.length,
    completions: at((await tenant.app('GET', '/achievements')).body, 0, 'completions'),
    score: at(board, 'rankings', 0, 'value') ?? 0,
  }
}

/** The state after a void of the only event. */
const VOIDED = { words: 0, points: 7, ledger: 7, entries: 3, completions: 1, score: 0 }
const REVOKED = { words: 12, points: 5, ledger: 5, entries: 3, completions: 0, score: 12 }
const ADJUSTED = { words: 12, points: 15, ledger: 15, entries: 3, completions: 1, score: 12 }

const corrections = [
  { name: '[V2] a void', act: voidIt, after: VOIDED, status: 200 },
  { name: '[V4] a revoked completion', act: revoke, after: REVOKED, status: 200 },
  { name: '[V1] an adjustment', act: adjust, after: ADJUSTED, status: 201 },
] as const

const any = () => true

describe.each(corrections)('$name', ({ act, after, status }) => {
  it('with a lost response of its write is stored once, and answers as usual', async () => {
    const id = await twelve()
    const { bindings, seen } = onWrites(losing(0, true))
    const answer = await act(tenant.through(newApp(bindings)), id)
    expect([answer.status, seen.count]).toEqual([status, 1])
    expect(await state()).toEqual(after)
  })

  it('that was not stored is stored by the next attempt', async () => {
    const id = await twelve()
    const { bindings, seen } = onWrites(losing(0, false))
    const answer = await act(tenant.through(newApp(bindings)), id)
    expect([answer.status, seen.count]).toEqual([status, 2])
    expect(await state()).toEqual(after)
  })

  it('stores nothing if the database stays away, and is done when it is sent again', async () => {
    const id = await twelve()
    const before = await state()
    const { bindings } = onWrites(() => Promise.reject(lost()))
    const through = tenant.through(newApp(bindings))
    expect((await act(through, id)).status).toBe(503)
    expect(await state()).toEqual(before)
    expect((await act(tenant, id)).status).toBe(status)
    expect(await state()).toEqual(after)
  })

  it('whichever read or write fails: is stored once, or is an error and stored not at all', async () => {
    const { bindings, seen } = only(any, ({ run }) => run())
    await act(tenant.through(newApp(bindings)), 'none')
    const clean = seen.count
    for (let nth = 0; nth < clean + 8; nth += 1) {
      for (const isAfter of [false, true]) {
        const id = await twelve()
        const before = await state()
        const answer = await act(tenant.through(newApp(only(any, losing(nth, isAfter)).bindings)), id)
        const now = await state()
        const isStored = now.entries !== before.entries
        expect([nth, isAfter, isStored]).toEqual([nth, isAfter, answer.status < 300])
        expect([nth, isAfter, now.entries - before.entries <= 1, now.points === now.ledger]).toEqual([
          ...[nth, isAfter, true, true],
        ])
        await tenant.admin('DELETE', '/users/ada')
      }
    }
  }, 240_000)

  it('tries again if another event of the user comes between its read and its write', async () => {
    const id = await twelve()
    const { bindings, seen } = onWrites(beforeFirst(() => tenant.event('words', 'ada', 1)))
    const answer = await act(tenant.through(newApp(bindings)), id)
    expect([answer.status, seen.count]).toEqual([status, 2])
    const { words, score } = after
    expect(await state()).toMatchObject({ ...after, words: words + 1, score: score + 1 })
  })

  it('[U8] changes nothing of a user who is erased between its read and its write', async () => {
    const id = await twelve()
    const { bindings } = onWrites(beforeFirst(() => tenant.admin('DELETE', '/users/ada')))
    const answer = await act(tenant.through(newApp(bindings)), id)
    expect(answer.status === 404 || at(answer.body, 'issues', 0, 'severity') === 'error').toBe(true)
    expect((await tenant.app('GET', '/users/ada')).status).toBe(404)
  })

  it('[E3] ends with 429 if other changes always come first', async () => {
    const id = await twelve()
    const { bindings } = onWrites(async ({ run }) => {
      await disturbUsers(tenant)
      return run()
    })
    const answer = await act(tenant.through(newApp(bindings)), id)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await state()).toMatchObject({ words: 12, points: 12, entries: 2 })
  })
})

describe('[V2] voids and other work at once', () => {
  it('[V2, E3] two voids of one event: one takes effect, and both answer the same', async () => {
    const id = await twelve()
    let second: ReturnType<typeof voidIt> | undefined
    const { bindings } = onWrites(async ({ run }) => {
      second ??= voidIt(tenant, id)
      await second
      return run()
    })
    const first = await voidIt(tenant.through(newApp(bindings)), id)
    expect(first).toMatchObject({ status: 200, body: (await voidIt(tenant, id)).body })
    expect(await state()).toEqual(VOIDED)
    const many = await Promise.all(
      Array.from({ length: 6 }, (_, n) => voidIt(n % 2 === 0 ? tenant : tenant.through(newApp()), id)),
    )
    expect(new Set(many.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(await state()).toEqual(VOIDED)
  })

  it('[V2, E3] an event whose response was lost is not stored again after it was voided', async () => {
    const { bindings, seen } = onWrites(async ({ run }, n) => {
      await run()
      if (n > 0) return []
      const [row] = await rowsEverywhere('SELECT hex(id) AS id FROM events WHERE value = 12345000')
      const hex = String(row?.id).toLowerCase()
      const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
      expect((await voidIt(tenant, id)).status).toBe(200)
      throw lost()
    })
    const answer = await tenant.through(newApp(bindings)).event('words', 'ada', 12.345)
    expect([answer.status, seen.count]).toEqual([201, 1])
    expect(await state()).toMatchObject({ words: 0, points: 7, ledger: 7 })
  })

  it('[V2, P1] a change of the triggers in between: the own counters are those of the new triggers', async () => {
    const attribute = await tenant.create('/attributes', { key: 'kind', name: 'Kind', type: 'event' })
    const filter = (value: string) => [{ attributeId: attribute, attributeValue: value }]
    const change = (value: string) =>
      tenant.admin('PATCH', `/points/${ids.xp}/triggers`, [
        { id: ids.trigger, eventAttributes: filter(value) },
      ])
    await change('book')
    const send = async (value: number) => {
      const { body } = await tenant.event('words', 'ada', value, { attributes: { kind: 'book' } })
      return { id: String(at(body, 'eventId')), added: at(body, 'points', 'xp', 'added') ?? 0 }
    }
    const { id } = await send(6)
    const { bindings, seen } = onWrites(
      beforeFirst(async () => {
        await change('song')
        await change('book')
      }),
    )
    expect((await voidIt(tenant.through(newApp(bindings)), id)).status).toBe(200)
    expect(seen.count).toBe(2)
    // The counter began again at 0 with the new filters. 9 words are below 10.
    expect((await send(9)).added).toBe(0)
    expect((await send(1)).added).toBe(12)
  })

  it('[V2, L11, L12] a leaderboard that cannot be reached counts the user again later', async () => {
    const id = await twelve()
    const LEADERBOARD = boardsWith(() => Promise.reject(lost()))
    expect((await voidIt(tenant.through(newApp({ LEADERBOARD })), id)).status).toBe(200)
    await until(async () => (await state()).score === 0)
    expect(await state()).toEqual(VOIDED)
  })

  it('[V2, A4] a walk that has read the user before the void changes nothing of that state', async () => {
    const id = await twelve()
    const other = { trigger: 'metric', metricId: ids.metric, metricValue: 12, status: 'active' }
    const [answer] = await Promise.all([
      voidIt(tenant, id),
      tenant.create('/achievements', { ...other, key: 'twelve', name: 'Twelve' }),
    ])
    expect(answer.status).toBe(200)
    await until(async () => at((await tenant.app('GET', '/achievements')).body, 1, 'key') === 'twelve')
    expect(await state()).toMatchObject({ words: 0, score: 0 })
    const { points, ledger } = await state()
    expect(points).toBe(ledger)
  })

  it('[V2, P4, P8] voids while ticks run: totals stay the sum of the ledger', async () => {
    const tick = { type: 'time', points: 1, timeUnit: 'hours', timeInterval: 1, status: 'active' }
    const now = START + 3_600_000
    await tenant.clock('PUT', { now: new Date(now).toISOString() })
    await tenant.create(`/points/${ids.xp}/triggers`, tick)
    const sent = [await twelve(), await twelve(), await twelve()]
    const [, ...answers] = await Promise.all([
      tenant.clock('PUT', { now: new Date(now + 10 * 3_600_000).toISOString() }),
      ...sent.map((id) => voidIt(tenant, id)),
    ])
    await tenant.clock('DELETE')
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    // 7 for the achievement, and 10 ticks.
    expect(await state()).toMatchObject({ words: 0, points: 17, ledger: 17, score: 0 })
  })

  it('[V2, L8] a void of an event whose run becomes final meanwhile: the run stays as it is', async () => {
    const now = START + 3_600_000
    await tenant.clock('PUT', { now: new Date(now).toISOString() })
    const day = new Date(now).toISOString().slice(0, 10)
    const board = {
      start: day,
      status: 'active',
      rankBy: 'metric',
      metricId: ids.metric,
      maxParticipants: 10,
    }
    const runs = { key: 'days', name: 'Days', runUnit: 'day', runInterval: 1 }
    await tenant.create('/leaderboards', { ...board, ...runs })
    const id = await twelve()
    const [, answer] = await Promise.all([
      tenant.clock('PUT', { now: new Date(now + 72 * 3_600_000).toISOString() }),
      voidIt(tenant, id),
    ])
    const value = async () => {
      const { body } = await tenant.app('GET', `/leaderboards/days?run=${day}`)
      return [at(body, 'status'), at(body, 'rankings', 0, 'value') ?? 0]
    }
    const first = await value()
    await tenant.clock('PUT', { now: new Date(now + 75 * 3_600_000).toISOString() })
    const later = await value()
    await tenant.clock('DELETE')
    expect(answer.status).toBe(200)
    // The void came before the run was final, or after it.
    expect([0, 12]).toContain(first[1])
    expect(later).toEqual(first)
  })
})
