// @vitest-environment happy-dom
import { act, waitFor } from '@testing-library/react'
import { hydrateRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { LaurelProvider, Leaderboard, PointsCounter, useLeaderboard } from '../src/index.ts'
import { board, row, serverOfAda } from './answers.ts'
import { Gallery } from './pages.tsx'

/** Renders as a server does, then hydrates. Answers all complaints of React. */
async function hydrate(page: React.ReactNode, meanwhile = () => {}): Promise<unknown[]> {
  const complaints: unknown[] = []
  vi.spyOn(console, 'error').mockImplementation((...args) => void complaints.push(args))
  const container = document.createElement('div')
  document.body.replaceChildren(container)
  container.innerHTML = renderToString(page)
  meanwhile()
  const root = await act(async () =>
    hydrateRoot(container, page, { onRecoverableError: (error) => void complaints.push(error) }),
  )
  onTestFinished(() => act(() => root.unmount()))
  return complaints
}

test('every component hydrates without a warning', async () => {
  expect(await hydrate(<Gallery />)).toEqual([])
})

test('[L14] the run of a leaderboard is that of the data, with another clock in the browser than on the server', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-29T23:59:59Z') })
  onTestFinished(() => void vi.useRealTimers())
  const server = serverOfAda()
  const run = { key: '2026-11-30', startsAt: '2026-11-30T00:00:00.000Z', endsAt: '2026-12-07T00:00:00.000Z' }
  server.answers.set('GET leaderboards/weekly-xp', { ...board, run, rankings: [row('ada', 1, 9)] })
  const initialData = { ...board, rankings: [row('ada', 1, 9)] }
  const Board = () => <Leaderboard {...useLeaderboard('weekly-xp', { initialData })} />
  const page = (
    <LaurelProvider client={server.client} userId="ada">
      <Board />
    </LaurelProvider>
  )
  const shown = () => document.querySelector('.laurel-head .laurel-detail')?.textContent
  const complaints = await hydrate(page, () => {
    expect(shown()).toBe('Nov 23 – 29')
    vi.setSystemTime(Date.parse('2026-11-30T23:59:59Z'))
  })
  expect(complaints).toEqual([])
  expect(shown()).toBe('Nov 23 – 29')
  await act(async () => {
    vi.setSystemTime(Date.parse('2026-12-01T23:59:59Z'))
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await waitFor(() => expect(shown()).toBe('Nov 30 – Dec 6'))
})

test.each(['https://pictures.test/a.png', '/broken.png', 'bro ken.png', '//pictures.test/ä.png'])(
  'a picture that failed before hydration is replaced: %s',
  async (src) => {
    // As browsers have them after a failure.
    vi.spyOn(HTMLImageElement.prototype, 'complete', 'get').mockReturnValue(true)
    vi.spyOn(HTMLImageElement.prototype, 'naturalWidth', 'get').mockReturnValue(0)
    vi.spyOn(HTMLImageElement.prototype, 'currentSrc', 'get').mockReturnValue('http://page.test/a')
    onTestFinished(() => void vi.restoreAllMocks())
    await hydrate(<PointsCounter data={{ name: 'XP', total: 1, badgeUrl: src }} />)
    expect(document.querySelector('img')).toBeNull()
    expect(document.querySelector('.laurel-emblem svg')).not.toBeNull()
  },
)
