import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EVENT_TYPES } from '../../src/modules/webhooks/events'
import { forgetTime, moveTo, NOON } from './boards'
import { at, newTenant } from './harness'
import { Hook } from './receiver'

beforeEach(() => moveTo(NOON))
afterEach(forgetTime)

const MINUTE = 60_000
const NOBODY = '018f0000-0000-7000-8000-000000000000'

describe('deliveries of webhooks (W4)', () => {
  it('a test letter arrives', async () => {
    const tenant = await newTenant()
    const hook = new Hook()
    const id = await tenant.create('/webhooks', { url: hook.url, events: ['streak.lost'] })
    const sent = await tenant.admin('POST', `/webhooks/${id}/test`, { type: 'points.changed' })
    expect(sent.status).toBe(202)
    const [seen] = await hook.seen(1)
    expect(seen?.headers['webhook-id']).toBe(at(sent.body, 'id'))
    await moveTo(NOON + MINUTE)
    const { body } = await tenant.admin('GET', `/webhooks/${id}/deliveries`)
    expect(body).toEqual([
      { ...Object(sent.body), status: 'delivered', attempts: 1, lastStatus: 200, nextAttempt: null },
    ])
    expect(EVENT_TYPES).toHaveLength(18)
    expect(NOBODY).toBeTruthy()
  })
})
