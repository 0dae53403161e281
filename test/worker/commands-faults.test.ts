import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it } from 'vitest'
import { UserLane } from '../../src/features/events/lane.object'
import { instant } from '../../src/lib/clock'
import { micros } from '../../src/lib/decimal'
import { newId } from '../../src/lib/new-id'
import { systemNow } from '../../src/lib/system-clock'
import { type CommitDeps, Contention, commit, giveUp } from '../../src/store/commit/commit'
import type { Job } from '../../src/store/commit/decide'
import { present } from '../helpers/time'
import { contextOfUsers } from '../helpers/worker/contexts'
import { beforeEachCall, faultyLast, losing, lost } from '../helpers/worker/faulty'
import { at, newApp, newTenantInLast, type TestTenant, until } from '../helpers/worker/harness'
import { stubbed } from '../helpers/worker/objects'
import { disturbUsers } from '../helpers/worker/stored-users'

/* Completions and preferences on the path of events: lost responses, conflicts, the lane. */

let tenant: TestTenant
beforeEach(async () => {
  tenant = await newTenantInLast()
  const achievementId = await tenant.create('/achievements', {
    key: 'tour',
    name: 'Tour',
    trigger: 'api',
    status: 'active',
  })
  const system = await tenant.create('/points', { key: 'xp', name: 'XP' })
  const trigger = { type: 'achievement', achievementId, points: 7, status: 'active' }
  await tenant.create(`/points/${system}/triggers`, trigger)
})

const complete = (through: TestTenant, user = 'ada') =>
  through.app('POST', '/achievements/tour/complete', { user: { id: user, name: 'Ada' } })
const completions = async () => at((await tenant.app('GET', '/achievements')).body, 0, 'completions')
const points = async (user = 'ada') => at((await tenant.app('GET', `/users/${user}/points/xp`)).body, 'total')

describe('[A3, E2] a completion with a lost response of its write', () => {
  it.each([
    ['was stored', true, 1],
    ['was not stored', false, 2],
  ])('[A3] if it %s: counts it once, and returns it with its points', async (_, isStored, writes) => {
    const { bindings, seen } = faultyLast(losing(0, isStored))
    const { status, body } = await complete(tenant.through(newApp(bindings)))
    expect([status, at(body, 'points', 'xp', 'added'), seen.writes]).toEqual([201, 7, writes])
    const again = await complete(tenant)
    expect([at(again.body, 'completionId'), at(again.body, 'points')]).toEqual([at(body, 'completionId'), {}])
    expect([await completions(), await points()]).toEqual([1, 7])
  })

  it('[A3, E3] ten at once through five isolates: one is the first, and all return the same completion', async () => {
    const apps = Array.from({ length: 5 }, () => tenant.through(newApp()))
    const responses = await Promise.all([...apps, ...apps].map((app) => complete(app)))
    expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(201))
    expect(new Set(responses.map(({ body }) => at(body, 'completionId'))).size).toBe(1)
    expect(responses.filter(({ body }) => at(body, 'points', 'xp') !== undefined)).toHaveLength(1)
    expect([await completions(), await points()]).toEqual([1, 7])
  })
})

describe('[E3] the lane', () => {
  /**
   * An app that finds another change before each of its writes, so that all requests go through the lane.
   * `before` runs before each call of a lane, and `received` changes its reply.
   */
  const contending = (before: (lane: string) => unknown, received = async (reply: string) => reply) => {
    const { bindings } = faultyLast(beforeEachCall(() => disturbUsers(tenant)))
    const USER_LANE = stubbed(env.USER_LANE, (lane) => ({
      commit: async (...asked: Parameters<UserLane['commit']>) => {
        await before(lane)
        return received(await env.USER_LANE.getByName(lane).commit(...asked))
      },
    }))
    return tenant.through(newApp({ ...bindings, USER_LANE }))
  }

  it('[A3, U7] passes completions and preferences on with all their fields', async () => {
    await tenant.metric('steps')
    await tenant.admin('PATCH', '/streaks/settings', { customizationEnabled: true })
    await tenant.app('PUT', '/users/ada', {})
    const lanes: string[] = []
    const through = contending((lane) => lanes.push(lane))
    const first = await complete(through)
    expect([first.status, at(first.body, 'points', 'xp', 'added')]).toEqual([201, 7])
    const streak = { metrics: [{ key: 'steps', threshold: 0.25 }], evaluationMode: 'AND' }
    const change = { notifications: { recap: ['push'] }, streak }
    const { status, body } = await through.app('PATCH', '/users/ada/preferences', change)
    expect([status, body]).toEqual([200, change])
    expect(lanes).toHaveLength(2)
    expect(at((await tenant.app('GET', '/users/ada')).body, 'name')).toBe('Ada')
    expect([await completions(), await points()]).toEqual([1, 7])
  })

  it('[A3, P6] answers with what it has stored, not with what the isolate had decided before', async () => {
    await tenant.admin('PATCH', '/points', [{ key: 'xp', maxPoints: 10 }])
    await tenant.app('PUT', '/users/ada', {})
    const through = contending(async () => {
      const adjusted = [{ userId: 'ada', amount: 10 }]
      expect((await tenant.admin('POST', '/points/xp/adjustments', adjusted)).status).toBe(201)
    })
    const { status, body } = await complete(through)
    expect([status, at(body, 'points')]).toEqual([201, {}])
    expect([await completions(), await points()]).toEqual([1, 10])
  })

  it('[A3] answers a completion also if the lane is of a version that does not say if it is earlier', async () => {
    await tenant.app('PUT', '/users/ada', {})
    const replies: string[] = []
    const through = contending(
      () => undefined,
      async (reply) => {
        replies.push(reply)
        return reply.replace(/,"isEarlier":false/, '')
      },
    )
    const { status, body } = await complete(through)
    expect([status, at(body, 'points', 'xp', 'added')]).toEqual([201, 7])
    expect(replies).toEqual([expect.stringContaining(',"isEarlier":false')])
    expect([await completions(), await points()]).toEqual([1, 7])
  })

  it('[E3] answers 404 for an event whose metric is deleted before its lost answer is looked up', async () => {
    const id = await tenant.metric('steps')
    await tenant.app('PUT', '/users/ada', {})
    let calls = 0
    const received = async (reply: string) => {
      calls += 1
      if (calls === 1) return reply
      await tenant.admin('DELETE', `/metrics?ids=${id}`)
      throw lost()
    }
    const through = contending(() => undefined, received)
    // The first one is sent alone, and the others together.
    const answers = await Promise.all([1, 2, 3].map((value) => through.event('steps', 'ada', value)))
    expect([calls, ...answers.map(({ status }) => status)]).toEqual([2, 201, 404, 404])
  })

  it('[E3] counts and answers an event once that comes to the lane again while it still waits there', async () => {
    await tenant.metric('steps')
    await tenant.app('PUT', '/users/ada', {})
    const { promise: open, resolve: openGate } = Promise.withResolvers<void>()
    const slow = faultyLast(({ run }) => open.then(() => run()))
    let lane: UserLane | undefined
    let calls = 0
    const USER_LANE = stubbed(env.USER_LANE, (name) => ({
      commit: (...asked: Parameters<UserLane['commit']>) =>
        runInDurableObject(env.USER_LANE.getByName(name), async (_, state) => {
          lane ??= new UserLane(state, { ...env, ...slow.bindings })
          calls += 1
          const work = lane.commit(...asked)
          // The connection is lost. The lane goes on, and the isolate sends the first of the two events again.
          if (calls === 2) throw lost()
          if (calls === 3) openGate()
          return work
        }),
    }))
    /** An isolate that finds another change before these of its writes. */
    const isolate = (isDisturbed: (nth: number) => boolean) => {
      const { bindings } = faultyLast(beforeEachCall((nth) => isDisturbed(nth) && disturbUsers(tenant)))
      return tenant.through(newApp({ ...bindings, USER_LANE }))
    }
    const other = isolate(() => true).event('steps', 'ada', 1)
    await until(() => calls === 1)
    // Four writes of two events together, and four of the first one alone.
    const through = isolate((nth) => nth > 0 && nth <= 8)
    const sent = [10, 100, 1000].map((value) => through.event('steps', 'ada', value))
    const answers = await Promise.all([other, ...sent])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 202])
    const lostOne = answers.find(({ status }) => status === 202)
    expect(lostOne?.body).toMatchObject({ achievements: [], points: {}, leaderboards: {} })
    expect(calls).toBe(3)
    expect(at((await tenant.app('GET', '/users/ada/metrics/steps')).body, 'current')).toBe(1111)
  })
})

describe('[E3] endless contention', () => {
  const events = async () => (await tenant.admin('GET', '/users/ada/timeline?types=event')).body

  it('ends with 429 and Retry-After: nothing is stored, and the client can send the request again', async () => {
    await tenant.metric('steps')
    await tenant.app('PUT', '/users/ada', {})
    const disturbed = faultyLast(beforeEachCall(() => disturbUsers(tenant)))
    const { bindings } = disturbed
    // Real lanes in their own objects, with the same disturbed D1.
    const USER_LANE = stubbed(env.USER_LANE, (lane) => ({
      commit: (...asked: Parameters<UserLane['commit']>) =>
        runInDurableObject(env.USER_LANE.getByName(lane), (_, state) =>
          new UserLane(state, { ...env, ...bindings }).commit(...asked),
        ),
    }))
    const through = tenant.through(newApp({ ...bindings, USER_LANE }))
    const refused = await through.event('steps', 'ada', 5, { idempotencyKey: 'once' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(disturbed.seen.writes).toBeGreaterThan(4)
    expect(await events()).toEqual([])
    const again = await tenant.event('steps', 'ada', 5, { idempotencyKey: 'once' })
    expect([again.status, at(again.body, 'total'), at(again.body, 'idempotentReplayed')]).toEqual([
      ...[201, 5, false],
    ])
  })

  it('counts a late write whose response was lost, and returns its decision', async () => {
    const metricId = await tenant.metric('steps')
    await tenant.app('PUT', '/users/ada', {})
    let late: (() => Promise<unknown>) | undefined
    const { DB } = faultyLast(async ({ run }, write) => {
      if (write === 0) {
        late = run
        throw lost()
      }
      await late?.()
      return run()
    })
    const { db, instance } = contextOfUsers(tenant.id, DB)
    const deps: CommitDeps = { db, instance, ensureAlarm: () => undefined, scheduleDrain: () => undefined }
    const jobOf = (eventId: string): Job => ({
      command: {
        ...{ kind: 'event', eventId, metricKey: 'steps', idempotencyKey: null, userId: 'ada', user: {} },
        ...{ by: 'admin', value: micros(5_000_000), attributes: new Map() },
      },
      ...{ credential: null, tenantName: null, arrived: instant(present()), attempt: null },
    })
    const batch = { userId: 'ada', jobs: [jobOf(newId(systemNow()))], stillLeads: () => true }
    const limits = { conflicts: 1, ms: 60_000, pause: { first: 0, longest: 0 } }
    await expect(commit(deps, batch, { conflicted: () => undefined, limits })).rejects.toThrow(Contention)
    const other = jobOf(newId(systemNow()))
    const outcomes = await giveUp(deps, { ...batch, jobs: [...batch.jobs, other] })
    expect(outcomes.map(({ decision }) => decision.kind)).toEqual(['changed', 'refused'])
    expect(outcomes[0]?.decision).toMatchObject({ change: { event: { metricId } } })
    expect(await events()).toMatchObject([{ type: 'event', value: 5 }])
  })
})
