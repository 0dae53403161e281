import * as z from 'zod'
import { at } from '../helpers/worker/harness'
import type { Stored, UserRow } from './log'
import { LEVELS, type World } from './world'

/** P9, P11: levels follow from the points of the system that has them. */

/** The number of users who are read one by one. */
const ASKED = 60

/** The highest level for these points, as the points that the level needs. Null if there is none. */
export const levelFor = (total: number): number | null => LEVELS.findLast((points) => points <= total) ?? null

const pointsOf = (user: UserRow, { ids }: World) => user.points[ids.xp ?? ''] ?? 0

const Level = z.object({ points: z.number() })
const Shown = z.object({ total: z.number(), level: Level.nullable() })
const Summary = z.array(z.object({ level: Level, users: z.number() }))

/** The served levels, of single users and in the summary. */
export async function levelsAre(world: World, { users }: Stored): Promise<string[]> {
  const { client } = world
  const broken: string[] = []
  for (const user of users.slice(0, ASKED)) {
    const { total, level } = Shown.parse(await client.sure('GET', `/v1/users/${user.id}/points/xp`))
    const should = levelFor(pointsOf(user, world))
    if (total !== pointsOf(user, world)) broken.push(`${user.id}: shown with ${total} points`)
    if ((level?.points ?? null) !== should)
      broken.push(`${user.id}: at level ${level?.points}, not ${should}`)
  }
  const counted = LEVELS.map((points) => [
    points,
    users.filter((user) => levelFor(pointsOf(user, world)) === points).length,
  ])
  const summary = Summary.parse(await client.sure('GET', '/v1/points/xp/level-summary'))
  const [told, wanted] = [summary.map(({ level, users: count }) => [level.points, count]), counted].map(
    (one) => JSON.stringify(one),
  )
  if (told !== wanted) broken.push(`the summary of levels is ${told}, but it should be ${wanted}`)
  return broken
}

/**
 * The level messages of a user are one climb from none to the current level, because no trigger takes points
 * of that system away.
 */
export function climbIs(world: World, user: UserRow, told: readonly unknown[]): string[] {
  const steps = told
    .filter((body) => at(body, 'points', 'key') === 'xp')
    .map((body) => [at(body, 'previousLevel', 'points') ?? null, at(body, 'newLevel', 'points') ?? null])
    .toSorted(([, one], [, two]) => Number(one) - Number(two))
  const last = steps.reduce<unknown>((level, [from, to]) => (from === level ? to : 'elsewhere'), null)
  const should = levelFor(pointsOf(user, world))
  return last === should ? [] : [`${user.id}: received levels ${JSON.stringify(steps)}, but is at ${should}`]
}
