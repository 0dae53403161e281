import { START } from '../time'
import { type Ask, settle, type Told, type World } from '../walk'
import { DAY, dateAt } from './boards'
import { ADMIN_KEY, call, type TestTenant } from './harness'

/** The world of a walk through all operations, in this tenant. `heard` gets each response. */
export function walkIn(tenant: TestTenant, mark: string, heard?: (told: Told) => void): Promise<World> {
  const ask: Ask = async (method, path, more, body) => {
    const headers = { 'x-api-key': ADMIN_KEY, 'tenant-id': tenant.id, ...more }
    const told = await call(tenant.send, method, path, { body, headers })
    heard?.(told)
    return told
  }
  return settle({ ask, mark, factor: 2, day: (days) => dateAt(START + days * DAY) })
}
