import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import type { DrainRequest } from '../../src/webhooks/outbox/outbox'
import worker from '../../src/worker'
import { START } from '../helpers/time'
import { linesSoFar } from '../helpers/worker/lines'

/** The log lines about dead letters. */
const deadLetters = () =>
  linesSoFar()
    .filter((line) => line.includes('"deadLetter"'))
    .map((line): unknown => JSON.parse(line))

const error = 'a message was given up after its last retry'

/** Hands bodies to the Worker as the queue of dead letters does. Returns the ids that it has acknowledged. */
async function consume(...bodies: unknown[]): Promise<string[]> {
  const messages = bodies.map((body, n) => ({ id: `m${n}`, timestamp: new Date(START), attempts: 1, body }))
  const batch = createMessageBatch('laurel-dead-letters', messages)
  const ctx = createExecutionContext()
  await worker.queue(batch, env, ctx)
  return (await getQueueResult(batch, ctx)).explicitAcks
}

describe('[L12, W2] a message that failed too often', () => {
  it('is logged with its tenant and leaderboard, but without users, and deleted', async () => {
    const repair = { tenantId: 'a tenant', leaderboardId: 'a board', userIds: ['ada@example.com'] }
    const drain: DrainRequest = { tenantId: 'another tenant' }
    expect(await consume(repair, drain, 'neither')).toEqual(['m0', 'm1', 'm2'])
    expect(deadLetters()).toEqual([
      { level: 'error', deadLetter: 'repairs', tenant: 'a tenant', leaderboard: 'a board', error },
      { level: 'error', deadLetter: 'outbox', tenant: 'another tenant', error },
      { level: 'error', deadLetter: 'unknown', error },
    ])
    expect(linesSoFar().join()).not.toContain('ada@example.com')
  })
})
