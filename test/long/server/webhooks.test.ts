/** A webhook of `npm start` whose receiver is slow. All else about its requests is in test/worker. */
import { expect, it } from 'vitest'
import { Receiver } from '../../helpers/receiver'
import { startServer } from '../../helpers/server/harness'
import { untilHeld } from '../../helpers/until'

it('[W4] a request waits for two seconds, as npm start sets it', async () => {
  const receiver = new Receiver()
  const url = `${await receiver.start()}/hooks/slow`
  receiver.plan('slow', [{ hold: true, always: true }])
  const server = await startServer()
  try {
    const { body: made } = await server.ask('POST', '/admin/v1/webhooks', [{ url, events: ['streak.lost'] }])
    const path = `/admin/v1/webhooks/${made.created[0].id}`
    await server.ask('POST', `${path}/test`, { type: 'streak.lost' })
    await untilHeld(async () => {
      const { body: log } = await server.ask('GET', `${path}/deliveries`)
      expect(log).toMatchObject([{ lastStatus: null, lastError: 'no answer within 2 seconds' }])
    })
  } finally {
    receiver.stop()
    await server.stop()
  }
})
