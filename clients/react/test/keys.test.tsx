// @vitest-environment happy-dom
/** Nothing that was read or given for one user, board, group or client is shown for another. */
import { act, cleanup, render, screen, waitFor } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  AwardToast,
  LaurelProvider,
  Leaderboard,
  PointsCounter,
  StreakCalendar,
  StreakCounter,
  useAchievements,
  useEnergy,
  useLaurel,
  useLeaderboard,
  useLeaderboardGroups,
  useLevel,
  usePoints,
  useSendEvent,
  useStreak,
  useUser,
} from '../src/index.ts'
import { board, points, row, serverOfAda, streak } from './answers.ts'
import type { FakeServer } from './fake-server.ts'

/** The time of these tests, if they set it. */
const NOW = Date.UTC(2026, 10, 23, 12)

let server: FakeServer

beforeEach(() => {
  server = serverOfAda()
  server.answers.set('GET users/bob/points/xp', points(5))
  server.answers.set('GET users/bob/streak', { ...streak, length: 9 })
  server.answers.set('GET users/bob', { id: 'bob', name: 'Bob', attributes: { team: 'foxes' } })
})

afterEach(() => {
  cleanup()
  vi.useRealTimers()
})

interface Around {
  userId?: string | null
  from?: FakeServer
}

/** A page of a user, and functions that give it to another user or client. */
function pageOf(Content: () => ReactNode, first: Around = {}) {
  const around = ({ userId = 'ada', from = server }: Around) => (
    <LaurelProvider client={from.client} userId={userId}>
      <Content />
    </LaurelProvider>
  )
  const { rerender, container } = render(around(first))
  return { container, change: (next: Around) => rerender(around(next)) }
}

/** Draws a component with a hook. `current` is the last result. `change` draws it again with other options. */
function hookOf<Options, Result>(use: (options: Options) => Result, options: Options, first: Around = {}) {
  let latest: Result | undefined
  let given = options
  const Page = () => {
    latest = use(given)
    return null
  }
  const shown = pageOf(Page, first)
  return {
    get current(): Result {
      if (latest === undefined) throw new Error('The hook was not called.')
      return latest
    },
    change: (next: Around & { options?: Options }) => {
      if (next.options !== undefined) given = next.options
      shown.change(next)
    },
  }
}

describe('data that a server has read', () => {
  test.each<[string, () => Around & { options?: string }, total: number]>([
    ['user', () => ({ userId: 'bob' }), 5],
    ['key', () => ({ options: 'gems' }), 3],
    ['client', () => ({ from: serverOfAda() }), 100],
  ])('is not shown for another %s', async (_, next, total) => {
    server.answers.set('GET users/ada/points/gems', points(3))
    const result = hookOf((key) => usePoints(key, { initialData: points(7) }), 'xp')
    expect(result.current.data?.total).toBe(7)
    result.change(next())
    expect(result.current).toMatchObject({ data: undefined, isLoading: true })
    await waitFor(() => expect(result.current.data?.total).toBe(total))
  })

  test('is not shown for another group, nor while no group is chosen', async () => {
    const group = (team: string) => ({ group: [{ key: 'team', value: team }] })
    const initialData = { ...board, rankings: [row('eve', 1, 9)] }
    const result = hookOf(
      (team: string | null) => {
        return useLeaderboard('weekly-xp', { group: team === null ? null : group(team), initialData })
      },
      'owls' as string | null,
    )
    const names = () => result.current.data?.rankings.map(({ userId }) => userId)
    expect(names()).toEqual(['eve'])
    result.change({ options: null })
    expect(names()).toBeUndefined()
    result.change({ options: 'foxes' })
    expect(names()).toBeUndefined()
    await waitFor(() => expect(names()).toEqual(['bob', 'ada']))
  })

  test('is read again at once if the app says that it is old', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW })
    const options = { initialData: points(7), initialDataUpdatedAt: NOW - 60_000 }
    const result = hookOf(() => usePoints('xp', options), undefined)
    expect(result.current).toMatchObject({ data: { total: 7 }, isLoading: false })
    await waitFor(() => expect(result.current.data?.total).toBe(100))
  })

  test('is as old as its first show if it is shown again after the cache has forgotten it', async () => {
    vi.useFakeTimers({ now: NOW, shouldAdvanceTime: true })
    const options = { initialData: points(7) }
    const result = hookOf(() => usePoints('xp', options), undefined)
    result.change({ userId: 'bob' })
    await act(() => vi.advanceTimersByTimeAsync(6 * 60_000))
    expect(server.count('users/ada/points/xp')).toBe(0)
    result.change({})
    expect(result.current.data?.total).toBe(7)
    await waitFor(() => expect(result.current.data?.total).toBe(100))
  })

  test('is there if another hook asks for the same data without it', () => {
    const result = hookOf(
      () => [useLevel('xp'), usePoints('xp', { initialData: points(7) })] as const,
      undefined,
    )
    expect(result.current[1].data?.total).toBe(7)
  })
})

describe('another client in the provider', () => {
  test('mounted hooks read from the new client, and show nothing of the old one', async () => {
    const other = serverOfAda()
    other.answers.set('GET users/ada/points/xp', points(1))
    const result = hookOf(() => ({ points: usePoints('xp'), client: useLaurel() }), undefined)
    await waitFor(() => expect(result.current.points.data?.total).toBe(100))
    result.change({ from: other })
    expect(result.current).toMatchObject({
      points: { data: undefined, isLoading: true },
      client: other.client,
    })
    await waitFor(() => expect(result.current.points.data?.total).toBe(1))
    act(() => result.current.points.refetch())
    await waitFor(() => expect(other.count('/points/xp')).toBe(2))
    expect(server.count('/points/xp')).toBe(1)
  })

  test('a live board follows the new client', async () => {
    const other = serverOfAda()
    const result = hookOf(() => useLeaderboard('weekly-xp', { live: true }), undefined)
    await waitFor(() => expect(server.openStreams).toBe(1))
    const ranking = { version: 1, run: '2026-11-23', status: 'active', rankings: [row('ada', 1, 99)] }
    act(() => server.send('ranking', ranking))
    await waitFor(() => expect(result.current.isLive).toBe(true))
    result.change({ from: other })
    expect(result.current).toMatchObject({ data: undefined, isLive: false })
    await waitFor(() => expect([server.openStreams, other.openStreams]).toEqual([0, 1]))
  })
})

describe('the next user', () => {
  test('does not see the toast, the error or the sending of the one before', async () => {
    let event: ReturnType<typeof useSendEvent> | undefined
    const Page = () => {
      event = useSendEvent()
      return <AwardToast {...event} />
    }
    const { change } = pageOf(Page)
    await act(async () => event?.send('lessons', { value: 1 }))
    expect(screen.getByRole('status').textContent).toContain('Gold')
    change({ userId: 'bob' })
    expect(screen.getByRole('status').textContent).toBe('')
    expect(event).toMatchObject({ changes: [], toastId: undefined, error: null, isSending: false })
  })

  /** A session that gives each user a token of their own, and a page with points and a live board. */
  function sessionPage() {
    const session = { user: 'ada', tokens: 0 }
    const apiKey = () => {
      session.tokens += 1
      return `token-of-${session.user}`
    }
    server = serverOfAda({ apiKey })
    server.answers.set('GET users/bob/points/xp', points(5))
    const Page = () => {
      useLeaderboard('weekly-xp', { live: true })
      return <output>{usePoints('xp').data?.total}</output>
    }
    return { session, Page }
  }

  test('sends nothing with the token of the one before, and the same user needs no new one', async () => {
    const { session, Page } = sessionPage()
    const { change } = pageOf(Page)
    await screen.findByText('100')
    await waitFor(() => expect(server.openStreams).toBe(1))
    change({})
    expect(session.tokens).toBe(1)
    const before = server.requests.length
    session.user = 'bob'
    change({ userId: 'bob' })
    await screen.findByText('5')
    await waitFor(() => expect(server.openStreams).toBe(1))
    expect(server.keys.slice(before).length).toBeGreaterThan(3)
    expect(new Set(server.keys.slice(before))).toEqual(new Set(['token-of-bob']))
    expect(session.tokens).toBe(2)
  })

  test('sends nothing with the token of the one before, also if a page without a provider was in between', async () => {
    const { session, Page } = sessionPage()
    for (const userId of ['ada', 'ada', 'bob']) {
      session.user = userId
      const before = server.requests.length
      pageOf(Page, { userId })
      await screen.findByText(userId === 'ada' ? '100' : '5')
      await waitFor(() => expect(server.openStreams).toBe(1))
      // Such as that of the sign-in.
      cleanup()
      await waitFor(() => expect(server.openStreams).toBe(0))
      expect(server.keys.slice(before).length).toBeGreaterThan(3)
      expect(new Set(server.keys.slice(before))).toEqual(new Set([`token-of-${userId}`]))
    }
    // The same user needs no new one.
    expect(session.tokens).toBe(2)
  })

  test('gets nothing of an event of the one before that is answered late', async () => {
    let event: ReturnType<typeof useSendEvent> | undefined
    const Page = () => {
      event = useSendEvent()
      return <output>{usePoints('xp').data?.total}</output>
    }
    const { change } = pageOf(Page)
    await screen.findByText('100')
    let sent: Promise<unknown> = Promise.resolve()
    act(() => {
      sent = event?.send('lessons', { value: 1 }) ?? sent
    })
    expect(event?.isSending).toBe(true)
    change({ userId: 'bob' })
    expect(event?.isSending).toBe(false)
    await screen.findByText('5')
    await act(async () => void (await sent))
    expect(event).toMatchObject({ changes: [], isSending: false })
    expect(screen.getByRole('status').textContent).toBe('5')
    change({})
    expect(screen.getByRole('status').textContent).toBe('150')
  })

  test('has own numbers at once, which do not count up from those of the one before', async () => {
    const Page = () => (
      <>
        <PointsCounter {...usePoints('xp')} id="points" />
        <StreakCounter {...useStreak()} id="streak" />
        <StreakCalendar {...useStreak()} />
      </>
    )
    // Both users are in the cache, so that one follows the other without a moment of loading.
    const { change, container } = pageOf(Page, { userId: 'bob' })
    const shown = (id: string) => container.querySelector(`#${id} strong > span`)?.textContent
    await waitFor(() => expect([shown('points'), shown('streak')]).toEqual(['5', '9']))
    change({})
    await waitFor(() => expect([shown('points'), shown('streak')]).toEqual(['100', '3']))
    change({ userId: 'bob' })
    expect([shown('points'), shown('streak')]).toEqual(['5', '9'])
    expect(container.querySelector('.laurel-gain')).toBeNull()
  })

  test('hears no rank that is new only because the user is another', async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true })
    server.answers.set('GET users/bob/leaderboards/weekly-xp', { ...board, rank: 1, value: 90, history: [] })
    const Page = () => <Leaderboard {...useLeaderboard('weekly-xp')} />
    const { change, container } = pageOf(Page, { userId: 'bob' })
    const own = () => container.querySelector('[data-own]')?.getAttribute('data-user')
    for (const userId of ['bob', 'ada', 'bob']) {
      change({ userId })
      await waitFor(() => expect(own()).toBe(userId))
    }
    await act(() => vi.advanceTimersByTimeAsync(20_000))
    expect(screen.getByRole('status').textContent).toBe('')
  })

  test('is not in a group before the own group is known', async () => {
    server.answers.set('GET leaderboards/weekly-xp', { ...board, rankings: [row('eve', 1, 90)] })
    server.answers.set('GET users/ada', 404)
    const group = { group: [{ key: 'team', value: 'foxes' }] }
    const result = hookOf(() => useLeaderboard('weekly-xp', { group }), undefined)
    await waitFor(() => expect(result.current.data?.rankings).toHaveLength(1))
    expect(result.current.data?.own).toBeUndefined()
  })
})

describe('not yet', () => {
  const hooks = (key: string | null) => ({
    points: usePoints(key),
    level: useLevel(key),
    energy: useEnergy(key),
    board: useLeaderboard(key, { live: true }),
    groups: useLeaderboardGroups(key),
  })
  const ofUser = () => ({ user: useUser(), streak: useStreak(), achievements: useAchievements() })

  test.each([null, ''])('a hook with the key %j waits, and reads as soon as it has one', async (none) => {
    const result = hookOf(hooks, none)
    await act(async () => {
      for (const { refetch } of Object.values(result.current)) refetch()
    })
    const waiting = { data: undefined, error: null, isLoading: false }
    expect(Object.values(result.current)).toMatchObject([waiting, waiting, waiting, waiting, waiting])
    expect(server.requests.filter((request) => !request.endsWith('/users/ada'))).toEqual([])
    result.change({ options: 'weekly-xp' })
    await waitFor(() => expect(result.current.board.data?.name).toBe('Weekly XP'))
    expect(server.openStreams).toBe(1)
  })

  test.each([null, ''])(
    'a provider with the user %j waits, and reads as soon as it has one',
    async (none) => {
      const result = hookOf(() => ({ ...hooks('xp'), ...ofUser(), event: useSendEvent() }), undefined, {
        userId: none,
      })
      await act(async () => {
        await expect(result.current.event.send('lessons', { value: 1 })).rejects.toThrow('userId')
      })
      expect(server.requests).toEqual([])
      result.change({})
      await waitFor(() => expect(result.current.user.data?.name).toBe('Ada'))
    },
  )

  test.each(['.', '..', '\ud800'])(
    'a key that no path can have (%j) is an error of the hook',
    async (key) => {
      const result = hookOf(hooks, key)
      await waitFor(() => expect(result.current.board.error).toBeInstanceOf(TypeError))
      await waitFor(() => expect(result.current.points.error).toBeInstanceOf(TypeError))
    },
  )
})
