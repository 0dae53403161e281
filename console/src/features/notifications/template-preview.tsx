import type { AdminNotificationTemplate, PreviewTemplateResponse } from '@laurel/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import { messageOf } from '../../api/errors'
import { settingsRead, useAdmin } from '../../api/laurel'
import { Labelled, PlainInput } from '../../ui/labelled'
import { EmailMessage, PushMessage } from '../../ui/message'
import { Notice, Skeleton } from '../../ui/page'
import { nameOr } from '../../ui/text'
import { useSettled } from '../../ui/typed'
import { UnknownVariables } from './template-help'

/** How many users the field suggests. */
const SUGGESTED = 10

type Shown = Pick<AdminNotificationTemplate, 'type' | 'channel' | 'subject' | 'title' | 'body'>

type PreviewProps = {
  template: Shown
  label?: string
  /** Is shown below the message of a user. */
  after?: (userId: string) => ReactNode
}

/** The message that a user would get by a template, as one types. */
export function TemplatePreview({ template, label = 'User', after }: PreviewProps) {
  const admin = useAdmin()
  const list = useId()
  const [typed, setTyped] = useState<string | null>(null)
  const search = useSettled(typed?.trim() ?? '')
  const users = useQuery({
    queryKey: ['/users', 'suggested', search],
    queryFn: async ({ signal }) =>
      admin.users.list({ limit: SUGGESTED, ...(search !== '' && { search }) }, { signal }),
    placeholderData: keepPreviousData,
  })
  const [first] = users.data ?? []
  // The oldest user until another one was named.
  const userId = typed === null ? (first?.id ?? '') : search
  const { type, channel, body } = template
  const title = (channel === 'email' ? template.subject : template.title) ?? ''
  const draft = useSettled(JSON.stringify([type, channel, title, body]))
  const isComplete = title.trim() !== '' && body.trim() !== ''
  const preview = useQuery({
    queryKey: ['/notifications', 'preview', draft, userId],
    queryFn: async ({ signal }) =>
      admin.notifications.templates.previewDraft(
        {
          userId,
          template: { type, channel, body, ...(channel === 'email' ? { subject: title } : { title }) },
        },
        { signal },
      ),
    enabled: isComplete && userId !== '',
    placeholderData: keepPreviousData,
    retry: false,
  })
  return (
    <div className="flex flex-col gap-3">
      <Labelled label={label} hint="The id of a user. Type a part of the id or the name to find one.">
        <PlainInput
          list={list}
          value={typed ?? first?.id ?? ''}
          onChange={({ target }) => setTyped(target.value)}
        />
      </Labelled>
      <datalist id={list}>
        {users.data?.map(({ id, name }) => (
          <option key={id} value={id}>
            {nameOr(name, id)}
          </option>
        ))}
      </datalist>
      <div aria-live="polite">
        {users.data?.length === 0 && typed === null ? (
          <p className="text-quiet">There are no users yet. The first event of a user makes one.</p>
        ) : !isComplete ? (
          <p className="text-quiet">
            Write {channel === 'email' ? 'a subject' : 'a title'} and a body to see it.
          </p>
        ) : preview.isError ? (
          <Notice tone="warning">{messageOf(preview.error)}</Notice>
        ) : preview.data === undefined ? (
          <Skeleton className="h-24 w-full" />
        ) : (
          <Message {...preview.data} />
        )}
      </div>
      <UnknownVariables template={template} text={`${title}\n${body}`} />
      {userId !== '' && after?.(userId)}
    </div>
  )
}

/** A rendered message, with the brand of the tenant. */
export function Message({
  channel,
  subject,
  title,
  body,
}: Pick<PreviewTemplateResponse, 'channel' | 'subject' | 'title' | 'body'>) {
  const admin = useAdmin()
  const settings = useQuery(settingsRead(admin))
  const brand = settings.data?.branding
  if (channel === 'push') return <PushMessage title={title} body={body} brand={brand} />
  return (
    <div className="flex flex-col gap-2">
      <EmailMessage title={subject} body={body} brand={brand} />
      <p className="text-sm text-quiet">
        Style sheets, and pictures but your logo and icon, are left out here. The user sees them.
      </p>
    </div>
  )
}
