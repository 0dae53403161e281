import type { AdminWebhook, CreatedWebhook } from '@laurel/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { messageOf } from '../../api/errors'
import { LogTable, useCursorPages } from '../../resource/cursor-pages'
import { Labelled } from '../../resource/fields'
import { useWrite } from '../../resource/writes'
import { Button, Toggle } from '../../ui/button'
import { Confirm } from '../../ui/dialog'
import { formatNumber, Moment } from '../../ui/format'
import { Card, Code, Notice } from '../../ui/page'
import { SecretDialog } from '../../ui/secret'
import { DeliveryStatus, deliveriesKey, readAgain } from './deliveries'
import { EVENT_TYPES, EVENTS } from './events'

type SectionProps = { webhook: AdminWebhook }

/** The deliveries of a webhook, with the answers. */
export function DeliveriesSection({ webhook: { key } }: SectionProps) {
  const queries = useQueryClient()
  const pages = useCursorPages({
    queryKey: deliveriesKey(key),
    list: (admin, query, options) => admin.webhooks.deliveries.list(key, query, options),
    again: readAgain,
  })
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
      <LogTable
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
export function TestSection({ webhook: { id, status } }: SectionProps) {
  const [type, setType] = useState(EVENT_TYPES[0] ?? 'achievement.completed')
  const write = useWrite<never>('/webhooks')
  return (
    <Card
      title="Test"
      about="Sends a sample of an event, with made-up data. It appears among the deliveries."
    >
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          write.mutate({
            act: async (admin) => {
              await admin.webhooks.test(id, { type })
              return {}
            },
            done: 'The sample is on its way',
          })
        }}
      >
        <div className="min-w-0 flex-1 basis-64">
          <Labelled label="Type">
            {(tied) => (
              <select
                className="control"
                {...tied}
                value={type}
                onChange={({ target }) => setType(EVENT_TYPES.find((one) => one === target.value) ?? type)}
              >
                {EVENT_TYPES.map((one) => (
                  <option key={one} value={one}>
                    {EVENTS[one]} ({one})
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        </div>
        <Button type="submit" isBusy={write.isPending} disabled={status === 'inactive'}>
          Send sample
        </Button>
      </form>
      {status === 'inactive' && (
        <p className="mt-3 text-sm text-quiet">The webhook is inactive. Activate it to send a sample.</p>
      )}
      {write.isError && (
        <div className="mt-3">
          <Notice tone="danger">{messageOf(write.error)}</Notice>
        </div>
      )}
    </Card>
  )
}

/** Replaces the secret. */
export function SecretSection({ webhook: { id, url } }: SectionProps) {
  const write = useWrite<CreatedWebhook>('/webhooks')
  const [isAsked, setAsked] = useState(false)
  const [endPrevious, setEndPrevious] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const rotate = async () => {
    const made = await write.mutateAsync({
      act: async (admin) => ({ updated: [await admin.webhooks.rotateSecret(id, { endPrevious })] }),
      done: 'The secret was replaced',
    })
    setSecret(made?.secret ?? null)
  }
  return (
    <Card
      title="Signing secret"
      about="Signs each request. It was shown when the webhook was created. If it is lost, replace it."
      actions={
        <Button isSmall onClick={() => setAsked(true)}>
          Rotate secret
        </Button>
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
      {isAsked && (
        <Confirm
          title="Replace the signing secret?"
          confirm="Confirm: rotate secret"
          isDangerous
          onConfirm={rotate}
          onClose={() => setAsked(false)}
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
        </Confirm>
      )}
      {secret !== null && (
        <SecretDialog
          title="The secret was replaced"
          label="Signing secret"
          secret={secret}
          onClose={() => setSecret(null)}
        >
          Give it to your server now.{' '}
          {endPrevious ? 'The old one is invalid.' : 'The old one ends in 24 hours.'}
        </SecretDialog>
      )}
    </Card>
  )
}
