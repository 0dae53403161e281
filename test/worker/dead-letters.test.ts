import { describe, expect, it } from 'vitest'
import type { DrainRequest } from '../../src/webhooks/outbox/outbox'
import { handOver } from '../helpers/worker/handlers'
import { linesSoFar } from '../helpers/worker/lines'

/** The log lines about dead letters. */
const deadLetters = () =>
  linesSoFar()
    .filter((line) => line.includes('"deadLetter"'))
    .map((line): unknown => JSON.parse(line))

const error = 'a message was given up after its last retry'

describe('[L12, W2] a message that failed too often', () => {
  it('is logged with its tenant and leaderboard, but without users, and deleted', async () => {
    const repair = { tenantId: 'a tenant', leaderboardId: 'a board', userIds: ['ada@example.com'] }
    const drain: DrainRequest = { tenantId: 'another tenant' }
    const { acks } = await handOver('laurel-dead-letters', [repair, drain, 'neither'])
    expect(acks).toEqual(['m0', 'm1', 'm2'])
    expect(deadLetters()).toEqual([
      { level: 'error', deadLetter: 'repairs', tenant: 'a tenant', leaderboard: 'a board', error },
      { level: 'error', deadLetter: 'outbox', tenant: 'another tenant', error },
      { level: 'error', deadLetter: 'unknown', error },
    ])
    expect(linesSoFar().join()).not.toContain('ada@example.com')
  })
})
