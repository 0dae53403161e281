import * as z from 'zod'
import { at } from '../helpers/worker/harness'
import { type ChangeInput, DAILY, type OracleSettings, StreakReplay } from '../oracle/streaks.oracle'
import type { Stored, UserRow } from './log'
import type { Plan } from './plan'
import type { Done, Story } from './play'
import type { World } from './world'

/**
 * S2–S8, S10–S13, P2: streaks, and the awards of their triggers, are equal to a recount of each user's
 * inputs.
 */

/** The number of users who are read one by one, and of the periods that are compared. */
const ASKED = 60
const PERIODS = 6

/**
 * The order of inputs at the same moment: events that arrived while the clock moved there, then changes by
 * admins, then the user's own actions.
 */
const ARRIVED = 0
const TREATED = 1
const ACTED = 2

type Placed = { happening: ChangeInput; order: readonly [at: number, place: number, seq: number] }

/**
 * The differences between the stored and served streaks and the users' inputs. Users with an admin change of
 * unknown outcome are left out.
 */
export async function streaksAre(
  world: World,
  plan: Plan,
  story: Story,
  now: number,
  stored: Stored,
): Promise<string[]> {
  const settings: OracleSettings = { ...DAILY, customizationEnabled: true, freezes: plan.freezes }
  const bySender = new Map(story.told.map(({ sent }) => [sent.mark, sent]))
  const switches = story.done.filter((one) => one.do === 'streaks')
  const broken: string[] = []
  const lengths = new Map<string, number>()
  let asked = 0
  for (const user of stored.users) {
    // In order, including the tenant's switches.
    const done = story.done.filter((one) => one.user === user.id || one.user === null)
    const since = done.findLast((one) => one.do === 'erase')?.step ?? -1
    const theirs = done.filter(({ step }) => step > since)
    if (theirs.some((one) => one.do === 'unclear')) continue
    const zoneAt = (step: number) =>
      done.findLast((one): one is Done & { do: 'profile' } => one.do === 'profile' && one.step <= step)?.tz ??
      plan.zones.get(user.id) ??
      'UTC'
    const placed: Placed[] = [
      ...placedDeeds(theirs, settings).filter(({ order: [at] }) => at >= user.created),
    ]
    let first = Number.POSITIVE_INFINITY
    for (const event of stored.events.get(user.iid) ?? []) {
      const sent = bySender.get(event.attributes?.[world.ids.mark ?? ''] ?? '')
      if (sent === undefined) continue
      if (event.at === user.created) first = Math.min(first, sent.step)
      // An event that is stored at a later moment than it was sent, such as one of a batch, was stored while
      // the clock moved there.
      const isEarly = event.at !== story.moments[sent.step]
      const inRow = theirs.findIndex((one) => one.do === 'event' && one.mark === sent.mark)
      placed.push({
        happening: { at: event.at, do: 'event', metric: event.metric_id, value: event.value },
        order: inRow === -1 ? [event.at, isEarly ? ARRIVED : ACTED, event.seq] : [event.at, TREATED, inRow],
      })
    }
    placed.sort(({ order: a }, { order: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    const born = Math.min(first, ...theirs.filter((one) => one.at === user.created).map(({ step }) => step))
    const { enabled = true, daysOff = [] } = switches.findLast(({ at }) => at < user.created) ?? {}
    const replay = new StreakReplay({ ...settings, enabled, daysOff })
    const zone = zoneAt(
      Number.isFinite(born) ? born : story.moments.findLastIndex((at) => at <= user.created),
    )
    replay.take({ at: user.created, do: 'create', zone })
    let isLoyal = false
    for (const { happening } of placed) {
      replay.take(happening)
      if (happening.do === 'event' && replay.at(happening.at).length >= LOYAL) isLoyal = true
    }
    const expected = replay.at(now)
    lengths.set(user.id, expected.length)
    const length = user.streak?.run?.length ?? 0
    // A streak that its user has switched off continues, but is not shown.
    if (length !== expected.length && replay.isOn)
      broken.push(`${user.id}: the streak is ${length}, not ${expected.length}`)
    broken.push(...rewardsAre(world, user, stored, { firings: replay.firings(LOYAL), isLoyal }))
    asked += 1
    if (asked <= ASKED) broken.push(...(await shown(world, user, replay, now)))
  }
  return [...broken, ...(await boardIs(world, lengths))]
}

/** The streak length of the trigger and of the achievement. */
const LOYAL = 2

/**
 * P2, A3: a streak trigger fired once for each reached length. The achievement is completed if the length was
 * reached.
 */
function rewardsAre(
  { ids }: World,
  user: UserRow,
  { awards }: Stored,
  { firings, isLoyal }: { firings: number; isLoyal: boolean },
): string[] {
  const own = (awards.get(user.iid) ?? []).filter(({ trigger_id }) => trigger_id === ids['xp loyal'])
  const points = own.reduce((sum, { awarded }) => sum + awarded, 0)
  const has = user.achievements.some(([id]) => id === ids.loyal)
  return [
    ...(points === 20 * firings ? [] : [`${user.id}: ${points} points by the streak, not ${20 * firings}`]),
    ...(has === isLoyal ? [] : [`${user.id}: the achievement loyal is ${isLoyal ? 'missing' : 'too much'}`]),
  ]
}

function placedDeeds(done: readonly Done[], settings: OracleSettings): Placed[] {
  return done.flatMap((one, index): Placed[] => {
    const happening = happeningOf(one, index, settings)
    return happening === null ? [] : [{ happening, order: [one.at, TREATED, index] }]
  })
}

function happeningOf(one: Done, index: number, settings: OracleSettings): ChangeInput | null {
  switch (one.do) {
    case 'profile':
      return { at: one.at, do: 'zone', zone: one.tz }
    case 'pause':
      return { at: one.at, do: 'pause', id: `${index}`, start: one.start, end: one.end }
    case 'freeze':
    case 'restore':
    case 'reset':
      return { at: one.at, do: one.do }
    case 'days off':
      return { at: one.at, do: 'preferences', daysOff: one.daysOff }
    case 'zone':
      return { at: one.at, do: 'zone', zone: one.tz }
    case 'switch':
      return { at: one.at, do: 'preferences', enabled: one.enabled }
    case 'streaks':
      return {
        at: one.at,
        do: 'settings',
        settings: { ...settings, enabled: one.enabled, daysOff: one.daysOff },
      }
    case 'event':
    case 'unclear':
    case 'erase':
      return null
  }
}

const Shown = z.object({
  length: z.number(),
  freezes: z.number().optional(),
  streakHistory: z.array(
    z.object({
      ...{ periodStart: z.string(), length: z.number(), usedPause: z.boolean() },
      ...{ dayOff: z.boolean().default(false), resetAt: z.string().nullable().default(null) },
    }),
  ),
})

const spelled = (start: string, one: Omit<z.output<typeof Shown>['streakHistory'][number], 'periodStart'>) =>
  [start, one.length, one.usedPause, one.dayOff, one.resetAt].join(' ')

/** The served streak of a user, with its last periods. */
async function shown(
  { client }: World,
  { id }: UserRow,
  replay: StreakReplay,
  now: number,
): Promise<string[]> {
  const body = await client.sure('GET', `/v1/users/${id}/streak?historyPeriods=${PERIODS}`)
  const { length, freezes, streakHistory } = Shown.parse(body)
  const has = {
    length,
    freezes,
    days: streakHistory.map(({ periodStart, ...one }) => spelled(periodStart, one)),
  }
  const oracle = replay.at(now)
  const should = {
    length: oracle.length,
    freezes: oracle.freezes ?? undefined,
    days: replay
      .history(now, PERIODS)
      .map(({ resetAt, ...one }) =>
        spelled(one.start, { ...one, resetAt: resetAt === null ? null : new Date(resetAt).toISOString() }),
      ),
  }
  const [told, wanted] = [JSON.stringify(has), JSON.stringify(should)]
  return told === wanted ? [] : [`${id}: the streak in messages is ${told}, but should be ${wanted}`]
}

/** The streak ranking has all users with a streak, longest first. */
async function boardIs({ client }: World, lengths: ReadonlyMap<string, number>): Promise<string[]> {
  const body = await client.sure('GET', '/v1/leaderboards/streak?limit=1000')
  const served = z.array(z.object({ userId: z.string(), value: z.number() })).parse(at(body, 'rankings'))
  const broken = served.flatMap(({ userId, value }, index) => {
    const length = lengths.get(userId) ?? value
    const before = served[index - 1]?.value ?? value
    return length === value && value <= before ? [] : [`streak board: ${userId} with ${value}, not ${length}`]
  })
  const living = [...lengths].filter(([, length]) => length > 0)
  const ranked = new Set(served.map(({ userId }) => userId))
  if (served.length < 1_000) {
    for (const [user] of living) if (!ranked.has(user)) broken.push(`streak board: ${user} is missing`)
  }
  return broken
}
