import { BoundedMap } from '../lib/bounded'
import { perInstance } from '../platform/instance'

/**
 * Ids of tenants by their name in `Tenant-ID`, at most 10,000. A name may later belong to another tenant. So
 * D1 confirms each name that comes from this cache, in a read that is made anyway (T2).
 */
class TenantNames extends BoundedMap<string, string> {
  constructor() {
    super(10_000)
  }
}

export const tenantNamesOf = perInstance(() => new TenantNames())
