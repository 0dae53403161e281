import * as z from 'zod'
import { type ChangeInput, type OracleSettings, StreakReplay } from '../oracle/streaks.oracle'
import { at } from '../worker/harness'
import type { Stored, UserRow } from './log'
import type { Plan } from './plan'
import type { Done, Story } from './play'
import type { World } from './world'

/** S2–S8, S10, S11, P2: streaks are what a recount of each user's life gives, and so is what their triggers have awarded. */

/** How many users are asked for one by one, with what they were in the days before. */
const ASKED = 60
const PERIODS = 6

/** What happened at a moment comes in this order: what arrived while the clock moved there, what was done to users, what they did. */
const ARRIVED = 0
const TREATED = 1
const ACTED = 2

type Placed = { happening: ChangeInput; order: readonly [at: number, place: number, seq: number] }

/** What is stored and served of streaks, and is not what the users have done. Who was treated without an answer is left out. */
export async function streaksAre(
  world: World,
  plan: Plan,
  story: Story,
  now: number,
  stored: Stored,
): Promise<string[]> {
  const settings: OracleSettings = {
    ...{ enabled: true, frequency: 'daily', metrics: [], mode: 'OR', personalisation: false },
    freezes: plan.freezes,
  }
  const bySender = new Map(story.told.map(({ sent }) => [sent.mark, sent]))
  const switches = story.done.filter((one) => one.do === 'streaks')
  const broken: string[] = []
  const lengths = new Map<string, number>()
  let asked = 0
  for (const user of stored.users) {
    // In the order in which they were done, the tenant's switches among them.
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
      // What is stored at a later moment than it was sent at, such as a batch, was stored while the clock moved there.
      const isEarly = event.at !== story.moments[sent.step]
      const inRow = theirs.findIndex((one) => one.do === 'event' && one.mark === sent.mark)
      placed.push({
        happening: { at: event.at, do: 'event', metric: event.metric_id, value: event.value },
        order: inRow === -1 ? [event.at, isEarly ? ARRIVED : ACTED, event.seq] : [event.at, TREATED, inRow],
      })
    }
    placed.sort(({ order: a }, { order: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    const born = Math.min(first, ...theirs.filter((one) => one.at === user.created).map(({ step }) => step))
    const enabled = switches.findLast(({ at }) => at < user.created)?.enabled ?? true
    const replay = new StreakReplay({ ...settings, enabled })
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
    // One that its user has switched off goes on, and is not shown.
    if (length !== expected.length && replay.isOn)
      broken.push(`${user.id}: the streak is ${length}, and not ${expected.length}`)
    broken.push(...rewardsAre(world, user, stored, { firings: replay.firings(LOYAL), isLoyal }))
    asked += 1
    if (asked <= ASKED) broken.push(...(await shown(world, user, replay, now)))
  }
  return [...broken, ...(await boardIs(world, lengths))]
}

/** The length by which the trigger and the achievement go. */
const LOYAL = 2

/** P2, A3: a streak trigger has fired for each length that was reached, once, and the achievement is there if it was. */
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
    ...(points === 20 * firings
      ? []
      : [`${user.id}: ${points} points by the streak, and not ${20 * firings}`]),
    ...(has === isLoyal ? [] : [`${user.id}: loyal is ${isLoyal ? 'missing' : 'too much'}`]),
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
      return { at: one.at, do: one.do }
    case 'zone':
      return { at: one.at, do: 'zone', zone: one.tz }
    case 'switch':
      return { at: one.at, do: 'preferences', enabled: one.enabled }
    case 'streaks':
      return { at: one.at, do: 'settings', settings: { ...settings, enabled: one.enabled } }
    case 'event':
    case 'unclear':
    case 'erase':
      return null
  }
}

const Shown = z.object({
  length: z.number(),
  freezes: z.number().optional(),
  streakHistory: z.array(z.object({ periodStart: z.string(), length: z.number() })),
})

/** What is served of one user, with the days before. */
async function shown(
  { client }: World,
  { id }: UserRow,
  replay: StreakReplay,
  now: number,
): Promise<string[]> {
  const body = await client.sure('GET', `/v1/users/${id}/streak?historyPeriods=${PERIODS}`)
  const { length, freezes, streakHistory } = Shown.parse(body)
  const has = { length, freezes, days: streakHistory.map((one) => `${one.periodStart} ${one.length}`) }
  const oracle = replay.at(now)
  const should = {
    length: oracle.length,
    freezes: oracle.freezes ?? undefined,
    days: replay.history(now, PERIODS).map((one) => `${one.start} ${one.length}`),
  }
  const [told, wanted] = [JSON.stringify(has), JSON.stringify(should)]
  return told === wanted ? [] : [`${id}: the streak is told as ${told}, and is ${wanted}`]
}

/** The leaderboard by streaks has those who have one, longest first. */
async function boardIs({ client }: World, lengths: ReadonlyMap<string, number>): Promise<string[]> {
  const body = await client.sure('GET', '/v1/leaderboards/streak?limit=1000')
  const served = z.array(z.object({ userId: z.string(), value: z.number() })).parse(at(body, 'rankings'))
  const broken = served.flatMap(({ userId, value }, index) => {
    const length = lengths.get(userId) ?? value
    const before = served[index - 1]?.value ?? value
    return length === value && value <= before
      ? []
      : [`streak board: ${userId} with ${value}, and not ${length}`]
  })
  const living = [...lengths].filter(([, length]) => length > 0)
  const ranked = new Set(served.map(({ userId }) => userId))
  if (served.length < 1_000) {
    for (const [user] of living) if (!ranked.has(user)) broken.push(`streak board: ${user} is missing`)
  }
  return broken
}
