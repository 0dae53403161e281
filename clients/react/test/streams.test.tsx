// @vitest-environment happy-dom
import type { LaurelOptions } from '@laurel/client/app'
import { act, cleanup, render, renderHook, waitFor } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LaurelProvider, useLeaderboard } from '../src/index.ts'
import { board, row, serverOfAda } from './answers.ts'
import type { FakeServer } from './fake-server.ts'

const NOW = Date.UTC(2026, 10, 23, 12)

let server: FakeServer

afterEach(() => {
  cleanup()
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const Wrapper = ({ children }: { children: ReactNode }) => (
  <LaurelProvider client={server.client} userId="ada">
    {children}
  </LaurelProvider>
)

/** The client connects again after the first end, and then waits. */
const waiting = () => {
  const sleep = vi.fn(() => new Promise<void>(() => {})).mockResolvedValueOnce()
  return { apiKey: () => 'app_key', runtime: { sleep } }
}

describe.each<[string, () => Partial<LaurelOptions>]>([
  ['with a key', () => ({})],
  ['with a function, before the client tries again', waiting],
])('[Y1] a stream that ended with 401, after a new sign-in, %s', (_, options) => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW })
    server = serverOfAda(options())
  })

  let tries = 0
  const use = () => useLeaderboard('weekly-xp', { live: true })
  const ranking = (version: number, value: number) => ({
    version,
    run: '2026-11-23',
    status: 'active',
    rankings: [row('ada', 1, value)],
  })

  /** A board whose stream has ended, and a server that takes the user again. */
  async function ended(result = renderHook(use, { wrapper: Wrapper }).result) {
    await waitFor(() => expect(server.openStreams).toBe(1))
    act(() => server.send('ranking', ranking(1, 95)))
    await waitFor(() => expect(result.current.isLive).toBe(true))
    server.streamFailure = 401
    act(() => server.endStreams())
    await waitFor(() => expect(result.current.isLive).toBe(false))
    tries = server.count('/live')
    server.streamFailure = undefined
    return result
  }

  async function isBack(result: { current: ReturnType<typeof use> }) {
    await waitFor(() => expect(server.openStreams).toBe(1))
    act(() => server.send('ranking', ranking(2, 97)))
    await waitFor(() =>
      expect(result.current).toMatchObject({ isLive: true, data: { rankings: [{ value: 97 }] } }),
    )
    expect(server.count('/live')).toBe(tries + 1)
  }

  test('comes back by refetch, and shows what was read until then', async () => {
    const result = await ended()
    vi.setSystemTime(NOW + 1000)
    server.answers.set('GET leaderboards/weekly-xp', { ...board, rankings: [row('ada', 1, 96)] })
    act(() => result.current.refetch())
    await waitFor(() => expect(result.current.data?.rankings[0]?.value).toBe(96))
    await isBack(result)
  })

  test('comes back by focus', async () => {
    const result = await ended()
    for (const state of ['hidden', 'visible'] as const) {
      vi.spyOn(document, 'visibilityState', 'get').mockReturnValue(state)
      act(() => document.dispatchEvent(new Event('visibilitychange')))
    }
    await isBack(result)
  })

  test('comes back by a new component', async () => {
    let isSecond = false
    let latest: ReturnType<typeof use> | undefined
    const First = () => {
      latest = use()
      return null
    }
    const Second = () => {
      use()
      return null
    }
    const content = () => (
      <Wrapper>
        <First />
        {isSecond && <Second />}
      </Wrapper>
    )
    const { rerender } = render(content())
    const result = await ended({
      get current() {
        if (latest === undefined) throw new Error('The hook was not called.')
        return latest
      },
    })
    isSecond = true
    rerender(content())
    await isBack(result)
  })
})
