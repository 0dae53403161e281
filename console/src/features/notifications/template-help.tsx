import type { AdminNotificationTemplate } from '@laurel/client'
import { useQuery } from '@tanstack/react-query'
import { useAdmin } from '../../api/laurel'
import { type LookupName, useLookups } from '../../resource/lookups'
import type { CustomField } from '../../resource/resource'
import { Button } from '../../ui/button'
import { Code, Notice } from '../../ui/page'
import { STARTERS } from './starters'
import type { Values } from './templates.resource'
import { unknownIn, variablesOf } from './variables'

type Template = Pick<AdminNotificationTemplate, 'type' | 'channel'>

/** The variables of a tenant name these. */
const NEEDS: readonly LookupName[] = ['points', 'metrics', 'attributes']

/** All variables of a template, with their meanings. */
export function Variables({ values: { type, channel }, label }: CustomField<Values>) {
  const lookups = useLookups(NEEDS)
  return (
    <details className="text-sm">
      <summary className="w-fit rounded-sm text-quiet hover:text-text">{label}</summary>
      <p className="mt-2">
        Write <Code>{'{{ user.name }}'}</Code> for a value, and{' '}
        <Code>{'{{ user.name | default: "friend" }}'}</Code> if it may be empty. The language is Liquid, so{' '}
        <Code>{'{% if streak.length > 6 %}…{% endif %}'}</Code> works too.
      </p>
      <dl className="mt-2 flex flex-col gap-1.5">
        {variablesOf({ type, channel }, lookups).map(({ name, about }) => (
          <div key={name} className="flex flex-wrap gap-x-2">
            <dt>
              <Code>{`{{ ${name} }}`}</Code>
            </dt>
            <dd className="text-quiet">{about}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

/** Warns of outputs that no variable fills. */
export function UnknownVariables({ template, text }: { template: Template; text: string }) {
  const lookups = useLookups(NEEDS)
  const unknown = lookups.isLoading ? [] : unknownIn(text, variablesOf(template, lookups))
  if (unknown.length === 0) return null
  return (
    <Notice tone="warning">
      {unknown.map((name) => `{{ ${name} }}`).join(', ')}: there is no such variable, so the message has
      nothing there.
    </Notice>
  )
}

/** The providers of each channel. */
export function useChannels() {
  const { notifications } = useAdmin()
  return useQuery({
    queryKey: ['/notifications', 'channels'],
    queryFn: async () => notifications.channels(),
    staleTime: 60_000,
  })
}

/** Says that the channel of a template sends nothing. */
export function ChannelWarning({ channel }: Pick<Template, 'channel'>) {
  const channels = useChannels()
  if (channels.data === undefined || channels.data[channel].length > 0) return null
  return (
    <Notice tone="warning">
      {channel === 'email' ? 'Email is' : 'Push messages are'} not configured: messages are only in the log.
      The page Notifications says which variables to set.
    </Notice>
  )
}

/** Fills an empty email with the starter of its type. */
export function StarterButton({
  change,
  values: { type, channel, subject, body },
  label,
}: CustomField<Values>) {
  if (channel !== 'email' || body.trim() !== '') return null
  const fill = () => {
    change('body', STARTERS[type].body)
    if (subject.trim() === '') change('subject', STARTERS[type].subject)
  }
  return (
    <div>
      <Button onClick={fill}>{label}</Button>
    </div>
  )
}
