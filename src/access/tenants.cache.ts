import { BoundedMap } from '../lib/bounded'
import { perInstance } from '../runtime/instance'

/**
 * Ids of tenants by what they are called in `Tenant-ID`, at most 10,000. A name may come to mean another tenant: whoever goes by one has
 * D1 confirm it in a read that is made anyway (T2).
 */
class TenantNames extends BoundedMap<string, string> {
  constructor() {
    super(10_000)
  }
}

export const tenantNamesOf = perInstance(() => new TenantNames())
