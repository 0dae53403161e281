import * as z from 'zod'
import { at } from '../helpers/worker/harness'
import { finalAt, type OracleRun, runsUpTo, utcDate } from '../oracle/calendar.oracle'
import {
  type ChangeInput,
  type OracleBoard,
  type Ranked,
  ranking,
  type Wanted,
} from '../oracle/leaderboards.oracle'
import type { Stored } from './log'
import { TEAMS } from './plan'
import type { Story } from './play'
import type { World } from './world'

/** L3–L6, L8, L12, L13: the served rankings are equal to a recount of the log. */

const HOUR = 3_600_000
const Keys = z.array(z.object({ key: z.string() }))
const Rankings = z.array(z.object({ userId: z.string(), rank: z.number(), value: z.number() }))

type Shown = { board: OracleBoard; max: number; wanteds: readonly Wanted[] }

function boardsOf({ began }: World, isSmall: boolean): Shown[] {
  const whole = {
    ...{ start: utcDate(began), end: null, unit: null, interval: 1, from: null, to: null },
    ...{ breakdown: [], filters: [] },
  }
  const daily = { ...whole, unit: 'day' as const }
  const window = { from: '20:00', to: '12:00', breakdown: ['team'] }
  return [
    { board: { ...daily, key: 'daily', of: 'steps' }, max: isSmall ? 10 : 1_000, wanteds: [[]] },
    { board: { ...daily, key: 'xp', of: 'xp' }, max: 1_000, wanteds: [[]] },
    { board: { ...whole, key: 'later', of: 'words' }, max: 1_000, wanteds: [[]] },
    { board: { ...whole, key: 'reds', of: 'words', filters: [['team', 'red']] }, max: 1_000, wanteds: [[]] },
    {
      board: { ...whole, ...window, key: 'teams', of: 'words' },
      max: 1_000,
      wanteds: TEAMS.map((team) => [['team', team]] as const),
    },
  ]
}

/** The log in the oracle's form: the users' attributes first, then the changes, in order. */
function happenings(
  { ids, began }: World,
  { users, events, awards }: Stored,
  shown: readonly Shown[],
): ChangeInput[] {
  const metrics = new Map(['steps', 'words'].map((key) => [ids[key] ?? '', key]))
  const team = ids.team ?? ''
  const first: ChangeInput[] = [
    ...shown.map(({ board: { key: board }, max }): ChangeInput => {
      return { at: began, kind: 'board', board, status: 'active', max }
    }),
    ...users.map((user): ChangeInput => {
      const value = user.attributes[team]
      const attributes = value === undefined ? {} : { team: value }
      return { at: began, kind: 'profile', user: user.id, attributes, tz: undefined }
    }),
  ]
  const rest: ChangeInput[] = users.flatMap((user) => [
    ...(events.get(user.iid) ?? []).map(
      (event): ChangeInput => ({
        ...{ at: event.at, kind: 'change', user: user.id, of: metrics.get(event.metric_id) ?? '' },
        ...{ millionths: BigInt(event.value), offset: event.utc_offset },
      }),
    ),
    ...(awards.get(user.iid) ?? []).map(
      (award): ChangeInput => ({
        ...{ at: award.at, kind: 'change', user: user.id, of: award.system_id === ids.xp ? 'xp' : 'gems' },
        ...{ millionths: BigInt(award.awarded) * 1_000_000n, offset: award.utc_offset },
      }),
    ),
  ])
  return [...first, ...rest.sort((a, b) => a.at - b.at)]
}

/** The keys of leaderboards that are not hidden. */
async function keysOf({ client }: World): Promise<Set<string>> {
  const body = await client.sure('GET', '/v1/leaderboards')
  return new Set(Keys.parse(body).map(({ key }) => key))
}

/**
 * The differences between the served leaderboards and the log, for each open leaderboard, run by run and
 * group by group.
 */
export async function rankingsAre(
  world: World,
  { done }: Story,
  now: number,
  stored: Stored,
  isSmall: boolean,
): Promise<string[]> {
  const isThere = await keysOf(world)
  const shown = boardsOf(world, isSmall).filter(({ board }) => isThere.has(board.key))
  const broken: string[] = isThere.has('daily') && isThere.has('streak') ? [] : ['leaderboards are missing']
  const log = happenings(world, stored, shown)
  const erased = done.filter((one) => one.do === 'erase').length
  for (const { board, max, wanteds } of shown) {
    for (const run of runsUpTo(board, utcDate(now + 14 * HOUR))) {
      for (const wanted of wanteds) {
        const served = await read(world, board, run, max, wanted)
        const expected = ranking(board, run, { log, now }, wanted)
        const final = finalAt(run)
        const isFinal = final !== null && final <= now
        const what = `${board.key} of ${run.start} ${wanted.map(([, value]) => value).join()}`
        broken.push(...compared(what, served, expected, isFinal ? erased : 0))
      }
    }
  }
  return broken
}

/** The served ranking. Null if there is no such run. */
async function read(
  { client }: World,
  { key, unit }: OracleBoard,
  { start }: OracleRun,
  max: number,
  wanted: Wanted,
): Promise<Ranked[] | null> {
  const query = new URLSearchParams({ limit: String(max), ...(unit !== null && { run: start }) })
  if (wanted.length > 0) query.set('userAttributes', wanted.map((pair) => pair.join(':')).join(','))
  const path = `/v1/leaderboards/${key}?${query}`
  const { status, body } = await client.once(null, { method: 'GET', path })
  if (status === 404) return null
  return Rankings.parse(at(body, 'rankings'))
}

/**
 * In a final run, the entries of up to `erased` users who were erased may be missing. The other users keep
 * their ranks (U8).
 */
function compared(what: string, served: Ranked[] | null, expected: Ranked[], erased: number): string[] {
  if (served === null) return expected.length === 0 ? [] : [`${what}: is missing`]
  const told = (list: readonly Ranked[]) =>
    list.map(({ userId, rank, value }) => `${erased > 0 ? '' : rank} ${userId} ${value}`)
  const [has, should] = [told(served), told(expected)]
  if (erased > 0 && should.length - has.length <= erased && should.length >= has.length)
    should.length = has.length
  const index = should.findIndex((one, n) => one !== has[n])
  if (index < 0 && has.length === should.length) return []
  const shows = (list: readonly string[]) => JSON.stringify(list.slice(Math.max(0, index), index + 3))
  return [
    `${what}: at ${index} of ${should.length} (${has.length} are served) is ${shows(has)}, not ${shows(should)}`,
  ]
}
