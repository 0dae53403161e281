import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Boost } from '../../src/configuration/model'
import { BoundedMap } from '../../src/lib/bounded'
import { instant } from '../../src/lib/clock'
import { isId } from '../../src/lib/ids'
import { newId } from '../../src/lib/new-id'
import { boostSpan, boostStatus } from '../../src/rules/points/boosts.rules'
import { isInControlGroup } from '../../src/rules/profile.rules'

const moment = (text: string) => instant(Date.parse(text))

describe('[G4] ids', () => {
  test('are UUIDs of version 7 that carry their time', () => {
    const at = moment('2026-03-08T07:00:00.123Z')
    const id = newId(at)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isId(id)).toBe(true)
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(at)
  })

  test('sort by time, and never repeat', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 253_402_300_799_999 })), (times) => {
        const sorted = times.toSorted((a, b) => a - b)
        const ids = sorted.map((ms) => newId(instant(ms)))
        expect(ids.toSorted()).toEqual(ids)
      }),
    )
    const at = moment('2026-03-08T07:00:00Z')
    expect(new Set(Array.from({ length: 20_000 }, () => newId(at))).size).toBe(20_000)
  })

  test.each([
    ...['', 'x', 'g'.repeat(36), '019bd0c4-7a5e-7000-8000-000000000001 ', '019bd0c47a5e70008000000000000001'],
  ])('%j is none', (text) => expect(isId(text)).toBe(false))
})

describe('a bounded map', () => {
  test('keeps exactly the last used keys, as a plain list would', () => {
    const act = fc.tuple(fc.constantFrom('get', 'set', 'delete'), fc.nat({ max: 6 }), fc.nat({ max: 9 }))
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(act, { maxLength: 60 }), (bound, acts) => {
        const map = new BoundedMap<number, number>(bound)
        let list: [number, number][] = []
        for (const [what, key, value] of acts) {
          const found = list.find(([one]) => one === key)
          if (what === 'get') expect(map.get(key)).toBe(found?.[1])
          if (what === 'get' && found === undefined) continue
          list = list.filter(([one]) => one !== key)
          if (what === 'delete') map.delete(key)
          if (what === 'set') map.set(key, value)
          if (what === 'set') list = [...list, [key, value] satisfies [number, number]].slice(-bound)
          if (what === 'get' && found !== undefined) list.push(found)
        }
        for (const [key, value] of list) expect(map.get(key)).toBe(value)
        for (let key = 0; key <= 6; key += 1) {
          if (!list.some(([one]) => one === key)) expect(map.get(key)).toBeUndefined()
        }
      }),
    )
  })
})

const NEW = { created: 0, updated: 0 }
const boost = (start: string, end: string): Boost => ({
  ...{ ...NEW, id: 'b', key: 'b', systemId: 's', userId: null, userIid: null, name: 'Boost', start, end },
  ...{ multiplier: 2, rounding: 'down', userAttributes: [] },
})

describe("[P5] a boost's status", () => {
  const weekend = boost('2026-03-07', '2026-03-08')

  test.each([
    ['2026-03-06T09:59:59.999Z', 'scheduled'],
    ['2026-03-06T10:00:00.000Z', 'active'],
    ['2026-03-09T11:59:59.999Z', 'active'],
    ['2026-03-09T12:00:00.000Z', 'finished'],
  ])('for all users, from 10:00 UTC a day early to 12:00 UTC a day late: %s is %s', (at, status) => {
    expect(boostStatus(weekend, moment(at), null)).toBe(status)
  })

  test('a boost without an end is never finished', () => {
    const open = boost('2026-03-07', '9999-12-31')
    expect(boostSpan(open, null).ends).toBeNull()
    expect(boostStatus(open, moment('9998-01-01T00:00:00Z'), null)).toBe('active')
    expect(boostStatus(open, moment('9998-01-01T00:00:00Z'), 'Asia/Tokyo')).toBe('active')
  })

  test('a boost that ends on the last but one date also has a status', () => {
    const late = boost('2026-03-07', '9999-12-30')
    expect(boostStatus(late, moment('2026-03-08T00:00:00Z'), null)).toBe('active')
  })
})

describe('[U5] the control group', () => {
  const users = Array.from({ length: 20_000 }, (_, n) => `user-${n}`)
  const share = (tenant: string, ratio: number) =>
    (users.filter((user) => isInControlGroup(tenant, user, ratio)).length / users.length) * 100

  test.each([1, 10, 33.3, 50, 90])(
    'a ratio of %d has about that share of the users, in every tenant',
    (ratio) => {
      // Five standard deviations of a fair draw.
      const tolerance = 5 * Math.sqrt((ratio * (100 - ratio)) / users.length)
      for (const tenant of ['00000000-0000-7000-8000-000000000000', '019bd0c4-7a5e-7000-8000-000000000001'])
        expect(Math.abs(share(tenant, ratio) - ratio)).toBeLessThan(tolerance)
    },
  )

  test('a ratio of 0 has no users, a ratio of 100 has all', () => {
    expect([share('t', 0), share('t', 100)]).toEqual([0, 100])
  })

  test('no user leaves it when the ratio rises, and tenants draw independently', () => {
    const drawn = (tenant: string, ratio: number) =>
      users.filter((user) => isInControlGroup(tenant, user, ratio))
    const [at20, at40] = [new Set(drawn('a', 20)), new Set(drawn('a', 40))]
    expect([...at20].filter((user) => !at40.has(user))).toEqual([])
    const both = drawn('b', 20).filter((user) => at20.has(user)).length
    // Independent draws share 4 % of the users.
    expect((both / users.length) * 100).toBeGreaterThan(3)
    expect((both / users.length) * 100).toBeLessThan(5)
  })

  test('it is stable: these users were drawn when the rule was written, and another draw would move users', () => {
    const ids = ['ada', 'grace', '__proto__', 'ünïcödé', '🦄', 'a/b', '', ...users.slice(0, 33)]
    const drawn = ids.map((id) => isInControlGroup('00000000-0000-7000-8000-000000000000', id, 50))
    expect(drawn.map(Number).join('')).toBe(DRAWN)
  })
})

const DRAWN = '1010111001110100101100001111101011010100'
