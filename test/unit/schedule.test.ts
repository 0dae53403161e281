import { describe, expect, it } from 'vitest'
import { addressedEntry } from '../../src/features/notifications/reasons'
import {
  absence,
  nextMoment,
  recapPeriod,
  slotsAt,
  type Timetable,
} from '../../src/features/notifications/schedule.rules'
import { instant } from '../../src/lib/clock'
import { childId, isId, namedId } from '../../src/lib/ids'
import { newId } from '../../src/lib/new-id'
import { civilDate, dayOf } from '../../src/lib/zone'
import { completionMoment, momentOf, REACTIVATION_DAYS } from '../../src/webhooks/outbox/notifications.rules'
import type { Message } from '../../src/webhooks/outbox/outbox'

const at = (text: string) => instant(Date.parse(text))
const day = (text: string) => dayOf(civilDate(text))
const NOTHING: Timetable = { recap: null, reactivation: null, streak_reminder: null }

describe('[N2] moments of the day', () => {
  it.each([
    ['Europe/Berlin', '2027-03-27', 9, '2027-03-27T08:00Z'],
    ['Europe/Berlin', '2027-03-28', 9, '2027-03-28T07:00Z'],
    ['Europe/Berlin', '2027-10-31', 20, '2027-10-31T19:00Z'],
    ['Asia/Kathmandu', '2027-01-01', 9, '2027-01-01T03:15Z'],
    ['America/St_Johns', '2027-07-01', 20, '2027-07-01T22:30Z'],
    ['Pacific/Kiritimati', '2027-01-01', 9, '2026-12-31T19:00Z'],
    // The clock goes from 02:00 to 03:00, so 02:00 is skipped, and the moment is an hour later.
    ['Europe/Berlin', '2027-03-28', 2, '2027-03-28T01:00Z'],
  ])('use the clocks of the zone, also on days of 23 and 25 hours: %s on %s', (zone, date, hour, moment) => {
    expect(momentOf(zone, day(date), hour)).toBe(at(moment))
  })

  // 2027-01-06 is a Wednesday.
  it.each<[Partial<Timetable>, after: string, next: string | null, ...zones: string[]]>([
    [{ streak_reminder: 'daily' }, '06T19:59:59.999Z', '2027-01-06T20:00:00.000Z'],
    [{ streak_reminder: 'daily' }, '06T20:00:00Z', '2027-01-07T20:00:00.000Z'],
    [{ streak_reminder: 'weekly' }, '06T00:00:00Z', '2027-01-08T09:00:00.000Z'],
    [{ streak_reminder: 'weekly' }, '08T09:00:00Z', '2027-01-15T09:00:00.000Z'],
    [{ streak_reminder: 'monthly' }, '06T00:00:00Z', '2027-01-25T09:00:00.000Z'],
    [{ streak_reminder: 'monthly' }, '25T09:00:00Z', '2027-02-25T09:00:00.000Z'],
    [{ recap: 'weekly' }, '06T00:00:00Z', '2027-01-11T09:00:00.000Z'],
    [{ recap: 'monthly' }, '06T00:00:00Z', '2027-02-01T09:00:00.000Z'],
    [{ reactivation: 'daily' }, '06T09:00:00Z', '2027-01-07T09:00:00.000Z'],
    [{}, '06T09:00:00Z', null],
    [{ recap: 'weekly', reactivation: 'daily' }, '06T09:00Z', '2027-01-07T03:15:00.000Z', 'Asia/Kathmandu'],
  ])('are those of the type: after %j, on January %s, is %s', (timetable, after, next, ...zones) => {
    const found = nextMoment({ ...NOTHING, ...timetable }, [...zones, 'UTC'], at(`2027-01-${after}`))
    expect(found === null ? null : new Date(found).toISOString()).toBe(next)
  })

  it('are the same in zones whose dates differ', () => {
    // 09:00 in Kiritimati on the 11th, a Monday, is 09:00 in Honolulu on the 10th.
    const slots = slotsAt(
      { ...NOTHING, recap: 'weekly', reactivation: 'daily' },
      ['UTC', 'Pacific/Kiritimati', 'Pacific/Honolulu'],
      at('2027-01-10T19:00:00Z'),
    )
    expect(slots).toEqual([
      { zone: 'Pacific/Kiritimati', day: day('2027-01-11'), hour: 9, types: ['recap', 'reactivation'] },
      { zone: 'Pacific/Honolulu', day: day('2027-01-10'), hour: 9, types: ['reactivation'] },
    ])
  })

  it('leave out a type until it is switched on', () => {
    const when = at('2027-01-06T20:00:00Z')
    const timetable: Timetable = { ...NOTHING, streak_reminder: 'daily' }
    expect(slotsAt(timetable, ['UTC'], when, { streak_reminder: when })).toEqual([])
    expect(slotsAt(timetable, ['UTC'], when, { streak_reminder: when - 1, recap: when })).toHaveLength(1)
    expect(slotsAt(timetable, ['UTC'], instant(when + 60_000))).toEqual([])
  })
})

describe('[N2] reasons for notifications', () => {
  it('a recap is about the week or month that just ended', () => {
    const week = { start: day('2027-01-04'), end: day('2027-01-10') }
    expect(recapPeriod(day('2027-01-11'), 'weekly')).toEqual(week)
    const month = { start: day('2027-02-01'), end: day('2027-02-28') }
    expect(recapPeriod(day('2027-03-01'), 'monthly')).toEqual(month)
  })

  it('an absent user gets a message 3, 5, 7, 14 and 30 days after the last event, and none without an event', () => {
    expect(absence(null, 100)).toBeNull()
    const days = Array.from({ length: 40 }, (_, n) => absence(100, 100 + n)?.days ?? null)
    expect(days.flatMap((d, n) => (d === null ? [] : [[n, d, absence(100, 100 + n)?.number]]))).toEqual(
      REACTIVATION_DAYS.map((d, n) => [d, d, n + 1]),
    )
  })

  // It is sent at 17:00, at once until 21:00, or else at 17:00 of the next day.
  it.each([
    ['2027-01-06T00:00:00Z', '2027-01-06T17:00:00.000Z'],
    ['2027-01-06T16:59:59.999Z', '2027-01-06T17:00:00.000Z'],
    ['2027-01-06T17:00:00Z', '2027-01-06T17:00:00.000Z'],
    ['2027-01-06T20:59:59.999Z', '2027-01-06T20:59:59.999Z'],
    ['2027-01-06T21:00:00Z', '2027-01-07T17:00:00.000Z'],
    ['2027-03-27T20:30:00Z', '2027-03-28T15:00:00.000Z', 'Europe/Berlin'],
    ['2027-01-06T12:00:00Z', '2027-01-06T12:00:00.000Z', 'Asia/Kathmandu'],
  ])('a message about an achievement of %s is sent at %s', (when, moment, zone = 'UTC') => {
    expect(new Date(completionMoment(at(when), zone)).toISOString()).toBe(moment)
  })
})

describe('ids by name', () => {
  it('are UUIDs v7 of the moment, the same for the same name, and different for other names', () => {
    const when = at('2027-01-06T12:00:00Z')
    const id = namedId(when, 'a')
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isId(id)).toBe(true)
    expect(namedId(when, 'a')).toBe(id)
    expect(id.slice(0, 13)).toBe(newId(when).slice(0, 13))
    expect(new Set(Array.from({ length: 2_000 }, (_, n) => namedId(when, `name ${n}`))).size).toBe(2_000)
    expect(namedId(instant(when + 1), 'a').slice(14)).toBe(id.slice(14))
    expect(childId(id, 0)).not.toBe(id)
  })
})

describe('the messages of a moment', () => {
  const message = (id: string, length: number): Message => ({
    id,
    type: 'notification.email',
    body: { body: 'x'.repeat(length) },
  })
  const user = { id: 'ada', iid: 'iid', seq: 3 }

  it('[C2] use as many rows as their length needs, with the same ids each time', () => {
    const messages = [message('a', 200_000), message('b', 50_000), message('c', 290_000)]
    const sent = addressedEntry(user, instant(5), 'name', messages)
    const entry = (name: string, ids: string[]) => ({
      outboxEntry: {
        ...{ at: 5, seq: 3, userIid: 'iid', id: namedId(instant(5), name) },
        messages: ids.map((id) => expect.objectContaining({ id })),
      },
      userId: 'ada',
    })
    expect(sent).toEqual([entry('name', ['a', 'b']), entry('name 1', ['c'])])
    expect(addressedEntry(user, instant(5), 'name', [])).toEqual([])
  })
})
