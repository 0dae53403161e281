// @vitest-environment happy-dom
import { act, waitFor } from '@testing-library/react'
import { Suspense } from 'react'
import { hydrateRoot } from 'react-dom/client'
import { renderToString } from 'react-dom/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  LaurelProvider,
  Leaderboard,
  LevelProgress,
  PointsCounter,
  useLeaderboard,
  usePoints,
} from '../src/index.ts'
import { board, points, row, serverOfAda } from './answers.ts'
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

const first = { initialData: points(90), initialDataUpdatedAt: 0 }
const Read = () => usePoints('xp').data?.total ?? 'loading'
const Given = () => usePoints('xp', first).data?.total ?? 'loading'
const ranked = { ...board, rankings: [row('ada', 1, 9)] }
const Live = () =>
  useLeaderboard('weekly-xp', { live: true, initialData: ranked }).data?.rankings.map(({ userId }) => userId)

test.each([
  ['data that was read meanwhile', Read, Read, '100'],
  ['data that is newer than that of the server', Given, Given, '100'],
  ['data that only it has from the server', Read, Given, '100'],
  ['a live ranking', Live, Live, 'bobada'],
])('a part of the page that hydrates later does so without a warning: %s', async (_, Early, Late, shown) => {
  const server = serverOfAda()
  let load: (() => void) | undefined
  let code: Promise<void> | undefined
  // Its code is loaded on the server, and later in the browser.
  const Loading = () => {
    if (code !== undefined) throw code
    return <Late />
  }
  const page = (
    <LaurelProvider client={server.client} userId="ada">
      <p>
        <Early />
      </p>
      <Suspense fallback="">
        <b>
          <Loading />
        </b>
      </Suspense>
    </LaurelProvider>
  )
  const complaints = await hydrate(page, () => {
    code = new Promise((resolve) => {
      load = resolve
    })
  })
  const rankings = [row('bob', 1, 10), row('ada', 2, 9)]
  await act(async () => server.send('ranking', { version: 1, run: board.run.key, rankings }))
  await waitFor(() => expect(document.querySelector('p')?.textContent).toBe(shown))
  await act(async () => {
    code = undefined
    load?.()
  })
  await waitFor(() => expect(document.querySelector('b')?.textContent).toBe(shown))
  expect(complaints).toEqual([])
})

test('a leaderboard has its height, and a bar its length, though the page forbids styles in its HTML', async () => {
  const board = <Leaderboard data={{ name: 'XP', rankings: [row('ada', 1, 9)] }} maxHeight={420} />
  const level = { name: 'XP', total: 5, levels: [{ key: 'a', name: 'A', points: 10 }] }
  const page = (
    <>
      {board}
      <LevelProgress data={level} />
    </>
  )
  await hydrate(page, () => {
    for (const styled of document.querySelectorAll<HTMLElement>('[style]')) styled.style.cssText = ''
  })
  const styleOf = (selector: string) => document.querySelector<HTMLElement>(selector)?.style
  expect(styleOf('.laurel-scroll')?.getPropertyValue('max-block-size')).toBe('420px')
  expect(styleOf('.laurel-bar')?.getPropertyValue('--laurel-ratio')).toBe('0.5')
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
