// @vitest-environment happy-dom
import { act, screen, waitFor } from '@testing-library/react'
import { hydrateRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { LaurelProvider, Leaderboard, PointsCounter, useLeaderboard, usePoints } from '../src/index.ts'
import { board, row, serverOfAda } from './answers.ts'
import { FakeServer } from './fake-server.ts'
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

test('a hook hydrates as it was rendered, and reads afterwards', async () => {
  const server = new FakeServer()
  const Total = () => <PointsCounter {...usePoints('xp')} />
  const complaints = await hydrate(
    <LaurelProvider client={server.client} userId="ada">
      <Total />
    </LaurelProvider>,
  )
  expect(complaints).toEqual([])
  await waitFor(() => expect(server.count('/points/xp')).toBe(1))
  await screen.findByText('This could not be loaded.')
})

describe('the run of a leaderboard, with another clock in the browser than on the server', () => {
  const at = Date.parse('2026-11-08T23:59:59Z')
  const initialData = { ...board, rankings: [row('ada', 1, 9)] }

  test.each([
    ['is in the HTML if the app says when the data was read', at, 'Nov 2 – 8'],
    ['comes after hydration if the app does not', undefined, undefined],
  ])('%s', async (_, initialDataUpdatedAt, inHtml) => {
    vi.useFakeTimers({ toFake: ['Date'], now: at })
    onTestFinished(() => void vi.useRealTimers())
    const Board = () => (
      <Leaderboard {...useLeaderboard('weekly-xp', { initialData, initialDataUpdatedAt })} />
    )
    const page = (
      <LaurelProvider client={serverOfAda().client} userId="ada">
        <Board />
      </LaurelProvider>
    )
    const shown = () => document.querySelector('.laurel-head .laurel-detail')?.textContent
    const complaints = await hydrate(page, () => {
      expect(shown()).toBe(inHtml)
      vi.setSystemTime(at + 86_400_000)
    })
    expect(complaints).toEqual([])
    await waitFor(() => expect(shown()).toBe('Nov 9 – 15'))
  })
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
