import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { runs, worldRuns } from '../helpers/runs'
import { at, newApp, newTenant, type TestTenant } from '../helpers/worker/harness'
import { clear, configure, perform, read } from '../helpers/worker/leaderboards.world'
import { holds, localAt, offsetAt, plusDays, runNear, runsUpTo, utcDate } from '../oracle/calendar.oracle'
import { exampleWorlds } from '../oracle/leaderboards.examples'
import {
  attributesOf,
  matches,
  ranking,
  rankingOn,
  type View,
  type Wanted,
} from '../oracle/leaderboards.oracle'
import { type Action, Play, type World, type WorldBoard } from '../oracle/leaderboards.play'
import { worldsOf } from '../oracle/leaderboards.worlds'
import { added, groupsOf, history, placeOf, readingsOf } from '../oracle/places.oracle'

/** A look is about ten requests, so that `npm test` takes one after every second step, the last one too. */
const EACH = runs(2, 1)

/** Counts of comparisons, so that a property that compares nothing is noticed. */
const seen = { readings: 0, ranked: 0, final: 0, hidden: 0, places: 0, days: 0, responses: 0, moved: 0 }

const earlier = (a: string, b: string) => (a < b ? a : b)
const isHidden = (status: string) => status === 'inactive' || status === 'scheduled'

/** Compares a leaderboard's newest runs with the oracle. */
async function agrees(tenant: TestTenant, play: Play, board: WorldBoard, newest: number): Promise<void> {
  const status = play.statusOf(board)
  const view = play.view()
  const max = play.maxOf(board)
  if (isHidden(status)) {
    const page = await read(tenant, board, { wanted: groupsOf(board, view)[0] ?? [] })
    expect([board.key, status, page.status]).toEqual([board.key, status, 404])
    seen.hidden += 1
    return
  }
  for (const { date, wanted } of readingsOf(board, view, newest)) {
    const expected = rankingOn(board, date, view, wanted)
    const found: unknown[] = []
    for (let offset = 0; ; offset += max) {
      const page = await read(tenant, board, { run: date, wanted, offset, limit: max })
      expect([board.key, date, page.status, page.board]).toEqual([board.key, date, 200, status])
      found.push(...page.rankings)
      if (page.rankings.length < max) break
    }
    expect({ board: board.key, date, wanted, rankings: found }).toEqual({
      ...{ board: board.key, date, wanted },
      rankings: expected,
    })
    seen.readings += 1
    seen.ranked += found.length
    if (status === 'finished') seen.final += 1
  }
}

/** Compares pages of the present run, and one user's rank (L2, L9, L10). */
async function looks(tenant: TestTenant, play: Play, board: WorldBoard, look: number): Promise<void> {
  if (isHidden(play.statusOf(board))) return
  const view = play.view()
  const today = utcDate(view.now)
  const group = groupsOf(board, view)
  const wanted = group[look % Math.max(group.length, 1)] ?? board.breakdown.map((key) => [key, 'x'] as const)
  const all = ranking(board, runNear(board, earlier(today, play.lastDateOf(board))), view, wanted)
  const max = play.maxOf(board)
  const [offset, limit] = [look % 3, Math.min(look % 5, max)]
  const plain = await read(tenant, board, { wanted })
  expect(plain.rankings).toEqual(all.slice(0, Math.min(10, max)))
  expect((await read(tenant, board, { wanted, offset, limit })).rankings).toEqual(
    all.slice(offset, offset + limit),
  )
  const { id } = play.userAt(look)
  const place = all.findIndex(({ userId }) => userId === id)
  for (const shift of [offset, -offset]) {
    const from = await read(tenant, board, { wanted, userId: id, offset: shift, limit: max })
    const first = Math.max(0, place + shift)
    expect([id, shift, from.rankings]).toEqual([id, shift, place < 0 ? [] : all.slice(first, first + max)])
  }
  // Rarely, since they do not depend on the events.
  if (look % 8 === 0) await errorStatuses(tenant, board, wanted, max)
  await placed(tenant, play, board, id, look)
}

/**
 * Checks errors: a page that is too long, dates outside all runs, and groups that are missing or unknown (L2,
 * L6, L9).
 */
async function errorStatuses(
  tenant: TestTenant,
  board: WorldBoard,
  wanted: Wanted,
  max: number,
): Promise<void> {
  const status = async (query: Parameters<typeof read>[2]) => (await read(tenant, board, query)).status
  expect(await status({ wanted, limit: max + 1 })).toBe(422)
  expect(await status({ wanted: wanted.length === 0 ? [['team', 'red']] : [] })).toBe(422)
  expect(await status({ wanted, run: plusDays(board.start, -1) })).toBe(404)
  if (board.end !== null) expect(await status({ wanted, run: plusDays(board.end, 1) })).toBe(404)
}

/** Compares a user's rank in the present run, and in an earlier one, with the oracle (L10). */
async function placed(tenant: TestTenant, play: Play, board: WorldBoard, id: string, look: number) {
  const zone = play.ledger.zoneOf(id)
  if (zone === undefined) return
  const view = play.view()
  const date = localAt(view.now, offsetAt(zone, view.now)).date
  const runs = runsUpTo(board, date).slice(-3)
  const chosen = runs[look % Math.max(runs.length, 1)]
  const events = [100, 1, 100, 0][look % 4] ?? 0
  for (const run of [null, ...(chosen === undefined ? [] : [chosen])]) {
    const query = `numEvents=${events}${run === null ? '' : `&run=${run.start}`}`
    const { status, body } = await tenant.app(
      'GET',
      `/users/${encodeURIComponent(id)}/leaderboards/${board.key}?${query}`,
    )
    const of = run ?? runNear(board, earlier(date, play.lastDateOf(board)))
    const { rank, value } = placeOf(board, of, view, id)
    expect([board.key, of, id, status, body]).toMatchObject([board.key, of, id, 200, { rank, value }])
    seen.places += 1
    // The history has no data of days on which the board was not active.
    if (!wasAlwaysOn(board, view)) continue
    const days = history(board, of, view, id, events)
    expect([board.key, of, id, at(body, 'history')]).toEqual([board.key, of, id, days])
    seen.days += days.length
  }
}

const wasAlwaysOn = ({ key }: WorldBoard, { log }: View) =>
  log.every((one) => one.kind !== 'board' || one.board !== key || one.status !== 'inactive')

/**
 * L11, L13: the response to an event lists the leaderboards whose score it changed and on which the user
 * takes part, with the ranks before and after.
 */
function responses(play: Play, user: string, before: View, body: unknown): void {
  const view = play.view()
  const own = view.log
    .slice(before.log.length)
    .find((one) => one.kind === 'change' && one.user === user && one.at === view.now)
  if (own?.kind !== 'change') throw new Error('an event that is not in the log')
  const { date } = localAt(own.at, own.offset)
  const attributes = attributesOf(view.log).get(user) ?? {}
  const expected = play.world.boards.flatMap((board) => {
    const run = runsUpTo(board, date).at(-1)
    if (run === undefined || !holds(run, date) || play.statusOf(board) !== 'active') return []
    if (added(board, run, view, user, before.log.length) === 0n) return []
    if (!matches(attributes, board.filters)) return []
    const { rank, threshold } = placeOf(board, run, view, user)
    const { rank: previousRank } = placeOf(board, run, before, user)
    if (rank !== previousRank) seen.moved += 1
    const values = board.breakdown.flatMap((key) =>
      attributes[key] === undefined ? [] : [{ key, value: attributes[key] }],
    )
    return [[board.key, { rank, previousRank, threshold, values, start: run.start, end: run.end }]] as const
  })
  const listed = at(body, 'leaderboards')
  const found = Object.keys(Object(listed)).map((key) => {
    const one = at(listed, key)
    const values = at(one, 'breakdownAttributeValues') ?? []
    const of = (name: string) => at(one, name)
    const [rank, previousRank, threshold] = [of('rank'), of('previousRank'), of('threshold')]
    return [key, { rank, previousRank, threshold, values, start: of('start'), end: of('end') }] as const
  })
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
  seen.responses += expected.length
}

/** Plays a world, and compares the service with the oracle after each of its steps. */
async function holdsThrough(world: World): Promise<void> {
  const play = new Play(world)
  const { tenant, ids } = await configure(play)
  const other = tenant.through(newApp())
  try {
    for (const [nth, step] of world.steps.entries()) {
      const before: View = { log: [...play.view().log], now: play.view().now }
      const action: Action | null = play.step(step)
      if (action === null) continue
      const [answer, ...others] = await perform([tenant, other], ids, action)
      if (action.do === 'events' && answer?.status === 201 && others.length === 0) {
        responses(play, action.events[0]?.user ?? '', before, answer.body)
      }
      const looked = play.boardAt(step.look)
      const here = step.look % 2 === 0 ? tenant : other
      for (const board of action.do === 'clock' ? world.boards : []) await agrees(here, play, board, 2)
      if (looked === undefined) continue
      if (action.do !== 'clock') await agrees(here, play, looked, 2)
      if ((world.steps.length - 1 - nth) % EACH === 0) await looks(here, play, looked, step.look)
    }
    for (const board of world.boards) await agrees(tenant, play, board, 6)
  } finally {
    await clear(tenant, ids)
  }
}

afterEach(async () => {
  await (await newTenant()).clock('DELETE')
})

/** A leap year. Every world begins in it. */
const year = 2028

// In order, because the last test looks at what the others have compared.
describe('examples', { shuffle: false }, () => {
  it.each(Object.entries(exampleWorlds(year)))('%s', (_rule, world) => holdsThrough(world))

  it('[L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11] together cover every kind of comparison', () => {
    const { hidden: _, ...shown } = seen
    expect(Math.min(...Object.values(shown)), JSON.stringify(seen)).toBeGreaterThan(0)
  })
})

/** The random worlds that are played beside the examples. */
const WORLDS = worldRuns(runs(0, 2))

if (WORLDS.numRuns > 0)
  it('[L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11, L13, P4] leaderboards always equal a recount of the log', async () => {
    await fc.assert(fc.asyncProperty(worldsOf(year), holdsThrough), WORLDS)
  }, 3_600_000)
