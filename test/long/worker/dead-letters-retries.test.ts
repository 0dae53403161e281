import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { untilHeld } from '../../helpers/worker/harness'
import { linesSoFar } from '../../helpers/worker/lines'

/** The log lines about dead letters. */
const deadLetters = () =>
  linesSoFar()
    .filter((line) => line.includes('"deadLetter"'))
    .map((line): unknown => JSON.parse(line))

const error = 'a message was given up after its last retry'

describe('[L12, W2] a message that failed too often', () => {
  it('comes there by itself after the last retry', async () => {
    // No version of Laurel has sent such a message, so each attempt fails.
    const broken = { tenantId: 'a tenant', leaderboardId: 'a board', userIds: 'none' }
    // @ts-expect-error The type of the binding forbids it too.
    await env.REPAIRS.send(broken)
    await untilHeld(() => expect(deadLetters()).toEqual([{ level: 'error', deadLetter: 'unknown', error }]))
    const failed = linesSoFar().filter((line) => line.includes('not repaired'))
    expect(failed).toHaveLength(11)
  })
})
