import { renderToString } from 'react-dom/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  LaurelProvider,
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
import { board, row, streak } from './answers.ts'
import { FakeServer } from './fake-server.ts'
import { Gallery } from './pages.tsx'

test('every component renders on a server, without window and document', () => {
  expect(typeof window).toBe('undefined')
  const html = renderToString(<Gallery />)
  expect(html).toContain('day streak')
  expect(html).toContain('Grace Hopper')
  expect(html).toContain('aria-busy="true"')
})

test('hooks need neither the time nor a random number on a server, because Next.js renders pages in advance', () => {
  const first = { ...board, rankings: [row('ada', 1, 9)] }
  const Hooks = () => {
    useUser()
    usePoints('xp')
    useLevel('xp')
    useEnergy('lives')
    useAchievements()
    useLeaderboardGroups('weekly-teams')
    useSendEvent()
    const { data } = useStreak({ initialData: { ...streak, frequency: 'daily' } })
    return `${data?.length} days, ${useLeaderboard('weekly-xp', { live: true, initialData: first }).data?.name}`
  }
  const { client } = new FakeServer()
  const sources = [
    vi.spyOn(Date, 'now'),
    vi.spyOn(Math, 'random'),
    vi.spyOn(crypto, 'randomUUID'),
    vi.spyOn(crypto, 'getRandomValues'),
  ]
  onTestFinished(() => void vi.restoreAllMocks())
  const html = renderToString(
    <LaurelProvider client={client} userId="ada">
      <Hooks />
    </LaurelProvider>,
  )
  expect(html).toBe(`${streak.length} days, ${board.name}`)
  for (const source of sources) expect(source).not.toHaveBeenCalled()
})
