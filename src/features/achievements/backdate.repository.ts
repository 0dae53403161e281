import * as z from 'zod'
import type { Achievement } from '../../configuration/configuration.types'
import { type Micros, micros } from '../../lib/decimal'
import { packsOf } from '../../lib/packed'
import type { TenantDatabase } from '../../platform/database'
import { bytesOf, MOST_READ, numberOf } from '../../platform/short-ids'
import type { Statement } from '../../platform/statement'
import { MOST_TOTAL } from '../../rules/metrics.rules'

// `total` adds floats. `sum` would fail beyond 64 bits: only the total of all events is bounded, and the
// filtered events may have a larger sum (E1).
const SUMS = `
  SELECT asked.value ->> 0 AS iid, total(e.value) AS sum FROM json_each(?1) asked
  CROSS JOIN events e ON e.user_iid = ${bytesOf('asked.value ->> 0')}
    AND e.metric_no = ${numberOf('metrics', '?2')} AND e.seq <= asked.value ->> 1
  WHERE NOT EXISTS (SELECT 1 FROM json_each(?3) f
    WHERE (e.attributes ->> ('$."' || (f.value ->> 0) || '"')) IS NOT f.value ->> 1)
  GROUP BY 1`

const SumRows = z.array(z.object({ iid: z.string(), sum: z.number() }))

/**
 * Sums of the events that an achievement counts, in millionths, by iid. Counts only events up to the `seq`
 * that was read of each user (A2).
 */
export async function sumsOf(
  db: TenantDatabase,
  { metricId, eventAttributes }: Pick<Achievement, 'metricId' | 'eventAttributes'>,
  users: readonly { iid: string; seq: number }[],
): Promise<ReadonlyMap<string, Micros>> {
  const filters = JSON.stringify(
    eventAttributes.map(({ attributeId, attributeValue }) => [attributeId, attributeValue]),
  )
  const rows: z.output<typeof SumRows> = []
  for (const some of packsOf(users, MOST_READ, ({ seq }) => seq)) {
    const asked = JSON.stringify(some.map(({ iid, seq }) => [iid, seq]))
    rows.push(...SumRows.parse(await db.rows(db.statement(SUMS, asked, metricId, filters))))
  }
  return new Map(rows.map(({ iid, sum }) => [iid, micros(Math.max(-MOST_TOTAL, Math.min(sum, MOST_TOTAL)))]))
}

const COUNTED = 'UPDATE achievements SET counted = 1 WHERE tenant_id = ?1 AND id = ?2 AND counter_id = ?3'

/**
 * Notes that all users' counters of an achievement include the log, in all databases. That is a change of the
 * configuration, so the same batch must raise its version (A4).
 */
export function counted(db: TenantDatabase, { id, counterId }: Achievement): Statement {
  return db.statement(COUNTED, db.tenantId, id, counterId)
}
