import type { PageStart } from './db/pages'
import { ScanTurns, SharedScans } from './db/scans'
import { ConfigurationCache } from './modules/configuration/configuration.cache'
import { Groups } from './modules/events/groups'
import { UserQueues } from './modules/events/queue'
import { KeyCache } from './modules/keys/keys.cache'
import { PassCache } from './modules/notifications/push/passes'
import { Wakes } from './modules/outbox/wakes'
import type { Summary } from './modules/points/summaries.repository'
import { type KeptRanking, RankingCache } from './modules/streaks/rankings.cache'
import type { DaySums } from './modules/summaries/day-sums.service'
import { TenantNames } from './modules/tenants/tenants.cache'
import type { Wrapped } from './modules/wrapped/wrapped.service'

/**
 * What one isolate remembers between requests: caches, and the queue of events waiting in it. Each states its bound and
 * its key. Two instances share nothing but the database.
 */
export class Instance {
  readonly keys = new KeyCache()
  readonly tenantNames = new TenantNames()
  readonly configurations = new ConfigurationCache()
  readonly rankings = new RankingCache()
  readonly passes = new PassCache()
  readonly queues = new UserQueues()
  readonly groups = new Groups()
  readonly wakes = new Wakes()
  readonly scanTurns = new ScanTurns()
  readonly summaries = new SharedScans<Summary>(this.scanTurns)
  readonly userSearches = new SharedScans<readonly string[]>(this.scanTurns)
  readonly daySums = new SharedScans<DaySums>(this.scanTurns)
  readonly wrapped = new SharedScans<Wrapped>(this.scanTurns)
  readonly pageStarts = new SharedScans<PageStart>(this.scanTurns)
  readonly rankingScans = new SharedScans<{ ranking: KeptRanking; users: number }>(this.scanTurns)
}
