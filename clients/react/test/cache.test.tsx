// @vitest-environment happy-dom
/** Reads that hooks share: when data is read, read again, kept and forgotten. */
import { act, cleanup, render, renderHook, screen, waitFor } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { useLevel, usePoints, useStreak } from '../src/index.ts'
import { points, serverOfAda, streak } from './answers.ts'
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

test('hooks with the same data share one request, in strict mode too', async () => {
  const both = hook(() => [usePoints('xp'), usePoints('xp'), useLevel('xp')] as const)
  await waitFor(() => expect(both.current[2].data?.remaining).toBe(20))
  expect(both.current[0].data?.total).toBe(100)
  expect(server.count('/points/xp')).toBe(1)
  expect(server.count('/levels')).toBe(1)
})

test('an error is shown, and refetch reads again', async () => {
  server.answers.set('GET users/ada/streak', 404)
  const result = hook(() => useStreak())
  await waitFor(() => expect(result.current.error?.message).toContain('It failed.'))
  expect(result.current).toMatchObject({ data: undefined, isLoading: false })
  server.answers.set('GET users/ada/streak', streak)
  act(() => result.current.refetch())
  await waitFor(() => expect(result.current.data?.length).toBe(3))
  expect(result.current.error).toBeNull()
})

test('data that fails later stays, with the error beside it', async () => {
  const result = hook(() => usePoints('xp'))
  await waitFor(() => expect(result.current.data?.total).toBe(100))
  server.answers.set('GET users/ada/points/xp', 500)
  act(() => result.current.refetch())
  await waitFor(() => expect(result.current.error).not.toBeNull())
  expect(result.current.data?.total).toBe(100)
})

test('old data is read again when the page gets the focus', async () => {
  const now = Date.UTC(2026, 10, 23, 12)
  vi.useFakeTimers({ toFake: ['Date'], now })
  const result = hook(() => usePoints('xp'))
  await waitFor(() => expect(result.current.data?.total).toBe(100))
  server.answers.set('GET users/ada/points/xp', points(110))
  const focus = () => act(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
  focus()
  expect(server.count('/points/xp')).toBe(1)
  vi.setSystemTime(now + 11_000)
  focus()
  await waitFor(() => expect(result.current.data?.total).toBe(110))
  // The clock was set back by a day.
  server.answers.set('GET users/ada/points/xp', points(120))
  vi.setSystemTime(now - 86_400_000)
  focus()
  await waitFor(() => expect(result.current.data?.total).toBe(120))
})

test('old data is read again when the browser is online again, or when a component shows it again', async () => {
  const now = Date.UTC(2026, 10, 23, 12)
  vi.useFakeTimers({ now, shouldAdvanceTime: true })
  const Total = () => <output>{usePoints('xp').data?.total}</output>
  const page = (isShown: boolean) => <Wrapper>{isShown && <Total />}</Wrapper>
  const { rerender } = render(page(true))
  const total = () => screen.getByRole('status').textContent
  await waitFor(() => expect(total()).toBe('100'))
  server.answers.set('GET users/ada/points/xp', points(110))
  vi.setSystemTime(now + 11_000)
  act(() => void window.dispatchEvent(new Event('online')))
  await waitFor(() => expect(total()).toBe('110'))
  server.answers.set('GET users/ada/points/xp', points(120))
  rerender(page(false))
  await act(() => vi.advanceTimersByTimeAsync(4 * 60_000))
  rerender(page(true))
  expect(total()).toBe('110')
  await waitFor(() => expect(total()).toBe('120'))
  rerender(page(false))
  await act(() => vi.advanceTimersByTimeAsync(6 * 60_000))
  rerender(page(true))
  expect(total()).toBe('')
  await waitFor(() => expect(total()).toBe('120'))
})

test('a read that no component waits for ends, and an error that nobody sees is forgotten', async () => {
  const drawn: unknown[] = []
  const Total = () => {
    const { data, error } = usePoints('xp')
    const text = error?.message ?? data?.total ?? 'loading'
    drawn.push(text)
    return <output>{text}</output>
  }
  const page = (isShown: boolean) => <Wrapper>{isShown && <Total />}</Wrapper>
  const release = server.holdReads()
  const { rerender } = render(page(true))
  await waitFor(() => expect(server.count('/points/xp')).toBe(1))
  rerender(page(false))
  await waitFor(() => expect(server.signals.map((signal) => signal?.aborted)).toEqual([true]))
  release()
  server.answers.set('GET users/ada/points/xp', 404)
  rerender(page(true))
  await screen.findByText(/It failed/)
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  rerender(page(false))
  vi.runOnlyPendingTimers()
  vi.useRealTimers()
  drawn.length = 0
  rerender(page(true))
  expect(new Set(drawn)).toEqual(new Set(['loading']))
})

test('of two reads, the answer to the newer one counts, in whichever order they arrive', async () => {
  const result = hook(() => usePoints('xp'))
  await waitFor(() => expect(result.current.data?.total).toBe(100))
  const release = server.holdReads()
  act(() => result.current.refetch())
  await waitFor(() => expect(server.count('/points/xp')).toBe(2))
  server.holdReads()()
  server.answers.set('GET users/ada/points/xp', points(110))
  act(() => result.current.refetch())
  await waitFor(() => expect(result.current.data?.total).toBe(110))
  await act(async () => release())
  expect(result.current.data?.total).toBe(110)
})
