import type { NotificationLogEntry } from '@laurel/client'
import { Link } from '@tanstack/react-router'
import { useAdmin } from '../../api/laurel'
import { PagedTable, Unread, useCursorPages } from '../../api/paging'
import { useAddress } from '../../ui/address'
import { DetailSheet } from '../../ui/dialog'
import { Moment } from '../../ui/format'
import { Badge, Card, Code, Facts, Notice, Skeleton } from '../../ui/page'
import { nameOr, userPath } from '../../ui/text'
import { useChannels } from './template-help'
import { Message } from './template-preview'
import { CHANNELS, TONES, TYPES } from './words'

const PROVIDERS = {
  resend: 'Resend',
  cloudflare: 'Cloudflare',
  expo: 'Expo',
  apns: 'Apple (APNs)',
  fcm: 'Google (FCM)',
} as const

/** Whether emails and push messages can be sent. */
export function ChannelsSection() {
  const channels = useChannels()
  const shown = (providers: readonly (keyof typeof PROVIDERS)[] | undefined, variables: string) =>
    providers === undefined ? (
      <Skeleton className="w-40" />
    ) : providers.length > 0 ? (
      <span className="flex flex-wrap items-center gap-2">
        <Badge tone="good">configured</Badge>
        {providers.map((provider) => PROVIDERS[provider]).join(', ')}
      </span>
    ) : (
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Badge tone="warning">not configured</Badge>
        <span className="text-quiet">Messages are only logged. Set {variables}.</span>
      </span>
    )
  return (
    <Card title="Channels" about="The providers that send. They are set in the variables of the deployment.">
      {channels.isError ? (
        <Unread of={channels} />
      ) : (
        <Facts
          facts={[
            ['Email', shown(channels.data?.email, 'EMAIL_FROM and RESEND_API_KEY')],
            [
              'Push messages',
              shown(channels.data?.push, 'EXPO_ACCESS_TOKEN, FCM_SERVICE_ACCOUNT or the variables of APNs'),
            ],
          ]}
        />
      )}
    </Card>
  )
}

const SentStatus = ({ status }: Pick<NotificationLogEntry, 'status'>) => (
  <Badge tone={TONES[status]}>{status}</Badge>
)

/** The messages that were sent, or would have been. `?message=` names the one that is open. */
export function LogSection() {
  const { search, open } = useAddress()
  const admin = useAdmin()
  const pages = useCursorPages(['/notifications', 'log'], (query, signal) =>
    admin.notifications.log.list(query, { signal }),
  )
  const message = pages.data?.find(({ id }) => id === search.message)
  return (
    <Card title="Messages" about="All messages to users, newest first." flush>
      {pages.data && !message && search.message !== undefined && (
        <Notice tone="warning">The message of this link is not among these. It may be older.</Notice>
      )}
      <PagedTable
        label="Messages"
        pages={pages}
        hrefOf={({ id }) => `/notifications?message=${id}`}
        empty={{
          title: 'No messages yet',
          text: 'They appear here once a template is active and its time comes for a user.',
        }}
        columns={[
          { name: 'Message', cell: ({ title, type }) => nameOr(title, TYPES[type]) },
          { name: 'User', cell: ({ userId }) => userId },
          { name: 'Channel', cell: ({ channel }) => CHANNELS[channel], isMinor: true },
          { name: 'Status', cell: (message) => <SentStatus {...message} /> },
          { name: 'Due', cell: ({ created }) => <Moment iso={created} />, isMinor: true },
        ]}
      />
      {message !== undefined && <MessageSheet message={message} onClose={() => open({ message: '' })} />}
    </Card>
  )
}

function MessageSheet({ message, onClose }: { message: NotificationLogEntry; onClose: () => void }) {
  const { id, userId, type, channel, status, title, body, created } = message
  return (
    <DetailSheet title={nameOr(title, TYPES[type])} onClose={onClose}>
      <Facts
        facts={[
          [
            'User',
            <Link key="user" to={userPath(userId)} className="text-accent underline">
              {userId}
            </Link>,
          ],
          ['Type', TYPES[type]],
          ['Channel', CHANNELS[channel]],
          ['Status', <SentStatus key="status" status={status} />],
          ['Due', <Moment key="due" iso={created} />],
          ['Id', <Code key="id">{id}</Code>],
        ]}
      />
      <Message {...{ channel, body }} {...(channel === 'email' ? { subject: title } : { title })} />
    </DetailSheet>
  )
}
