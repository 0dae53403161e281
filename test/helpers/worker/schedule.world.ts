import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { expect } from 'vitest'
import { type Frequency, localAt, offsetIn, plusDays } from '../../oracle/calendar.oracle'
import { type OracleReason, reasonsOf, type UserAction } from '../../oracle/schedule.oracle'
import { DAILY, StreakReplay } from '../../oracle/streaks.oracle'
import { often } from '../arbitraries'
import { START } from '../time'
import { DAY, forgetTime, HOUR, moveTo } from './boards'
import { at, newTenant } from './harness'
import { toldOf } from './received'
import { Hook } from './receiver'

/* Lives of two users and all their scheduled notifications, against an oracle that reads their clocks (N2). */

const DUE = ['emails.recap_due', 'emails.reactivation_due', 'emails.streak_reminder_due']
const ZONES = [
  ...[null, 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Kiritimati', 'Europe/Berlin', 'Pacific/Honolulu'],
  'Australia/Lord_Howe',
]
const USERS = ['ada', 'bob']
/** Before changes of clocks, the ends of months, and a leap day. */
const BEGINNINGS = [
  ...['2028-02-24T11:07:00Z', '2028-03-22T19:59:59.999Z', '2028-10-23T09:00:00Z', '2028-12-20T00:00:00Z'],
]

const VALUES = { event: 1, 'event of value 0': 0, 'event of value -1': -1 }
type Deed = keyof typeof VALUES | 'zone' | 'void' | 'pause' | 'streak off' | 'streak on'
type Step = {
  /** Hours from the hour of the step before, and minutes after that hour. */
  after: number
  minutes: number
  user: number
  does: Deed
  zone: string | null
  days: [number, number]
}
export type ScheduleWorld = {
  begins: string
  recap: 'weekly' | 'monthly' | 'none'
  streak: Frequency
  /** The zone of each user. */
  zones: [string | null, string | null]
  steps: Step[]
  /** The hours from the last step to the end. */
  ends?: number
}

const zone = fc.constantFrom(...ZONES)
export const worlds: fc.Arbitrary<ScheduleWorld> = fc.record({
  begins: fc.constantFrom(...BEGINNINGS),
  recap: fc.constantFrom(...(['weekly', 'monthly', 'none'] as const)),
  streak: fc.constantFrom(...(['daily', 'weekly', 'monthly'] as const)),
  zones: fc.tuple(zone, zone),
  steps: fc.array(
    fc.record({
      // Hours until the next step: often a daily habit, sometimes a long absence.
      after: fc.oneof(often(6, fc.integer({ min: 1, max: 30 })), fc.integer({ min: 31, max: 400 })),
      minutes: fc.constantFrom(0, 0, 15, 59),
      user: fc.constantFrom(0, 1),
      does: fc.oneof(
        often(6, fc.constant('event' as const)),
        often(7, fc.constant('zone' as const)),
        often(2, fc.constant('void' as const)),
        often(4, fc.constantFrom(...(['event of value 0', 'pause', 'streak off', 'streak on'] as const))),
      ),
      zone,
      days: fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 12 })),
    }),
    { minLength: 3, maxLength: 14 },
  ),
})
const STEP = { minutes: 0 as const, zone: 'Australia/Lord_Howe', days: [1, 5] satisfies [number, number] }

/**
 * An event of value 0, and a pause on the third day after it. Another user's streak is off at the hour of the
 * reminder. Then the user moves to a zone that is new to the tenant. In that zone, the hour is over.
 */
export const CHOSEN: ScheduleWorld = {
  begins: '2028-06-21T00:00:00Z',
  recap: 'weekly',
  streak: 'daily',
  zones: [null, 'Pacific/Kiritimati'],
  steps: [
    { ...STEP, after: 9, user: 0, does: 'event of value 0' },
    { ...STEP, after: 1, user: 0, does: 'pause' },
    { ...STEP, after: 1, user: 1, does: 'event' },
    { ...STEP, after: 23, user: 1, does: 'streak off' },
    { ...STEP, after: 21, user: 1, does: 'streak on' },
    { ...STEP, after: 2, minutes: 59, user: 1, does: 'zone' },
  ],
}

const DEEDS = ['event', 'event of value 0', 'event of value -1', 'void', 'streak off', 'streak on'] as const

/**
 * Two users in UTC with daily streaks and no recaps, if nothing else is said. A step is such as `24:30 ada to UTC`:
 * after 24 hours, 30 minutes after the hour.
 */
const lived =
  (given: Partial<ScheduleWorld> & { ends: number }) =>
  ([life = '']: TemplateStringsArray): ScheduleWorld => ({
    ...{ begins: '2026-06-17T12:00:00Z', recap: 'none', streak: 'daily', zones: [null, null], ...given },
    steps: life.split(';').map((text): Step => {
      const [, after, minutes, user, deed = ''] = /^(\d+):(\d\d) (ada|bob) (.+)$/.exec(text.trim()) ?? []
      const does = deed.startsWith('to ') ? 'zone' : DEEDS.find((one) => one === deed)
      if (does === undefined) throw new Error(`not a step: ${text}`)
      const when = { after: Number(after), minutes: Number(minutes), user: user === 'ada' ? 0 : 1 }
      return { ...when, does, zone: does === 'zone' ? deed.slice(3) : null, days: [0, 0] }
    }),
  })

// Zones without changes of clocks.
const [LIMA, LAGOS, TOKYO] = ['America/Lima', 'Africa/Lagos', 'Asia/Tokyo']
const [HONOLULU, KIRITIMATI] = ['Pacific/Honolulu', 'Pacific/Kiritimati']
const SUNDAY = '2026-06-21T12:00:00Z'
/** Lives for cases of N2. Comments have the hours of ada's clock before and after a journey. */
export const EXAMPLES: Record<string, ScheduleWorld> = {
  '[S11] a user who comes back to a day is reminded of it, unless a later day has counted': lived({
    ends: 12,
  })`
    0:01 ada event; 0:02 bob event; 24:00 ada to Pacific/Kiritimati; 0:01 bob to Pacific/Kiritimati;
    0:02 bob event; 0:03 ada to UTC; 0:04 bob to UTC`,
  '[V2] a recap needs an event that counts and is not 0': lived({ ends: 150, recap: 'weekly' })`
    0:01 ada event; 0:02 ada void; 0:03 ada event of value 0; 0:04 bob event of value -1`,
  '[V2] reactivation counts from the last event that is not voided, also from one of value 0': lived({
    ends: 150,
  })`
    0:01 ada event; 0:02 ada void; 0:03 bob event; 0:04 bob void; 24:00 ada event of value 0;
    24:00 ada event; 0:01 ada void`,
  'in a zone that is new to the tenant, from its first moment on': lived({ ends: 6 })`
    0:01 bob event; 24:00 ada event; 24:00 ada to Asia/Kathmandu`,
  // Monday, 07:30 and 13:30.
  'a recap of the same date at once after a journey': lived({
    ...{ ends: 4, begins: SUNDAY, zones: [LIMA, LAGOS], recap: 'weekly' },
  })`
    0:01 ada event; 24:30 ada to Africa/Lagos`,
  // Monday, 08:00, and Tuesday, 08:00. Three days later it is Friday.
  'no recap and no reactivation on a later date after a journey': lived({
    ...{ ends: 18, begins: SUNDAY, zones: [HONOLULU, KIRITIMATI], recap: 'weekly' },
  })`
    0:01 ada event; 30:00 ada to Pacific/Kiritimati; 18:00 ada to Pacific/Honolulu;
    30:00 ada to Pacific/Kiritimati`,
  // 19:30 and 22:30, and two minutes later back.
  'a daily reminder at once, also at night, and once if the hour comes again': lived({
    ...{ ends: 2, zones: [LAGOS, null] },
  })`
    0:01 ada event; 30:30 ada to Asia/Dubai; 0:32 ada to Africa/Lagos`,
  // 19:30, and 03:30 of the next date.
  'no daily reminder of a date that is over': lived({ ends: 6, zones: [LAGOS, TOKYO] })`
    0:01 ada event; 30:30 ada to Asia/Tokyo`,
  // From a Friday or a 25th, 08:00, to a Saturday or a 26th, 08:00.
  'a weekly reminder until the week ends': lived({
    ...{ ends: 42, begins: '2026-06-19T12:00:00Z', zones: [HONOLULU, null], streak: 'weekly' },
  })`
    0:01 ada event; 174:00 ada to Pacific/Kiritimati`,
  'a monthly reminder until the month ends': lived({
    ...{ ends: 42, begins: '2026-07-26T12:00:00Z', zones: [HONOLULU, null], streak: 'monthly' },
  })`
    0:01 ada event; 726:00 ada to Pacific/Kiritimati`,
  // Three days later, 08:30 and 14:30.
  'reactivation on the same date at once after a journey': lived({ ends: 4, zones: [LIMA, LAGOS] })`
    0:01 ada event; 0:02 ada streak off; 73:30 ada to Africa/Lagos`,
  // 21:00, and 20:30. The streak was off at 20:00.
  'nothing that was not due at the hour of the zone that the user has left': lived({
    ...{ ends: 1, zones: [TOKYO, null] },
  })`
    0:01 ada event; 0:02 ada streak off; 24:00 ada streak on; 0:30 ada to Asia/Shanghai`,
}

export const seen = {
  worlds: 0,
  recap: 0,
  reactivation: 0,
  streak_reminder: 0,
  moved: 0,
  voided: 0,
  paused: 0,
  late: 0,
}

/** The life of a user for both oracles. */
class Life {
  readonly actions: UserAction[] = []
  /** The ids of the events that are not voided. */
  readonly events: { action: Extract<UserAction, { do: 'event' }>; id: string }[] = []
  /** The times at which the streak was switched off or on. */
  readonly switches: { at: number; do: 'preferences'; enabled: boolean }[] = []
  readonly #streak: Frequency

  constructor(streak: Frequency) {
    this.#streak = streak
  }

  zone(): string {
    const moves = this.actions.flatMap((one) => (one.do === 'zone' ? [one.zone] : []))
    return moves.at(-1) ?? 'UTC'
  }

  /** The streak before any change at the moment itself. */
  streakAt(moment: number) {
    const replay = new StreakReplay({ ...DAILY, frequency: this.#streak })
    const all = [...this.actions, ...this.switches].sort((a, b) => a.at - b.at)
    for (const [n, deed] of all.entries()) {
      if (deed.at >= moment) break
      if (deed.do === 'preferences') replay.take(deed)
      // A void leaves the streak as it is (V2).
      else if (deed.do === 'event')
        replay.take({ at: deed.at, do: 'event', metric: 'm', value: deed.value * 1_000_000 })
      else if (deed.do === 'pause') replay.take({ ...deed, id: `${n}` })
      else replay.take({ at: deed.at, do: n === 0 ? 'create' : 'zone', zone: deed.zone })
    }
    return replay.at(moment)
  }
}

/** Plays a world, and compares all notifications with the oracle. */
export async function holdsIn(world: ScheduleWorld): Promise<void> {
  await forgetTime()
  const tenant = await newTenant()
  let now = Date.parse(world.begins)
  for (let to = START + 399 * DAY; to < now; to += 399 * DAY) await moveTo(to)
  await moveTo(now)
  await tenant.metric('m')
  if (world.recap !== 'none') await tenant.admin('PATCH', '/settings', { aggregationPeriod: world.recap })
  await tenant.admin('PATCH', '/streaks/settings', { frequency: world.streak })
  const events = DUE.filter((event) => world.recap !== 'none' || event !== 'emails.recap_due')
  await tenant.create('/webhooks', { url: new Hook().url, events })
  const lives = USERS.map(() => new Life(world.streak))
  const since = now
  for (const [n, id] of USERS.entries()) {
    const tz = world.zones[n] ?? null
    await tenant.app('PUT', `/users/${id}`, { tz })
    lives[n]?.actions.push({ at: now, do: 'zone', zone: tz })
  }
  for (const step of world.steps) {
    now = now - (now % HOUR) + step.after * HOUR + step.minutes * 60_000
    await moveTo(now)
    const id = USERS[step.user] ?? ''
    const life = lives[step.user]
    if (step.does === 'event' || step.does === 'event of value 0' || step.does === 'event of value -1') {
      const value = VALUES[step.does]
      const { status, body } = await tenant.event('m', id, value)
      expect(status).toBe(201)
      const action = { at: now, do: 'event' as const, value }
      life?.actions.push(action)
      life?.events.push({ action, id: String(at(body, 'eventId')) })
    } else if (step.does === 'void') {
      const event = life?.events.pop()
      if (event === undefined) continue
      expect((await tenant.admin('POST', `/users/${id}/events/${event.id}/void`, {})).status).toBe(200)
      event.action.voided = now
      seen.voided += 1
    } else if (step.does === 'pause') {
      const today = localAt(now, offsetIn(life?.zone() ?? 'UTC', now)).date
      const start = plusDays(today, step.days[0])
      const end = plusDays(start, step.days[1])
      const pauses = [{ userId: id, start, end }]
      expect((await tenant.admin('POST', '/streaks/pauses', { pauses })).status).toBe(201)
      life?.actions.push({ at: now, do: 'pause', start, end })
      seen.paused += 1
    } else if (step.does !== 'zone') {
      const enabled = step.does === 'streak on'
      await tenant.app('PATCH', `/users/${id}/preferences`, { streak: { enabled } })
      life?.switches.push({ at: now, do: 'preferences', enabled })
    } else {
      await tenant.app('PATCH', `/users/${id}`, { tz: step.zone })
      life?.actions.push({ at: now, do: 'zone', zone: step.zone })
      seen.moved += 1
    }
  }
  now += (world.ends ?? 32 * 24) * HOUR
  await moveTo(now)
  const told = await toldOf(tenant, 'emails.')
  for (const [n, id] of USERS.entries()) {
    const life = lives[n]
    if (life === undefined) continue
    const expected = reasonsOf(
      { recap: world.recap, streak: world.streak, since },
      life.actions,
      now,
      (moment) => life.streakAt(moment),
    )
    // A user who has come back to a date is notified with the same id. It is delivered once.
    const own = [
      ...new Map(
        told
          .filter(({ user }) => user === id)
          .reverse()
          .map((one) => [one.id, one]),
      ).values(),
    ].reverse()
    expect(own.map(shown)).toEqual(expected.map(awaited))
    for (const { type, at: due } of expected) {
      seen[type] += 1
      if (life.actions.some((one) => one.do === 'zone' && one.at === due)) seen.late += 1
    }
  }
  seen.worlds += 1
  await env.DB.prepare('DELETE FROM test_told').run()
}

const shown = ({ type, at: due, body }: Awaited<ReturnType<typeof toldOf>>[number]) => {
  expect(body.timestamp).toBe(new Date(due).toISOString())
  const { recap, reactivation } = body
  return [type, body.timestamp, recap ?? reactivation ?? at(body, 'streak', 'length')]
}

function awaited(reason: OracleReason): unknown[] {
  const when = new Date(reason.at).toISOString()
  switch (reason.type) {
    case 'recap': {
      const { periodStart, periodEnd } = reason
      return ['emails.recap_due', when, { periodStart, periodEnd }]
    }
    case 'reactivation': {
      const { messageNumber, daysSinceLastActive } = reason
      return ['emails.reactivation_due', when, { messageNumber, daysSinceLastActive }]
    }
    case 'streak_reminder':
      return ['emails.streak_reminder_due', when, reason.length]
  }
}
