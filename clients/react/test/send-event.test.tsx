// @vitest-environment happy-dom
import type { EventResponse } from '@laurel/client/app'
import { act, cleanup, renderHook, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  changesOf,
  isGain,
  useAchievements,
  useLeaderboard,
  useLevel,
  usePoints,
  useSendEvent,
  useStreak,
  useUser,
} from '../src/index.ts'
import { answer, board, points, row, serverOfAda, streak } from './answers.ts'
import type { FakeServer } from './fake-server.ts'
import { wrapperOf } from './wrapper.tsx'

let server: FakeServer

beforeEach(() => {
  server = serverOfAda()
})

afterEach(cleanup)

const Wrapper = wrapperOf(() => server)
const hook = <Result,>(use: () => Result) => renderHook(use, { wrapper: Wrapper }).result

test('[E2] an event updates the other hooks at once, and lists its changes', async () => {
  const all = hook(() => ({
    points: usePoints('xp'),
    level: useLevel('xp'),
    streak: useStreak(),
    achievements: useAchievements(),
    board: useLeaderboard('weekly-xp'),
    event: useSendEvent(),
  }))
  await waitFor(() => {
    expect(all.current.board.data?.own).toMatchObject({ rank: 2, value: 80 })
    expect(all.current.level.data?.level).toBeNull()
    expect(all.current.streak.data?.length).toBe(3)
    expect(all.current.achievements.data).toHaveLength(1)
  })
  // Reads wait, so the hooks can have new data from the answer to the event alone.
  const release = server.holdReads()
  server.answers.set('GET users/ada/streak', { ...answer.currentStreak, extended: null, streakHistory: [] })
  server.answers.set('GET leaderboards/weekly-xp', {
    ...board,
    rankings: [row('ada', 1, 130), row('bob', 2, 90)],
  })
  const sent = await act(async () => all.current.event.send('lessons', { value: 1 }))
  expect(server.bodies).toEqual([{ value: 1, user: { id: 'ada' } }])
  expect(sent.changes.map(({ type }) => type)).toEqual(['points', 'level', 'streak', 'achievement', 'rank'])
  expect(all.current.event.changes).toEqual(sent.changes)
  expect(all.current.points.data).toMatchObject({ total: 150, level: { key: 'gold' } })
  expect(all.current.level.data?.level?.key).toBe('gold')
  expect(all.current.streak.data).toMatchObject({ length: 4, expires: '2026-11-24' })
  expect(all.current.streak.data?.streakHistory.at(-1)?.length).toBe(4)
  expect(all.current.achievements.data?.[0]?.achievedAt).toBe('2026-11-23T12:00:00.000Z')
  expect(server.count('/points/xp')).toBe(1)
  await act(async () => release())
  await waitFor(() => expect(all.current.board.data?.own).toMatchObject({ rank: 1, value: 130 }))
  // The board has the number of places that it wants, and the place is of the run that it shows.
  expect(server.requests).toContain('GET /v1/leaderboards/weekly-xp')
  expect(server.requests).toContain('GET /v1/users/ada/leaderboards/weekly-xp?numEvents=0&run=2026-11-23')
  const nothing = {
    points: {},
    achievements: [],
    leaderboards: {},
    currentStreak: { ...streak, extended: false },
  }
  server.answers.set('POST metrics/lessons/event', { ...answer, ...nothing, eventId: 'e2' })
  await act(async () => all.current.event.send('lessons', { value: 0 }))
  expect(all.current.event).toMatchObject({ changes: sent.changes, toastId: 'e1' })
  act(() => all.current.event.onDismiss())
  expect(all.current.event.changes).toEqual([])
})

test('[E4] a repeat changes nothing by itself, and brings the effects of an event whose answer was lost', async () => {
  server.answers.set('POST metrics/lessons/event', { ...answer, idempotentReplayed: true })
  const all = hook(() => ({ points: usePoints('xp'), event: useSendEvent() }))
  await waitFor(() => expect(all.current.points.data?.total).toBe(100))
  const release = server.holdReads()
  server.answers.set('GET users/ada/points/xp', points(170))
  const sent = await act(async () => all.current.event.send('lessons', { value: 1, idempotencyKey: 'once' }))
  expect(sent.changes).toEqual([])
  expect(all.current.points.data?.total).toBe(100)
  await act(async () => release())
  await waitFor(() => expect(all.current.points.data?.total).toBe(170))
})

test('an event that fails rejects, and its error is shown until the next one', async () => {
  server.answers.set('POST metrics/lessons/event', 422)
  const result = hook(() => useSendEvent())
  await act(async () => expect(result.current.send('lessons', { value: 1 })).rejects.toThrow('It failed.'))
  expect(result.current).toMatchObject({ isSending: false, error: { status: 422 }, changes: [] })
})

test('[E2] an event that the own server sends updates the hooks from its answer', async () => {
  const all = hook(() => ({ points: usePoints('xp'), user: useUser(), event: useSendEvent() }))
  await waitFor(() => expect(all.current.points.data?.total).toBe(100))
  server.answers.set('GET users/ada', { id: 'ada', name: 'Ada L.' })
  const answered: EventResponse = JSON.parse(JSON.stringify(answer))
  let finish = () => {}
  const answering = new Promise<EventResponse>((resolve) => {
    finish = () => resolve(answered)
  })
  const sent: Promise<unknown>[] = []
  act(() => void sent.push(all.current.event.sendVia(() => answering)))
  expect(all.current.event.isSending).toBe(true)
  await act(async () => {
    finish()
    await Promise.all(sent)
  })
  expect(server.bodies).toEqual([])
  expect(all.current.points.data).toMatchObject({ total: 150, level: { key: 'gold' } })
  expect(all.current.event).toMatchObject({ isSending: false, toastId: answer.eventId })
  expect(all.current.event.changes.map(({ type }) => type)).toContain('level')
  // The server may have sent other fields of the user with the event.
  await waitFor(() => expect(all.current.user.data?.name).toBe('Ada L.'))
  const failure = new Error('The lesson is over.')
  await act(async () => {
    const failing = all.current.event.sendVia(() => Promise.reject(failure))
    await expect(failing).rejects.toBe(failure)
  })
  expect(all.current.event).toMatchObject({ isSending: false, error: failure })
})

test('[L6] an event with other fields of the user brings all data up to date that they change', async () => {
  server.answers.set('POST metrics/lessons/event', { ...answer, leaderboards: {} })
  const all = hook(() => ({ board: useLeaderboard('weekly-xp'), event: useSendEvent() }))
  await waitFor(() => expect(all.current.board.data?.own?.rank).toBe(2))
  server.answers.set('GET leaderboards/weekly-xp', { ...board, rankings: [row('ada', 1, 80)] })
  await act(async () =>
    all.current.event.send('lessons', { value: 1, user: { attributes: { team: 'blue' } } }),
  )
  await waitFor(() => expect(all.current.board.data?.own?.rank).toBe(1))
})

test('a read that began before the event does not bring the old data back', async () => {
  const all = hook(() => ({ points: usePoints('xp'), event: useSendEvent() }))
  await waitFor(() => expect(all.current.points.data?.total).toBe(100))
  const release = server.holdReads()
  act(() => all.current.points.refetch())
  await waitFor(() => expect(server.count('/points/xp')).toBe(2))
  server.answers.set('GET users/ada/points/xp', points(150))
  await act(async () => all.current.event.send('lessons', { value: 1 }))
  expect(server.count('/points/xp')).toBe(3)
  await act(async () => release())
  expect(all.current.points.data?.total).toBe(150)
})

test('after parallel events, everything is read again, since their answers arrive in any order', async () => {
  const all = hook(() => ({ points: usePoints('xp'), event: useSendEvent() }))
  await waitFor(() => expect(all.current.points.data?.total).toBe(100))
  server.answers.set('GET users/ada/points/xp', points(200))
  await act(async () => {
    const { send } = all.current.event
    await Promise.all([send('lessons', { value: 1 }), send('lessons', { value: 1 })])
  })
  await waitFor(() => expect(all.current.points.data?.total).toBe(200))
})

test('[P10, A6] an event adds its awards to those that were read, and what it completed to a list of that', async () => {
  const award = (id: string) => ({ id, awarded: 10, date: '2026-11-23T12:00:00.000Z', total: 10, boosts: [] })
  const [first, second, third] = ['a', 'b', 'c'].map(award)
  server.answers.set('GET users/ada/points/xp', { ...points(100), awards: [first] })
  server.answers.set('GET users/ada/achievements', [])
  const earned = { ...answer.points.xp, awards: [second, third] }
  server.answers.set('POST metrics/lessons/event', { ...answer, points: { xp: earned } })
  const all = hook(() => ({
    two: usePoints('xp', { awards: 2 }),
    points: usePoints('xp'),
    completed: useAchievements({ includeIncomplete: false }),
    event: useSendEvent(),
  }))
  await waitFor(() => expect(all.current.points.data?.awards).toEqual([first]))
  await waitFor(() => expect(all.current.completed.data).toEqual([]))
  server.answers.set('GET users/ada/achievements', answer.achievements)
  await act(async () => all.current.event.send('lessons', { value: 1 }))
  expect(all.current.points.data?.awards).toEqual([third, second, first])
  expect(all.current.two.data?.awards).toEqual([third, second])
  await waitFor(() => expect(all.current.completed.data).toHaveLength(1))
})

test('[P9] a level that was lost is a change, and no gain', () => {
  const gains = (added: number) => {
    const lessons: EventResponse = JSON.parse(
      JSON.stringify({ ...answer, points: { xp: { ...answer.points.xp, added } } }),
    )
    return changesOf(lessons).filter(isGain)
  }
  expect(gains(50).map(({ type }) => type)).toContain('level')
  expect(gains(-50).map(({ type }) => type)).not.toContain('level')
})
