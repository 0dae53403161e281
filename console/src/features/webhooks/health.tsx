import type { AdminWebhook } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { FIGURES_AGAIN } from '../../analytics/period'
import { useAdmin } from '../../api/laurel'
import type { Admin } from '../../resource/resource'
import { formatNumber, formatPercent, Moment } from '../../ui/format'
import { Badge, Notice } from '../../ui/page'

/** An address without its scheme, which all share. */
export const shortUrl = (url: string) => url.replace(/^https?:\/\//i, '').replace(/\/$/, '')

/** How the endpoint of a webhook does: what failed within a day, and until when nothing is sent. */
export function Health({ goneAt, health }: Pick<AdminWebhook, 'goneAt' | 'health'>) {
  if (goneAt !== null)
    return (
      <>
        Switched off: the receiver answered 410 on <Moment iso={goneAt} />
      </>
    )
  if (!health || (health.tried === 0 && !health.failing)) return '–'
  const { failing, tried, failed, since, restsUntil } = health
  const share = failed === 0 ? 'all arrived' : `${formatPercent(failed / tried)} failed`
  return (
    <span title={`${formatNumber(failed)} of ${formatNumber(tried)} since ${since}`}>
      <Badge tone={failing ? 'danger' : failed > 0 ? 'warning' : 'good'}>
        {failing && failed === 0 ? 'failing' : share}
      </Badge>
      {restsUntil && (
        <span className="mt-1 block text-sm text-quiet">
          Rests until <Moment iso={restsUntil} />
        </span>
      )}
    </span>
  )
}

/** The query for the first webhooks with their health. The parts of a page that use it ask once. */
export const webhooksQuery = (admin: Admin) => ({
  queryKey: ['/webhooks', 'health'],
  queryFn: ({ signal }: { signal: AbortSignal }) => admin.webhooks.list({ limit: 100 }, { signal }),
})

/** Names the webhooks that fail, or that a receiver has switched off. */
export function FailingWebhooks() {
  const admin = useAdmin()
  const { data = [] } = useQuery({ ...webhooksQuery(admin), refetchInterval: FIGURES_AGAIN })
  return data
    .filter(({ goneAt, health }) => goneAt !== null || health?.failing)
    .map(({ id, key, url, ...webhook }) => (
      <Notice key={id} tone="warning">
        <Link to={`/webhooks/${encodeURIComponent(key)}`} className="font-medium underline">
          The webhook to {shortUrl(url)} fails
        </Link>{' '}
        <Health {...webhook} />
      </Notice>
    ))
}
