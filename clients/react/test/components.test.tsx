// @vitest-environment happy-dom
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import {
  board,
  boardOutside,
  boardUnranked,
  changes,
  energySome,
  levelMiddle,
  levelTop,
} from '../gallery/data.ts'
import type { GroupData, Labels } from '../src/index.ts'
import {
  AchievementGrid,
  AwardToast,
  Energy,
  LaurelSettings,
  Leaderboard,
  LevelProgress,
  PointsCounter,
} from '../src/index.ts'
import { Announcer, GroupPicker } from '../src/parts/index.ts'
import { Gallery } from './pages.tsx'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  cleanup()
  vi.useRealTimers()
})

const pass = (milliseconds: number) => act(() => vi.advanceTimersByTimeAsync(milliseconds))

test('a toast closes by itself, but not under the pointer or the focus', async () => {
  const onDismiss = vi.fn()
  const { container, rerender } = render(<AwardToast changes={changes} toastId={1} onDismiss={onDismiss} />)
  const toast = container.firstElementChild ?? document.body
  await pass(7999)
  fireEvent.pointerEnter(toast)
  await pass(60_000)
  expect(onDismiss).not.toHaveBeenCalled()
  fireEvent.pointerLeave(toast)
  await pass(7999)
  fireEvent.focus(screen.getByRole('button'))
  await pass(60_000)
  expect(onDismiss).not.toHaveBeenCalled()
  fireEvent.blur(screen.getByRole('button'))
  await pass(8000)
  expect(onDismiss).toHaveBeenCalledOnce()
  // A new toast has its whole time again.
  rerender(<AwardToast changes={changes} toastId={2} onDismiss={onDismiss} />)
  await pass(7999)
  expect(onDismiss).toHaveBeenCalledOnce()
  await pass(1)
  expect(onDismiss).toHaveBeenCalledTimes(2)
})

test.each([25 * 86_400_000, Number.POSITIVE_INFINITY])('a toast can stay for %d ms', async (duration) => {
  const onDismiss = vi.fn()
  render(<AwardToast changes={changes} duration={duration} onDismiss={onDismiss} />)
  await pass(24 * 86_400_000)
  expect(onDismiss).not.toHaveBeenCalled()
  await pass(86_400_000)
  expect(onDismiss).toHaveBeenCalledTimes(Number.isFinite(duration) ? 1 : 0)
})

test('a toast shows gains only, the most remarkable one first', () => {
  const loss = { type: 'points', key: 'energy', name: 'Energy', added: -1, total: 4 } as const
  render(<AwardToast changes={[loss, ...changes]} onDismiss={() => {}} />)
  const lines = screen.getAllByRole('listitem').map(({ textContent }) => textContent)
  expect(lines).toEqual(['New level: Gold', '12 day streak', '+50 XP', 'Rank 3 in Weekly XP'])
})

test('the region of a toast is there before the toast, so that screen readers announce it', () => {
  render(<AwardToast changes={[]} onDismiss={() => {}} />)
  expect(screen.getByRole('status').textContent).toBe('')
  expect(screen.queryByRole('button')).toBeNull()
})

test('an announcer says changes, but not the first text, and not more often than its interval', async () => {
  const said = () => screen.getByRole('status').textContent
  const { rerender } = render(<Announcer text={undefined} />)
  const say = async (text: string) => {
    rerender(<Announcer text={text} />)
    await pass(100)
  }
  await say('rank 9')
  expect(said()).toBe('')
  await say('rank 8')
  expect(said()).toBe('rank 8')
  await say('rank 7')
  await say('rank 6')
  expect(said()).toBe('rank 8')
  await pass(10_000)
  expect(said()).toBe('rank 6')
})

test('a live leaderboard announces the own rank, and no other', async () => {
  const { rerender } = render(<Leaderboard data={board} isLive />)
  const said = () => screen.getByRole('status').textContent
  const [first, second, third, ...rest] = board.rankings
  if (first === undefined || second === undefined || third === undefined)
    throw new Error('Three rows are needed.')
  rerender(
    <Leaderboard
      data={{ ...board, rankings: [{ ...second, rank: 1 }, { ...first, rank: 2 }, third, ...rest] }}
      isLive
    />,
  )
  await pass(20_000)
  expect(said()).toBe('')
  const own = { ...third, rank: 1, value: 3000 }
  rerender(
    <Leaderboard
      data={{ ...board, rankings: [own, { ...first, rank: 2 }, { ...second, rank: 3 }, ...rest] }}
      isLive
    />,
  )
  await pass(20_000)
  expect(said()).toBe('You are now on rank 1 with 3,000.')
})

test('a leaderboard is a table with a name, and the own row is the current one', () => {
  render(<Leaderboard data={boardOutside} />)
  const table = screen.getByRole('table', { name: 'Weekly XP' })
  expect([...table.querySelectorAll('thead th')].map(({ textContent }) => textContent)).toEqual([
    'Rank',
    'Name',
    'XP',
  ])
  const current = table.querySelector('[aria-current="true"]')
  expect(current?.textContent).toContain('Katherine Johnson')
  expect(current?.closest('tbody')?.dataset.pinned).toBe('')
  expect(screen.getByRole('rowheader', { name: /^user_01HZX/ })).toBeDefined()
})

test('an app can draw the names of a leaderboard, such as links to profiles', () => {
  const [first] = board.rankings
  if (first === undefined) throw new Error('One row is needed.')
  render(
    <Leaderboard data={board} renderName={({ userId }, name) => <a href={`/users/${userId}`}>{name}</a>} />,
  )
  const link = screen.getByRole('link', { name: first.userName ?? first.userId })
  expect(link.getAttribute('href')).toBe(`/users/${first.userId}`)
  expect(screen.getAllByRole('link')).toHaveLength(board.rankings.length)
})

test('a leaderboard scrolls in a height of pixels, or in a CSS length', () => {
  for (const [maxHeight, shown] of [
    [420, '420px'],
    ['50vh', '50vh'],
  ] as const) {
    const { unmount } = render(<Leaderboard data={board} maxHeight={maxHeight} />)
    expect(screen.getByRole('region').style.maxBlockSize).toBe(shown)
    unmount()
  }
})

test('a leaderboard shows the pictures of users that the app knows', () => {
  const avatar = (userId: string) => (userId === 'alan' ? 'data:image/png,alan' : undefined)
  // The DOM of the tests loads no pictures.
  vi.spyOn(HTMLImageElement.prototype, 'complete', 'get').mockReturnValue(false)
  onTestFinished(() => void vi.restoreAllMocks())
  const { container } = render(
    <LaurelSettings avatar={avatar}>
      <Leaderboard data={board} />
    </LaurelSettings>,
  )
  const pictureOf = (user: string) =>
    container.querySelector(`[data-user="${user}"] img`)?.getAttribute('src') ?? null
  expect(pictureOf('alan')).toBe('data:image/png,alan')
  expect(pictureOf('ada')).toBeNull()
  // A picture in the data counts more.
  expect(pictureOf('grace')).toMatch(/^data:/)
})

test.each([
  [0, '0%'],
  [0.01, '<\u00a01%'],
  [0.99, '<\u00a01%'],
  [12.5, '13%'],
  [91.4, '91%'],
  [99.9, '99%'],
  [100, '100%'],
])('[A5] a rarity of %d per cent is shown as %s', (rarity, shown) => {
  render(<AchievementGrid data={[{ id: 'a', name: 'First', achievedAt: null, rarity }]} />)
  expect(screen.getByText(/of users/).textContent).toBe(`${shown} of users`)
})

test.each([4, 0])('[L6] the own group is marked, with room for %d buttons', (mostButtons) => {
  const groups = [
    { group: [{ key: 'team', value: 'Owls' }], users: 3, isOwn: true },
    { group: [{ key: 'team', value: 'Foxes' }], users: 12 },
  ]
  render(<GroupPicker groups={groups} value={groups[1]} onChange={() => {}} mostButtons={mostButtons} />)
  const role = mostButtons === 0 ? 'option' : 'radio'
  const [own, other] = screen.getAllByRole(role).map((one) => (one.closest('label') ?? one).textContent)
  expect(own).toMatch(/^Owls.*3.*your group$/)
  expect(other).not.toContain('your group')
})

test('a user who is not ranked has a row too', () => {
  render(<Leaderboard data={{ ...boardUnranked, rankings: [] }} />)
  expect(screen.getByText('Nobody is ranked yet.')).toBeDefined()
  expect(screen.getByRole('row', { name: /You.*Not ranked yet/ })).toBeDefined()
})

test('[P9] a level is a progress bar with its value as text', () => {
  const { rerender } = render(<LevelProgress data={levelMiddle} />)
  const bar = screen.getByRole('progressbar', { name: 'Level: Silver' })
  expect(bar.getAttribute('aria-valuetext')).toBe('1,840 of 2,500 XP. 660 XP to Gold')
  expect(['min', 'now', 'max'].map((name) => bar.getAttribute(`aria-value${name}`))).toEqual([
    '1000',
    '1840',
    '2500',
  ])
  rerender(<LevelProgress data={levelTop} />)
  expect(screen.getByRole('progressbar').getAttribute('aria-valuetext')).toBe('Highest level reached')
})

test('energy counts down to the next gain, without announcing it', async () => {
  vi.setSystemTime('2026-11-23T12:00:00Z')
  render(<Energy data={energySome} />)
  expect(screen.getByRole('meter', { name: 'Energy' }).getAttribute('aria-valuetext')).toBe('2 of 5')
  const timer = screen.getByRole('timer')
  expect(timer.textContent).toBe('+1 in 12:34')
  expect(timer.getAttribute('aria-live')).toBe('off')
  await pass(5000)
  expect(timer.textContent).toBe('+1 in 12:29')
})

test('screen readers get a new total at once, while the number counts up', async () => {
  const { container, rerender } = render(<PointsCounter data={{ name: 'XP', total: 100 }} />)
  rerender(<PointsCounter data={{ name: 'XP', total: 150 }} />)
  const [shown, spoken] = container.querySelectorAll('strong > span')
  expect(spoken?.textContent).toBe('150')
  expect(shown?.textContent).toBe('100')
  expect(container.querySelector('.laurel-gain')?.textContent).toBe('+50')
  await pass(1000)
  expect(shown?.textContent).toBe('150')
})

test('a total that has just been loaded does not count up, and is no gain', () => {
  const { container, rerender } = render(<PointsCounter isLoading />)
  rerender(<PointsCounter data={{ name: 'Points', total: 5000 }} />)
  expect(container.querySelector('strong > span')?.textContent).toBe('5,000')
  expect(container.querySelector('.laurel-gain')).toBeNull()
})

test('[P9] a points system without levels has neither a level nor a full bar', () => {
  render(<LevelProgress data={{ name: 'XP', total: 50, levels: [] }} />)
  const bar = screen.getByRole('progressbar', { name: 'Level: No level yet' })
  expect(bar.getAttribute('aria-valuenow')).toBe('0')
  expect(bar.getAttribute('aria-valuetext')).toBe('50 XP')
  expect(screen.queryByText('Highest level reached')).toBeNull()
})

test('settings replace texts and numbers, and those inside of others change only the named ones', () => {
  const levelNext: Labels['levelNext'] = ({ level }, format) =>
    `noch ${format.number(1234)} bis ${level.name}`
  const page = (data: typeof levelTop) => (
    <LaurelSettings locale="de" labels={{ levelTop: 'Ganz oben', levelNext }}>
      <LaurelSettings labels={{ level: 'Stufe' }}>
        <LevelProgress data={data} />
      </LaurelSettings>
    </LaurelSettings>
  )
  const { rerender } = render(page(levelTop))
  expect(screen.getByRole('progressbar', { name: 'Stufe: Laurel' })).toBeDefined()
  expect(screen.getByText('Ganz oben')).toBeDefined()
  expect(screen.getByText('18.400')).toBeDefined()
  rerender(page(levelMiddle))
  expect(screen.getByText('noch 1.234 bis Gold')).toBeDefined()
})

test('with reduced motion a new total is shown at once', () => {
  const counter = (total: number) => (
    <LaurelSettings reducedMotion>
      <PointsCounter data={{ name: 'XP', total }} />
    </LaurelSettings>
  )
  const { container, rerender } = render(counter(100))
  rerender(counter(150))
  expect(container.querySelector('strong > span')?.textContent).toBe('150')
})

test('a failed component offers to try again', () => {
  const refetch = vi.fn()
  render(<PointsCounter error={new Error('No network.')} refetch={refetch} />)
  expect(screen.getByText('This could not be loaded.')).toBeDefined()
  fireEvent.click(screen.getByRole('button', { name: 'Try again' }))
  expect(refetch).toHaveBeenCalledOnce()
})

test('components need neither Intl.Segmenter nor matchMedia, nor events of it', () => {
  const shown = () => {
    render(<Gallery />)
    expect(screen.getAllByText('GH').length).toBeGreaterThan(0)
    cleanup()
  }
  onTestFinished(() => void vi.unstubAllGlobals())
  vi.stubGlobal('Intl', Object.create(Intl, { Segmenter: { value: undefined } }))
  vi.stubGlobal('matchMedia', undefined)
  shown()
  vi.stubGlobal('matchMedia', () => ({ matches: true }))
  shown()
})

test('a unit that is called like another column is a column of its own', () => {
  const complain = vi.spyOn(console, 'error').mockReturnValue()
  const { rerender } = render(<Leaderboard data={{ ...board, unit: 'Name' }} />)
  rerender(<Leaderboard data={{ ...board, unit: 'Rank' }} />)
  expect(screen.getAllByRole('columnheader').map(({ textContent }) => textContent)).toEqual([
    'Rank',
    'Name',
    'Rank',
  ])
  expect(complain.mock.calls).toEqual([])
})

test('the picker of groups keeps the focus while another group is loading', () => {
  const [owls, foxes] = ['Owls', 'Foxes'].map((value) => ({ group: [{ key: 'team', value }] }))
  const groups = [owls, foxes].filter((group) => group !== undefined)
  const of = (group: GroupData | undefined, isThere: boolean) => (
    <Leaderboard
      data={isThere ? board : undefined}
      dataKey={JSON.stringify(group)}
      groups={groups}
      group={group}
    />
  )
  const { rerender } = render(of(owls, true))
  const radio = screen.getByRole('radio', { name: /Foxes/ })
  radio.focus()
  rerender(of(foxes, false))
  expect(document.activeElement).toBe(radio)
  expect(radio.closest('[aria-hidden]')).toBeNull()
  rerender(of(foxes, true))
  expect(document.activeElement).toBe(radio)
  expect(radio.matches(':checked')).toBe(true)
})
