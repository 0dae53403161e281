import type { AdminWebhook } from '@laurel/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAdmin } from '../../api/laurel'
import { PagedTable, useCursorPages } from '../../api/paging'
import { AskButton } from '../../resource/ask-button'
import { useWrite } from '../../resource/writes'
import { Button, Toggle } from '../../ui/button'
import { formatNumber, Moment } from '../../ui/format'
import { Labelled } from '../../ui/labelled'
import { Card, Code } from '../../ui/page'
import { Select } from '../../ui/select'
import { say } from '../../ui/text'
import { DeliveryStatus, deliveriesKey, readAgain } from './deliveries'
import { EVENT_TYPES, EVENTS } from './events'

type SectionProps = { webhook: AdminWebhook }

/** The deliveries of a webhook, with the answers. */
export function DeliveriesSection({ webhook: { key } }: SectionProps) {
  const queries = useQueryClient()
  const admin = useAdmin()
  const pages = useCursorPages(
    deliveriesKey(key),
    (query, signal) => admin.webhooks.deliveries.list(key, query, { signal }),
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
      <PagedTable
        label="Deliveries"
        pages={pages}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/webhooks/${encodeURIComponent(key)}/${id}`}
        empty={{
          title: 'Nothing was sent yet',
          text: 'Send a sample below, or wait for the first event of a user.',
        }}
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
          {
            name: 'Attempts',
            cell: ({ attempts }) => formatNumber(attempts),
            isNumber: true,
            isMinor: true,
          },
          { name: 'Created', cell: ({ created }) => <Moment iso={created} />, isMinor: true },
        ]}
      />
    </Card>
  )
}

/** Sends a sample. */
export function TestSection({ webhook: { id, key, status } }: SectionProps) {
  const [type, setType] = useState(EVENT_TYPES[0] ?? 'achievement.completed')
  const { begin, isBusy } = useWrite({ path: '/webhooks', scope: `/webhooks/${id}/test` })
  return (
    <Card
      title="Test"
      about="Sends a sample of an event, with made-up data. It appears among the deliveries."
    >
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          begin({
            what: say`The sample of ${type} for ${key}`,
            did: 'was sent',
            act: (admin) => admin.webhooks.test(id, { type }),
          })
        }}
      >
        <div className="min-w-0 flex-1 basis-64">
          <Labelled label="Type">
            {(tied) => (
              <Select
                {...tied}
                value={type}
                onChange={({ target }) => setType(EVENT_TYPES.find((one) => one === target.value) ?? type)}
                options={EVENT_TYPES.map((value) => ({ value, label: `${EVENTS[value]} (${value})` }))}
              />
            )}
          </Labelled>
        </div>
        <Button type="submit" isBusy={isBusy} disabled={status === 'inactive'}>
          Send sample
        </Button>
      </form>
      {status === 'inactive' && (
        <p className="mt-3 text-sm text-quiet">The webhook is inactive. Activate it to send a sample.</p>
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
