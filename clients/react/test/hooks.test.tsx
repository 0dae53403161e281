// @vitest-environment happy-dom
import { act, cleanup, render, renderHook, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  AchievementGrid,
  Energy,
  Leaderboard,
  LevelProgress,
  PointsCounter,
  StreakCalendar,
  StreakCounter,
  useAchievements,
  useEnergy,
  useLeaderboard,
  useLeaderboardGroups,
  useLevel,
  usePoints,
  useSendEvent,
  useStreak,
  useUser,
} from '../src/index.ts'
import { achievement, answer, board, points, row, serverOfAda, streak } from './answers.ts'
import type { FakeServer } from './fake-server.ts'
import { wrapperOf } from './wrapper.tsx'

let server: FakeServer

beforeEach(() => {
  server = serverOfAda()
})

afterEach(() => {
  cleanup()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const Wrapper = wrapperOf(() => server)
const hook = <Result,>(use: () => Result) => renderHook(use, { wrapper: Wrapper }).result

test.each(['2026-11-23', '1970-01-01'])('a hook is loading until its data is there, on %s', async (today) => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(today) })
  const user = hook(() => useUser())
  expect(user.current).toMatchObject({ data: undefined, isLoading: true, error: null })
  await waitFor(() => expect(user.current.data?.name).toBe('Ada'))
  expect(user.current).toMatchObject({ isLoading: false, error: null })
})

test('a hook outside of a provider throws an error that names the provider', () => {
  vi.spyOn(console, 'error').mockReturnValue()
  expect(() => renderHook(() => useUser())).toThrow('<LaurelProvider>')
})

test('[Y1] a live ranking follows the stream, knows ranks before, and closes with its last component', async () => {
  const use = () => useLeaderboard('weekly-xp', { live: true })
  const Board = () => <Leaderboard {...use()} />
  const { unmount } = render(
    <Wrapper>
      <Board />
      <Board />
    </Wrapper>,
  )
  await waitFor(() => expect(server.openStreams).toBe(1))
  await screen.findAllByText('bob')
  expect(screen.queryByText('Live')).toBeNull()
  const ranking = (version: number, rankings: unknown) => ({
    version,
    run: '2026-11-23',
    status: 'active',
    rankings,
  })
  act(() => server.send('ranking', ranking(1, [row('bob', 1, 90), row('ada', 2, 80)])))
  await waitFor(() => expect(screen.getAllByText('Live')).toHaveLength(2))
  expect(screen.getAllByText('Nov 23 – 29')).toHaveLength(2)
  act(() => server.send('ranking', ranking(2, [row('ada', 1, 95), row('bob', 2, 90)])))
  await waitFor(() => expect(screen.getAllByText('up 1')).toHaveLength(2))
  expect(server.count('/live')).toBe(1)
  unmount()
  await waitFor(() => expect(server.openStreams).toBe(0))
})

test('[L6] a leaderboard with groups shows the own place in the own group only', async () => {
  const group = (team: string) => ({ group: [{ key: 'team', value: team }] })
  server.answers.set('GET leaderboards/weekly-xp', { ...board, rankings: [row('bob', 1, 90)] })
  const { result, rerender } = renderHook(
    ({ team }: { team: string | null }) =>
      useLeaderboard('weekly-xp', { group: team === null ? null : group(team) }),
    { wrapper: Wrapper, initialProps: { team: null as string | null } },
  )
  await waitFor(() => expect(server.count('users/ada')).toBe(1))
  expect(server.count('v1/leaderboards/weekly-xp')).toBe(0)
  rerender({ team: 'owls' })
  await waitFor(() => expect(result.current.data?.own).toMatchObject({ userName: 'Ada', rank: 2 }))
  rerender({ team: 'foxes' })
  await waitFor(() => expect(result.current.data?.rankings).toHaveLength(1))
  expect(result.current.data?.own).toBeUndefined()
  expect(server.requests.filter((request) => request.includes('userAttributes')).length).toBe(2)
})

describe('[L6] the groups of a leaderboard', () => {
  const group = (users: number, team: string) => {
    const values = [{ key: 'team', value: team }]
    return { group: values, userAttributes: values, users }
  }
  const teams = (groups: { current: ReturnType<typeof useLeaderboardGroups> }) =>
    groups.current.data?.map(({ group: [pair], users, isOwn }) => [pair?.value, users, isOwn])

  beforeEach(() => {
    const own = { ...board, breakdownAttributes: ['team'], rank: 2, value: 80, history: [] }
    server.answers.set('GET users/ada/leaderboards/weekly-xp', own)
    server.answers.set('GET leaderboards/weekly-xp/groups', [group(9, 'foxes'), group(2, 'owls')])
  })

  test('begin with the own one, also if nobody is ranked in it yet', async () => {
    const groups = hook(() => useLeaderboardGroups('weekly-xp'))
    expect(groups.current).toMatchObject({ data: undefined, isLoading: true })
    await waitFor(() =>
      expect(teams(groups)).toEqual([
        ['owls', 2, true],
        ['foxes', 9, undefined],
      ]),
    )
    server.answers.set('GET leaderboards/weekly-xp/groups', [])
    act(() => groups.current.refetch())
    await waitFor(() => expect(teams(groups)).toEqual([['owls', 0, true]]))
  })

  test.each([
    ['a user without the attribute', {}, undefined],
    ['a user who cannot be read', 404, 404],
  ])('have no own one for %s', async (_, attributes, status) => {
    server.answers.set('GET users/ada', status ?? { id: 'ada', name: 'Ada', attributes })
    const groups = hook(() => useLeaderboardGroups('weekly-xp'))
    await waitFor(() => expect(teams(groups)).toHaveLength(2))
    expect(teams(groups)?.[0]).toEqual(['foxes', 9, undefined])
    expect(groups.current).toMatchObject({ isLoading: false, error: null })
  })

  test('[Y1] have the counts of the live leaderboard, and those of the others follow', async () => {
    const all = hook(() => {
      const groups = useLeaderboardGroups('weekly-xp')
      const chosen = groups.data?.[0] ?? null
      return { groups, board: useLeaderboard('weekly-xp', { group: chosen, live: true, limit: 3 }) }
    })
    const counts = () => all.current.groups.data?.map(({ users }) => users)
    await waitFor(() => expect(server.openStreams).toBe(1))
    expect(counts()).toEqual([2, 9])
    const query = 'limit=3&userAttributes=team%3Aowls'
    expect(server.requests).toContain(`GET /v1/leaderboards/weekly-xp/live?${query}`)
    const ranked = async (version: number, ...users: string[]) => {
      const rankings = users.map((user, index) => row(user, index + 1, 90 - index))
      act(() => server.send('ranking', { version, run: '2026-11-23', status: 'active', rankings }))
      await waitFor(() => expect(all.current.board.data?.rankings.map(({ userId }) => userId)).toEqual(users))
    }
    await ranked(1, 'bob')
    expect(counts()).toEqual([1, 9])
    // A user has left the other group, and joined this one. The service counts some seconds late.
    server.answers.set('GET leaderboards/weekly-xp/groups', [group(8, 'foxes'), group(1, 'owls')])
    await ranked(2, 'bob', 'ada')
    await waitFor(() => expect(counts()).toEqual([2, 8]))
    // More users may be below the visible part.
    server.answers.set('GET leaderboards/weekly-xp/groups', [group(8, 'foxes'), group(7, 'owls')])
    await ranked(3, 'bob', 'ada', 'eve')
    expect(counts()).toEqual([3, 8])
    act(() => all.current.groups.refetch())
    await waitFor(() => expect(counts()).toEqual([7, 8]))
  })
})

describe('[A2, A6] achievements that are not completed', () => {
  const metric = { ...achievement, metricId: 'm1', metricValue: 10 }
  const others = [
    { ...metric, id: 'a2', name: 'Some', eventAttributes: [{ key: 'kind', value: 'hard' }] },
    { ...achievement, id: 'a3', name: 'Streak', trigger: 'streak', streakLength: 5 },
    { ...achievement, id: 'a4', name: 'Both', trigger: 'achievement', achievementIds: ['a1', 'a5'] },
    { ...metric, id: 'a5', name: 'Done', achievedAt: '2026-11-01T00:00:00.000Z' },
    { ...achievement, id: 'a6', name: 'Call', trigger: 'api' },
  ]
  const use = () => ({ all: useAchievements(), event: useSendEvent() })
  const progress = ({ current }: { current: ReturnType<typeof use> }) =>
    current.all.data?.map((one) => one.progress && [one.progress.value, one.progress.goal])

  test('have the progress by metrics, streaks and other achievements, also after an event', async () => {
    server.answers.set('GET users/ada/achievements', [metric, ...others])
    server.answers.set('GET users/ada/metrics', [{ id: 'm1', key: 'lessons', current: 4.5 }])
    const result = hook(use)
    const before = [[4.5, 10], undefined, [3, 5], [1, 2], undefined, undefined]
    await waitFor(() => expect(progress(result)).toEqual(before))
    const { achievements: _, ...rest } = answer
    server.answers.set('POST metrics/lessons/event', { ...rest, achievements: [] })
    server.answers.set('GET users/ada/streak', { ...streak, length: 4 })
    const requests = server.count('/metrics')
    await act(async () => result.current.event.send('lessons', { value: 0.5 }))
    expect(progress(result)).toEqual([[5, 10], undefined, [4, 5], [1, 2], undefined, undefined])
    expect(server.count('/metrics')).toBe(requests)
    server.answers.set('POST metrics/lessons/event', answer)
    await act(async () => result.current.event.send('lessons', { value: 5 }))
    expect(progress(result)?.[0]).toBeUndefined()
    expect(progress(result)?.[3]).toEqual([2, 2])
  })

  test('are there without it if the totals cannot be read', async () => {
    server.answers.set('GET users/ada/achievements', [metric])
    const result = hook(use)
    await waitFor(() => expect(result.current.all).toMatchObject({ isLoading: false, error: null }))
    expect(progress(result)).toEqual([undefined])
  })

  test('need no other data if it is not about them', async () => {
    server.answers.set('GET users/ada/achievements', [others.at(-1), others.at(-2)])
    const result = hook(use)
    await waitFor(() => expect(progress(result)).toEqual([undefined, undefined]))
    expect(server.requests).toEqual(['GET /v1/users/ada/achievements?includeIncomplete=true'])
  })
})

/** The answers to the requests for energy: a tick each `hours`, the last one at `date`. */
function answerEnergy(date: string, hours: number, total = 2) {
  const trigger = { type: 'time', points: 1, timeUnit: 'hour', timeInterval: hours }
  const award = { date, awarded: 1, total, trigger }
  server.answers.set('GET users/ada/points/energy', { ...points(total), maxPoints: 5, awards: [award] })
  server.answers.set('GET points/energy', { name: 'Energy', triggers: [trigger] })
}

test('[P4] energy waits for a gain that is weeks away, and asks once when it is due', async () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-23T12:00:00Z'), shouldAdvanceTime: true })
  answerEnergy('2026-11-23T11:30:00.000Z', 30 * 24)
  const energy = hook(() => useEnergy('energy'))
  await waitFor(() => expect(energy.current.data?.nextAt).toBe('2026-12-23T11:30:00.000Z'))
  await act(async () => vi.advanceTimersByTimeAsync(10_000))
  expect(server.count('/points/energy')).toBe(2)
  await act(async () => vi.advanceTimersByTimeAsync(29 * 86_400_000))
  expect(server.count('/points/energy')).toBe(2)
  answerEnergy('2026-12-23T11:30:00.000Z', 30 * 24, 3)
  await act(async () => vi.advanceTimersByTimeAsync(86_400_000))
  await waitFor(() => expect(energy.current.data?.total).toBe(3))
  expect(server.count('/points/energy')).toBe(3)
})

test('[P4] energy has the next gain, and asks once a minute when it is due, while the service fails', async () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-23T12:00:00Z'), shouldAdvanceTime: true })
  answerEnergy('2026-11-23T11:30:00.000Z', 1)
  const energy = hook(() => useEnergy('energy'))
  const known = { total: 2, maxPoints: 5, nextAt: '2026-11-23T12:30:00.000Z', nextPoints: 1 }
  await waitFor(() => expect(energy.current.data).toMatchObject(known))
  const before = server.count('/users/ada/points/energy')
  server.answers.set('GET users/ada/points/energy', 500)
  await act(async () => vi.advanceTimersByTimeAsync(33 * 60_000))
  // It was due three minutes ago.
  expect(server.count('/users/ada/points/energy') - before).toBe(3)
  answerEnergy('2026-11-23T12:30:00.000Z', 1, 3)
  await act(async () => vi.advanceTimersByTimeAsync(60_000))
  await waitFor(() => expect(energy.current.data?.total).toBe(3))
})

test.each([
  ['behind', -10],
  ['ahead', 10],
])('[P4, C1] energy follows the clock of the service, which is ten minutes %s', async (_, minutes) => {
  const serviceNow = Date.parse('2026-11-23T12:00:00Z')
  const ahead = minutes * 60_000
  vi.useFakeTimers({ now: serviceNow - ahead, shouldAdvanceTime: true })
  server.clockAhead = ahead
  answerEnergy('2026-11-23T10:05:00.000Z', 1)
  const Page = () => <Energy {...useEnergy('energy')} />
  render(<Page />, { wrapper: Wrapper })
  // Ticks are due at five past, and the user's energy was full at 11:05.
  await waitFor(() => expect(screen.getByRole('timer').textContent).toMatch(/^\+1 in (5:00|4:5\d)$/))
  await act(async () => vi.advanceTimersByTimeAsync(4 * 60_000))
  const before = server.count('/users/ada/points/energy')
  answerEnergy('2026-11-23T12:05:00.000Z', 1, 3)
  await act(async () => vi.advanceTimersByTimeAsync(66_000))
  expect(server.count('/users/ada/points/energy')).toBe(before + 1)
  expect(screen.getByRole('meter').getAttribute('aria-valuetext')).toBe('3 of 5')
  expect(screen.getByRole('timer').textContent).toMatch(/^\+1 in (1:00:00|59:5\d)$/)
})

test('answers of Laurel are drawn without a warning of React', async () => {
  const complain = vi.spyOn(console, 'error').mockReturnValue()
  const Page = () => (
    <>
      <PointsCounter {...usePoints('xp')} />
      <LevelProgress {...useLevel('xp')} />
      <AchievementGrid {...useAchievements()} />
      <StreakCounter {...useStreak()} />
      <StreakCalendar {...useStreak()} />
      <Leaderboard {...useLeaderboard('weekly-xp')} />
    </>
  )
  render(<Page />, { wrapper: Wrapper })
  await screen.findByText('First')
  await screen.findByText('bob')
  expect(complain.mock.calls).toEqual([])
})
