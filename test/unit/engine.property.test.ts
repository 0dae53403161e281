import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pointsChanges } from '../../src/api/shapes/points'
import type { Configuration } from '../../src/configuration/model'
import { instant } from '../../src/lib/clock'
import { toMicros } from '../../src/lib/decimal'
import { newId } from '../../src/lib/new-id'
import { civilDateAt } from '../../src/lib/zone'
import type { Change } from '../../src/rules/change.rules'
import { type Command, type Decision, evaluate } from '../../src/rules/evaluate.rules'
import { levelOf } from '../../src/rules/points/points.rules'
import type { ProfileChange } from '../../src/rules/profile.rules'
import type { UserState } from '../../src/rules/state'
import { runs } from '../helpers/runs'
import { words } from '../helpers/words'
import { type Entry, type Expected, type OracleSystem, recount } from '../oracle/points.oracle'
import {
  configured,
  configuredBoost,
  METRICS,
  ownAfter,
  reconfigured,
  type Step,
  type World,
  worlds,
} from '../oracle/worlds'

type Accepted = Extract<Expected, { refused: false }>

function commandOf(step: Extract<Step, { do: 'event' | 'user' }>, eventId: string): Command {
  const user: ProfileChange = { tz: step.tz, attributes: new Map(Object.entries(step.user)) }
  if (step.do === 'user') return { kind: 'upsert', user, by: 'user' }
  return {
    ...{ kind: 'event', eventId, metricKey: METRICS[step.metric] ?? '', userId: 'ada', user, by: 'user' },
    ...{ value: toMicros(Number(step.value)), idempotencyKey: null },
    attributes: new Map(Object.entries(step.attributes)),
  }
}

type Situation = Pick<Entry, 'systems' | 'own' | 'now'>
function entryOf(step: Extract<Step, { do: 'event' | 'user' }>, { systems, own, now }: Situation): Entry {
  const entry = { systems, own, now, ...(step.tz !== undefined && { tz: step.tz }), attributes: step.user }
  if (step.do === 'user') return { ...entry, event: null }
  const { value, attributes } = step
  return { ...entry, event: { metric: METRICS[step.metric] ?? '', value, attributes } }
}

type Walked = { step: Step; entry: Entry; config: Configuration; decision: Decision }

/** An event of this value, a minute after the one before. */
const oneOf = (value: string): Extract<Step, { do: 'event' }> => ({
  ...{ do: 'event', metric: 0, value, attributes: {}, user: {}, tz: undefined, minutes: 1 },
})

/** The results of `evaluate` for a world, step by step. */
function walk(world: World): Walked[] {
  let systems: readonly OracleSystem[] = world.systems
  let own: Entry['own'] = {}
  let now = world.begins
  let state: UserState | null = null
  const walked: Walked[] = []
  for (const step of world.steps) {
    systems = reconfigured(systems, step)
    // A user who does not exist yet has no boosts.
    if (state !== null) own = ownAfter(own, systems, step)
    if (step.do !== 'event' && step.do !== 'user') continue
    now += step.minutes * 60_000
    const config = configured(systems)
    const decision: Decision = evaluate(
      config,
      state === null ? null : withOwn(state, own),
      commandOf(step, newId(instant(now))),
      { userId: 'ada', now: instant(now), newId, usedKey: () => undefined },
    )
    walked.push({ step, entry: entryOf(step, { systems, own, now }), config, decision })
    if (decision.kind === 'changed') state = decision.change.after
  }
  return walked
}

/** Plays a world with `evaluate`, and compares every step with a recount by the oracle. */
function holds(world: World): void {
  const walked = walk(world)
  const outcomes = recount(walked.map(({ entry }) => entry))
  const ids = new Set<string>()
  let levels: Accepted['levels'] | null = null
  for (const [index, { step, config, decision }] of walked.entries()) {
    const expected = outcomes[index]
    if (expected === undefined) throw new Error('an entry without an outcome')
    if (expected.refused) {
      expect(decision.kind).toBe('refused')
      if (decision.kind === 'refused') expect(decision.apiError.status).toBe(422)
    } else if (decision.kind === 'unchanged') {
      expect(step.do).toBe('user')
      expect(expected.awards).toEqual([])
    } else if (decision.kind === 'changed') {
      agrees(config, step, decision.change, expected, levels)
      for (const { id } of decision.change.awards) ids.add(id)
      levels = expected.levels
    } else expect(decision.kind).toBe('changed')
  }
  const awards = outcomes.flatMap((one) => (one.refused ? [] : one.awards))
  expect(ids.size).toBe(awards.length)
}

/** The user with own boosts, as D1 reads them. */
function withOwn(state: UserState, own: Entry['own']): UserState {
  const boosts = Object.entries(own).flatMap(([systemId, list]) =>
    list.map((boost) => configuredBoost(systemId, boost, state.iid)),
  )
  return { ...state, boosts }
}

function agrees(
  config: Configuration,
  step: Step,
  change: Change,
  expected: Accepted,
  levelsBefore: Accepted['levels'] | null,
): void {
  const { before, after, event, awards } = change
  expect(after.seq).toBe((before?.seq ?? 0) + 1)
  if (step.do === 'event') {
    const metricId = `metric ${METRICS[step.metric]}`
    expect([event?.seq, event?.utcOffset]).toEqual([after.seq, expected.offset])
    expect(BigInt(after.metrics.get(metricId)?.total ?? 0)).toBe(expected.total)
    expect(civilDateAt(event?.at ?? instant(0), event?.utcOffset ?? 0)).toBe(expected.date)
  }
  const shown = awards.map(({ systemId: system, triggerId: trigger, awarded, total, boosts }) => {
    return { system, trigger, awarded, total, boosts: boosts.map(({ id }) => id).sort() }
  })
  expect(shown).toEqual(expected.awards)
  expect(awards.map(({ position }) => position)).toEqual(awards.map((_, index) => index))
  for (const award of awards) {
    expect(award.awarded).not.toBe(0)
    expect([award.seq, award.utcOffset]).toEqual([after.seq, expected.offset])
    expect(civilDateAt(award.at, award.utcOffset)).toBe(expected.date)
  }
  for (const system of config.systems) {
    const total = after.points.get(system.id) ?? 0
    expect(total).toBe(expected.points[system.id])
    expect(levelOf(system, total)?.id ?? null).toBe(expected.levels[system.id])
  }
  responses(config, change, expected, levelsBefore)
}

/** P9: the response has each system that the change affected, and no other. */
function responses(
  config: Configuration,
  change: Change,
  expected: Accepted,
  levelsBefore: Accepted['levels'] | null,
): void {
  const answer = pointsChanges(config, change)
  expect(Object.keys(answer).sort()).toEqual([...new Set(expected.awards.map(({ system }) => system))].sort())
  for (const [key, { total, added, awards, ...rest }] of Object.entries(answer)) {
    const mine = expected.awards.filter(({ system }) => system === key)
    expect(total).toBe(expected.points[key])
    expect(added).toBe(mine.reduce((sum, { awarded }) => sum + awarded, 0))
    expect(awards.map(({ trigger }) => trigger?.id)).toEqual(mine.map(({ trigger }) => trigger))
    const atZero = config.systems.flatMap(({ id, levels }) =>
      id === key ? levels.filter(({ points }) => points === 0) : [],
    )
    const was = levelsBefore === null ? (atZero[0]?.id ?? null) : levelsBefore[key]
    const level = 'level' in rest ? (rest.level?.id ?? null) : 'as before'
    expect(level).toBe(expected.levels[key] === was ? 'as before' : expected.levels[key])
  }
}

describe('[E1, G11, P1, P5, P6, P7, P8, P9, U6] the core against a recount of the log', () => {
  test('every total, award, level and refusal is equal, with any configuration and any input', () => {
    fc.assert(
      fc.property(worlds, (world) => holds(world)),
      { numRuns: runs(75, 3_000) },
    )
  })

  test.each(['', '-'])('[E1] a total may reach ±9,007,199,254, but not more (%s)', (sign) => {
    const opposite = sign === '' ? '-' : ''
    const values = [
      ...Array<string>(9).fill(`${sign}1000000000`),
      ...words`7199254.000001 7199254 0.000001 0.0000004`.map((value) => sign + value),
      ...[`${opposite}0.5`, `${sign}0.500001`, `${sign}0.5`],
    ]
    const steps = values.map(oneOf)
    const entries = steps.map((step, now) => entryOf(step, { systems: [], own: {}, now }))
    const outcomes = recount(entries)
    const refused = outcomes.flatMap(({ refused }, index) => (refused ? index : []))
    expect(refused).toEqual([9, 11, 14])
    expect(outcomes.at(-1)).toMatchObject({ total: BigInt(`${sign}9007199254000000`) })
    holds({ systems: [], begins: 0, steps })
  })

  test('[P7] an event may take the last point, but not one more', () => {
    const trigger = { metric: 'm0', threshold: 1, active: true, user: [], event: [] }
    const triggers = [
      { ...trigger, id: 'gift', on: 'creation', points: 20, blocks: false },
      { ...trigger, id: 'price', on: 'event', points: -10, blocks: true },
    ] as const
    const systems = [{ id: 's0', max: null, levels: [], triggers, boosts: [] }]
    const steps = ['1', '1', '1', '0.5'].map(oneOf)
    const outcomes = walk({ systems, begins: 0, steps }).map(({ decision }) => decision.kind)
    expect(outcomes).toEqual(['changed', 'changed', 'refused', 'changed'])
    holds({ systems, begins: 0, steps })
  })

  test('the worlds are varied: they have many awards, refusals, boosts, levels, caps and floors', () => {
    const seen = { awards: 0, boosted: 0, negative: 0, refused: 0, levelled: 0, capped: 0 }
    for (const { systems, begins, steps } of fc.sample(worlds, { numRuns: 300, seed: 7 })) {
      let now = begins
      const entries = steps.flatMap((step) => {
        if (step.do !== 'event' && step.do !== 'user') return []
        now += step.minutes * 60_000
        return [entryOf(step, { systems, own: {}, now })]
      })
      for (const expected of recount(entries)) {
        if (expected.refused) seen.refused += 1
        else {
          seen.awards += expected.awards.length
          seen.boosted += expected.awards.filter(({ boosts }) => boosts.length > 0).length
          seen.negative += expected.awards.filter(({ awarded }) => awarded < 0).length
          seen.levelled += Object.values(expected.levels).filter((level) => level !== null).length
          seen.capped += systems.filter(({ id, max }) => max !== null && expected.points[id] === max).length
        }
      }
    }
    for (const count of Object.values(seen)) expect(count, JSON.stringify(seen)).toBeGreaterThan(50)
  })
})
