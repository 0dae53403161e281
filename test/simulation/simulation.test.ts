import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, inject, it } from 'vitest'
import { databases } from '../helpers/worker/harness'
import { Hook } from '../helpers/worker/receiver'
import { chaos } from './faults'
import { eventsOnce, totalsAdd } from './invariants'
import { rankingsAre } from './invariants.boards'
import { awardsAre, countsAre } from './invariants.counts'
import { messagesSettled } from './invariants.messages'
import { streaksAre } from './invariants.streaks'
import { storedOf } from './log'
import { planOf, SIZES } from './plan'
import { Play } from './play'
import { RATES } from './rates'
import type { Outcome } from './reporter'
import { build } from './world'

/**
 * Plays whole worlds from seeds, with faults at every boundary, and checks the invariants at the end.
 * docs/architecture.md describes the simulation.
 */

const { from, seeds, size } = inject('simulation')

/** The largest number of violations that are printed. */
const MOST = 40

/** Plays the plan of a seed, and returns its outcome. */
async function simulate(seed: number): Promise<Outcome> {
  const began = performance.now()
  await reset()
  for (const { d1 } of databases()) await applyD1Migrations(d1, env.MIGRATIONS)
  const mail = new Hook()
  await mail.plan({ always: true, body: JSON.stringify({ id: 'x', data: [{ status: 'ok' }] }) })
  chaos.variables = {
    ...{ RESEND_API_KEY: 'k', RESEND_URL: mail.url, EMAIL_FROM: 'a@b.example', EXPO_URL: mail.url },
  }
  chaos.begin(seed, RATES)
  const plan = planOf(seed, SIZES[size])
  const world = await build(plan, mail)
  const play = new Play(world)
  for (const [index, step] of plan.steps.entries()) await play.step(step, index)

  await play.calm()
  const { story, now } = play
  const stored = await storedOf(world.tenantId)
  const broken = [
    ...eventsOnce(world, story, stored),
    ...totalsAdd(world, stored),
    ...countsAre(world, stored),
    ...awardsAre(world, now, stored),
    ...(await rankingsAre(world, story, now, stored, size === 'small')),
    ...(await streaksAre(world, plan, story, now, stored)),
  ]
  await play.wait()
  const later = await storedOf(world.tenantId)
  const messages = await messagesSettled(world, story, later, plan.size.tellsAll)
  broken.push(...countsAre(world, later), ...messages.broken, ...world.client.broken)
  return {
    seed,
    users: later.users.length,
    events: [...stored.events.values()].reduce((sum, list) => sum + list.length, 0),
    awards: [...later.awards.values()].reduce((sum, list) => sum + list.length, 0),
    faults: Object.fromEntries(chaos.counts),
    retries: world.client.retries,
    conflicts: chaos.conflicts,
    lanes: chaos.lanes,
    delivered: messages.delivered,
    dead: messages.dead,
    seconds: (performance.now() - began) / 1_000,
    broken: broken.slice(0, MOST),
  }
}

describe.each(Array.from({ length: seeds }, (_, n) => from + n))('seed %i', (seed) => {
  it(`holds (to repeat it: npm run simulate -- --${size} --seed ${seed} --databases ${databases().length})`, {
    timeout: 300_000,
  }, async ({ task }) => {
    const outcome = await simulate(seed)
    task.meta.simulation = outcome
    expect(outcome.broken).toEqual([])
    // A simulation without activity or without failures proves nothing.
    expect(outcome.events).toBeGreaterThan(100)
    expect(outcome.delivered).toBeGreaterThan(20)
    expect(Object.keys(outcome.faults).length).toBeGreaterThan(10)
  })
})
