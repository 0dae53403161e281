import type { AdminWebhook, TestDelivery } from '@laurel/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAdmin } from '../../api/laurel'
import { PagedTable, useCursorPages } from '../../api/paging'
import { AskButton } from '../../resource/confirm-write'
import { useWrite } from '../../resource/writes'
import { useAddress } from '../../ui/address'
import { Button, Toggle } from '../../ui/button'
import { ChoiceFilter } from '../../ui/filters'
import { counted, formatNumber, Moment } from '../../ui/format'
import { Card, Code, Facts } from '../../ui/page'
import { say } from '../../ui/text'
import { DeliveryStatus, deliveriesKey, isStatus, readAgain, SOON, STATUSES } from './deliveries'
import { EVENT_TYPES, EVENTS, type EventType, isEventType } from './events'

type SectionProps = { webhook: AdminWebhook }

const EVENT_OPTIONS = EVENT_TYPES.map((value) => ({ value, label: `${EVENTS[value]} (${value})` }))

/** The deliveries of a webhook, with the answers. */
export function DeliveriesSection({ webhook: { key } }: SectionProps) {
  const queries = useQueryClient()
  const admin = useAdmin()
  const { text, show } = useAddress()
  const [status, event] = [text('status'), text('event')]
  const filter = { ...(isStatus(status) && { status }), ...(isEventType(event) && { event }) }
  const pages = useCursorPages(
    deliveriesKey(key, status, event),
    (query, signal) => admin.webhooks.deliveries.list(key, { ...query, ...filter }, { signal }),
    readAgain,
  )
  return (
    <Card
      title="Deliveries"
      about="All deliveries, newest first. Open one to see its body, or to send it again."
      actions={
        <Button isSmall onClick={() => queries.invalidateQueries({ queryKey: deliveriesKey(key) })}>
          Refresh
        </Button>
      }
      flush
    >
      <search className="flex flex-wrap gap-3 border-b border-line px-4 pb-4 sm:px-5">
        <ChoiceFilter
          label="Status"
          value={filter.status ?? ''}
          onChoose={(given) => show({ status: given })}
          none="Any status"
          options={STATUSES}
        />
        <ChoiceFilter
          label="Event"
          value={filter.event ?? ''}
          onChoose={(given) => show({ event: given })}
          none="All events"
          options={EVENT_OPTIONS}
        />
      </search>
      <PagedTable
        label="Deliveries"
        pages={pages}
        hrefOf={({ id }) => `/webhooks/${encodeURIComponent(key)}/${id}?${new URLSearchParams(filter)}`}
        empty={
          status === '' && event === ''
            ? {
                title: 'Nothing was sent yet',
                text: 'Send a sample below, or wait for the first event of a user.',
              }
            : { title: 'There are none', text: 'No delivery has this status and this event.' }
        }
        columns={[
          { name: 'Event', cell: ({ event }) => event },
          { name: 'Status', cell: (delivery) => <DeliveryStatus {...delivery} /> },
          {
            name: 'Answer',
            cell: ({ lastStatus, lastError }) => (
              <span className="text-quiet">
                {lastError ?? (lastStatus === null ? '–' : String(lastStatus))}
              </span>
            ),
            isMinor: true,
          },
          { name: 'Attempts', cell: ({ attempts }) => formatNumber(attempts), isNumber: true, isMinor: true },
          { name: 'Created', cell: ({ created }) => <Moment iso={created} />, isMinor: true },
        ]}
      />
    </Card>
  )
}

/** Sends a sample. */
export function TestSection({ webhook: { id, key, status } }: SectionProps) {
  const [type, setType] = useState<EventType>('achievement.completed')
  const [sent, setSent] = useState<TestDelivery | null>(null)
  const { begin, isBusy } = useWrite<TestDelivery>({ path: '/webhooks', scope: `/webhooks/${id}/test` })
  return (
    <Card title="Test" about="Sends a sample of an event at once, with made-up data, and shows the answer.">
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          setSent(null)
          begin(
            {
              what: say`The sample of ${type} for ${key}`,
              did: 'was sent',
              isQuiet: true,
              act: (admin) => admin.webhooks.test(id, { type }),
            },
            { onSuccess: setSent },
          )
        }}
      >
        <ChoiceFilter
          label="Type"
          value={type}
          onChoose={(given) => setType(isEventType(given) ? given : type)}
          options={EVENT_OPTIONS}
        />
        <Button type="submit" isBusy={isBusy} disabled={status === 'inactive'}>
          Send sample
        </Button>
      </form>
      {status === 'inactive' && (
        <p className="mt-3 text-sm text-quiet">The webhook is inactive. Activate it to send a sample.</p>
      )}
      {sent !== null && (
        <div role="status" className="mt-5">
          <Facts
            facts={[
              ['Sample', <DeliveryStatus key="status" {...sent} />],
              sent.response === null
                ? ['No answer', sent.lastError ?? 'The receiver has not answered for 20 seconds.']
                : ['Answer', `${sent.response.status} after ${formatNumber(sent.response.milliseconds)} ms`],
              sent.response?.body ? ['Body', <Code key="body">{sent.response.body}</Code>] : null,
            ]}
          />
        </div>
      )}
    </Card>
  )
}

/** How long ago a delivery may have failed, by the number of hours. */
const SPANS = { 1: 'the last hour', 24: 'the last 24 hours', 168: 'the last 7 days', 720: 'the last 30 days' }
const HOUR = 3_600_000

/** Sends everything again that failed, and shows how far that is. */
export function SendAgainSection({ webhook: { id, key, status } }: SectionProps) {
  const admin = useAdmin()
  const [hours, setHours] = useState('24')
  const { data } = useQuery({
    queryKey: deliveriesKey(key, 'again'),
    queryFn: ({ signal }) => admin.webhooks.redelivery(id, { signal }),
    refetchInterval: ({ state }) => (state.data?.running ? SOON : false),
  })
  const { begin, isBusy } = useWrite({ path: '/webhooks', scope: `/webhooks/${id}/again` })
  const [from, at, to] = [data?.since, data?.reached ?? data?.since, data?.until].map((one) =>
    Date.parse(one ?? ''),
  )
  return (
    <Card
      title="Send all again"
      about="After a repair: sends all deliveries again that failed, in the background. Each keeps its id."
    >
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          begin({
            what: say`Everything for ${key} that failed`,
            did: 'is being sent again',
            act: async (admin) => {
              const { now } = await admin.session()
              const since = new Date(Date.parse(now) - Number(hours) * HOUR).toISOString()
              return admin.webhooks.redeliver(id, { since })
            },
          })
        }}
      >
        <ChoiceFilter label="Failed in" value={hours} onChoose={setHours} options={SPANS} />
        <Button type="submit" isBusy={isBusy || data?.running === true} disabled={status === 'inactive'}>
          Send all again
        </Button>
      </form>
      {data?.since && (
        <div role="status" className="mt-4 flex flex-col gap-2 text-sm text-quiet">
          {data.running && <meter className="meter" aria-label="Looked at" min={from} max={to} value={at} />}
          <p>
            {counted(data.sent, 'delivery', 'deliveries')} sent again{data.running ? ' so far' : ''}, of those
            since <Moment iso={data.since} />.
          </p>
        </div>
      )}
    </Card>
  )
}

/** Replaces the secret. */
export function SecretSection({ webhook: { id, key, url } }: SectionProps) {
  const [endPrevious, setEndPrevious] = useState(false)
  return (
    <Card
      title="Signing secret"
      about="Signs each request. It was shown when the webhook was created. If it is lost, replace it."
      actions={
        <AskButton
          label="Rotate secret"
          button={{ isSmall: true }}
          path="/webhooks"
          title="Replace the signing secret?"
          confirm="Confirm: rotate secret"
          isDangerous
          write={{
            what: say`The secret of ${key}`,
            did: 'was replaced',
            act: (admin) => admin.webhooks.rotateSecret(id, { endPrevious }),
            secret: ({ secret }) => ({
              title: 'The secret was replaced',
              label: 'Signing secret',
              secret,
              children: `Give it to your server now. ${endPrevious ? 'The old one is invalid.' : 'The old one ends in 24 hours.'}`,
            }),
          }}
        >
          For 24 hours, requests to {url} are signed with the old secret too. Give your server the new one in
          that time.
          <div className="mt-4">
            <Toggle
              label="End the old secret at once"
              hint="Requests fail the check until your server has the new one."
              checked={endPrevious}
              onChange={({ target }) => setEndPrevious(target.checked)}
            />
          </div>
        </AskButton>
      }
    >
      <p className="text-quiet">
        Your server checks the header <Code>webhook-signature</Code> with it. The page{' '}
        <a
          className="text-accent underline"
          href="https://www.standardwebhooks.com"
          target="_blank"
          rel="noreferrer"
        >
          Standard Webhooks
        </a>{' '}
        has programs for it, and so has the package <Code>@laurel/client</Code>.
      </p>
    </Card>
  )
}
