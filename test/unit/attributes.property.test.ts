import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Achievement, Configuration } from '../../src/configuration/model'
import { resultOf } from '../../src/features/events/results'
import { instant } from '../../src/lib/clock'
import { micros } from '../../src/lib/decimal'
import { newId } from '../../src/lib/new-id'
import { type Command, evaluate } from '../../src/rules/evaluate.rules'
import type { UserState } from '../../src/rules/state'
import { type Outcome, outcomeOf, type Who } from '../oracle/attributes.oracle'
import { configured } from '../oracle/worlds'

const KEYS = ['plan', 'team', 'city'] as const
const VALUES = ['a', 'b', null] as const
const NOW = instant(Date.UTC(2026, 5, 1))

const who = fc.constantFrom<Who>('admin', 'user')
const passed = fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES), { maxKeys: 3 })
const call = fc.record({ do: fc.constantFrom('event', 'replay', 'completion', 'upsert'), by: who, passed })
const rule = fc.record({ do: fc.constant('rule'), key: fc.constantFrom(...KEYS), by: who })
const worlds = fc.array(fc.oneof({ weight: 4, arbitrary: call }, { weight: 1, arbitrary: rule }), {
  minLength: 1,
  maxLength: 12,
})

type Step = typeof worlds extends fc.Arbitrary<(infer One)[]> ? One : never
type Call = Exclude<Step, { by: Who; key: string }>

const resource = { created: 0, updated: 0 }
const achievement: Achievement = {
  ...resource,
  id: 'achievement',
  key: 'done',
  name: 'Done',
  description: '',
  badgeUrl: null,
  status: 'active',
  trigger: 'api',
  metricId: null,
  metricValue: null,
  streakLength: null,
  anniversaryYears: null,
  achievementIds: [],
  userAttributes: [],
  eventAttributes: [],
  counterId: 'counter',
  counted: true,
}

const configuredAs = (rules: Readonly<Record<string, Who>>): Configuration => ({
  ...configured([]),
  achievements: [achievement],
  attributes: KEYS.map((key) => ({
    ...resource,
    id: `id of ${key}`,
    type: 'user',
    key,
    name: key,
    writableBy: rules[key] ?? 'admin',
  })),
})

function commandOf({ do: what, by, passed }: Call): Command {
  const user = { attributes: new Map(Object.entries(passed)) }
  if (what === 'upsert') return { kind: 'upsert', user, by }
  const common = { userId: 'ada', user, by }
  if (what === 'completion')
    return { kind: 'completion', completionId: newId(NOW), achievementKey: 'done', ...common }
  return {
    kind: 'event',
    eventId: newId(NOW),
    metricKey: 'm0',
    value: micros(1_000_000),
    attributes: new Map(),
    idempotencyKey: what === 'replay' ? 'used' : null,
    ...common,
  }
}

/** The service's outcome of a call, in the oracle's form, and the user after it. */
function actual(
  config: Configuration,
  state: UserState | null,
  command: Command,
): { outcome: Outcome; state: UserState | null } {
  const usedKey = () => ({ eventId: newId(NOW), body: null })
  const decision = evaluate(config, state, command, { userId: 'ada', now: NOW, newId, usedKey })
  if (decision.kind === 'refused') {
    expect(decision.apiError.status).toBe(403)
    const { 1: names = '' } = /change these: (.*)\. Leave/.exec(decision.apiError.message) ?? []
    return { outcome: { refusedFor: names.split(', ') }, state }
  }
  const after = decision.kind === 'changed' ? decision.change.after : decision.state
  const result = resultOf(command, { decision, config })
  const leftOut = 'leftOut' in result ? result.leftOut : []
  const attributes = Object.fromEntries(
    [...after.profile.attributes].map(([id, value]) => [id.replace('id of ', ''), value]),
  )
  return { outcome: { leftOut, attributes }, state: after }
}

/** Plays a world, and compares each call with the oracle. */
function holds(world: readonly Step[], by: (command: Command) => Command = (command) => command): void {
  const rules: Record<string, Who> = {}
  let stored: Readonly<Record<string, string>> = {}
  let state: UserState | null = null
  for (const step of world) {
    if ('key' in step) {
      rules[step.key] = step.by
      continue
    }
    const all = Object.fromEntries(KEYS.map((key) => [key, rules[key] ?? 'admin']))
    const isRepeat =
      state !== null &&
      (step.do === 'replay' || (step.do === 'completion' && state.achievements.has(achievement.id)))
    const expected = outcomeOf(all, stored, { ...step, errorStatuses: step.do === 'upsert', isRepeat })
    const found = actual(configuredAs(rules), state, by(commandOf(step)))
    expect(found.outcome).toEqual(expected)
    state = found.state
    if ('attributes' in expected) stored = expected.attributes
  }
}

describe('[K7] the permission to set an attribute', () => {
  test('any call by any caller is refused in an upsert, left out of an event or a completion, or done', () => {
    fc.assert(
      fc.property(worlds, (world) => holds(world)),
      { numRuns: 1_000 },
    )
  })

  test('the property fails for a service that treats every caller as an admin', () => {
    const asAdmin = (command: Command): Command => ('by' in command ? { ...command, by: 'admin' } : command)
    const { failed } = fc.check(
      fc.property(worlds, (world) => holds(world, asAdmin)),
      { numRuns: 500, seed: 1, endOnFailure: true },
    )
    expect(failed).toBe(true)
  })
})
