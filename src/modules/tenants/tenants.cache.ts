import { BoundedMap } from '../../shared/bounded'

/**
 * Ids of tenants by what they are called in `Tenant-ID`, at most 10,000. A name may come to mean another tenant: whoever goes by one has
 * D1 confirm it in a read that is made anyway (T2).
 */
export class TenantNames extends BoundedMap<string, string> {
  constructor() {
    super(10_000)
  }
}
